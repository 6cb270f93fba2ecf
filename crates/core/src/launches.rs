//! Starting daemons: used by the head for its part of the tree and by each daemon for its subtree.

use std::collections::BTreeMap;

use ferrite_rm::launcher::{self, DaemonCommand, Launcher};
use ferrite_rm::params::{ParamError, Params};
use ferrite_router::Tree;
use ferrite_types::DaemonRank;
use ferrite_wire::{LaunchFailure, Message, NodeLaunch, Ticket};

use crate::cx::Cx;
use crate::{Effect, LocalNode};

/// What all tickets of one campaign have in common, and the command to deliver them with.
#[derive(Clone, Debug)]
pub(crate) struct TicketBase {
    /// A ticket whose rank, node, home, contact and subtree are still to be filled in.
    pub(crate) ticket: Ticket,
    /// The launcher.
    pub(crate) launcher: Launcher,
}

impl TicketBase {
    /// From the ticket of a daemon that starts its own subtree.
    pub(crate) fn of_daemon(ticket: Ticket) -> Result<TicketBase, ParamError> {
        let mut params = Params::default();
        ticket.params.iter().for_each(|(name, value)| params.set(name, value));
        Ok(TicketBase { launcher: Launcher::from_params(&params)?, ticket })
    }

    /// True when every daemon starts its own children.
    pub(crate) fn tree_spawn(&self) -> bool {
        match &self.launcher {
            Launcher::Ssh(options) => !options.no_tree_spawn,
            Launcher::Local => false,
        }
    }
}

/// Daemons whose launcher was started here and that have not linked up yet.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    pending: BTreeMap<DaemonRank, Pending>,
}

#[derive(Debug)]
struct Pending {
    node: String,
    command: String,
}

impl Launches {
    /// Starts the launchers for the daemons that `me` has to start. With tree spawn those are its tree children, each
    /// with the rest of its own subtree; else all of them.
    pub(crate) fn start(
        &mut self,
        base: &TicketBase,
        me: DaemonRank,
        targets: &[NodeLaunch],
        local: &LocalNode,
        cx: &mut Cx,
    ) {
        let tree_spawn = base.tree_spawn();
        for target in targets {
            if tree_spawn && cx.tree.parent(target.rank) != Some(me) {
                continue;
            }
            let subtree = if tree_spawn { below(cx.tree, target.rank, targets) } else { Vec::new() };
            let ticket = Ticket {
                rank: target.rank,
                node: target.host.name.clone(),
                home: me,
                contact: local.contact.clone(),
                subtree,
                ..base.ticket.clone()
            };
            self.start_one(base, target, ticket, cx);
        }
    }

    /// Starts daemons for a DVM that is wired up: each calls here and waits for its place.
    pub(crate) fn start_joining(
        &mut self,
        base: &TicketBase,
        me: DaemonRank,
        targets: &[NodeLaunch],
        local: &LocalNode,
        cx: &mut Cx,
    ) {
        for target in targets {
            let ticket = Ticket {
                rank: target.rank,
                node: target.host.name.clone(),
                joins: true,
                home: me,
                contact: local.contact.clone(),
                ..base.ticket.clone()
            };
            self.start_one(base, target, ticket, cx);
        }
    }

    fn start_one(&mut self, base: &TicketBase, target: &NodeLaunch, ticket: Ticket, cx: &mut Cx) {
        let (rank, node) = (target.rank, target.host.name.clone());
        let program = DaemonCommand { program: ticket.program.clone(), ..DaemonCommand::default() };
        match launcher::daemon_command(&base.launcher, &target.host, &program) {
            Ok(command) => {
                self.pending.insert(rank, Pending { node, command: command.join(" ") });
                cx.effect(Effect::LaunchDaemon { rank, command, ticket: Box::new(ticket) });
            }
            Err(error) => {
                let failure = LaunchFailure { rank, node, command: String::new(), cause: error.to_string() };
                cx.send_head(Message::LaunchFailed(failure));
            }
        }
    }

    /// The daemon is linked: how its launcher ends no longer matters.
    pub(crate) fn on_linked(&mut self, rank: DaemonRank) {
        self.pending.remove(&rank);
    }

    /// A launcher ended; a failure when its daemon has not come and will not.
    pub(crate) fn on_ended(
        &mut self,
        rank: DaemonRank,
        succeeded: bool,
        message: &str,
        end: &str,
    ) -> Option<LaunchFailure> {
        // A launcher that succeeded leaves a detached daemon: the campaign's deadline watches that.
        if succeeded {
            return None;
        }
        let pending = self.pending.remove(&rank)?;
        let cause = match message.trim() {
            "" => end.to_owned(),
            message => format!("{message} ({end})"),
        };
        Some(LaunchFailure { rank, node: pending.node, command: pending.command, cause })
    }

    /// Gives up on all that have not linked up.
    pub(crate) fn abandon(&mut self, cx: &mut Cx) {
        for rank in std::mem::take(&mut self.pending).into_keys() {
            cx.effect(Effect::AbandonLaunch { rank });
        }
    }

    /// Gives up on this one, if it has not linked up.
    pub(crate) fn abandon_one(&mut self, rank: DaemonRank, cx: &mut Cx) {
        if self.pending.remove(&rank).is_some() {
            cx.effect(Effect::AbandonLaunch { rank });
        }
    }

    /// The command with which this daemon is being started.
    pub(crate) fn command(&self, rank: DaemonRank) -> Option<&str> {
        self.pending.get(&rank).map(|p| p.command.as_str())
    }
}

/// The targets strictly below a rank.
fn below(tree: &Tree, rank: DaemonRank, targets: &[NodeLaunch]) -> Vec<NodeLaunch> {
    targets.iter().filter(|t| tree.is_ancestor(rank, t.rank)).cloned().collect()
}
