//! Starts of daemons: by the head for its part of the tree, and by each daemon for its subtree.

use std::collections::BTreeMap;

use ferrite_rm::launcher::{self, Batch, DaemonCommand, LaunchCommand, LaunchError, Launcher};
use ferrite_rm::params::{ParamError, Params};
use ferrite_router::Tree;
use ferrite_types::{DaemonRank, ExitStatus, HostEntry, RankSet};
use ferrite_wire::{HeadMessage, LaunchFailure, NodeLaunch, Ticket};

use crate::cx::Cx;
use crate::{Effect, LocalNode};

/// The common part of a campaign's tickets, and the launcher that delivers them.
#[derive(Clone, Debug)]
pub(crate) struct TicketBase {
    /// A ticket without rank, node or group, home, contact and subtree.
    pub(crate) ticket: Ticket,
    /// The launcher.
    pub(crate) launcher: Launcher,
}

impl TicketBase {
    /// The base from the ticket of a daemon that starts its own subtree.
    pub(crate) fn of_daemon(ticket: Ticket) -> Result<TicketBase, ParamError> {
        let mut params = Params::default();
        ticket.params.iter().for_each(|(name, value)| params.set(name, value));
        // A manager's launcher starts all daemons itself, so no daemon uses one.
        Ok(TicketBase { launcher: Launcher::from_params(&params, None)?, ticket })
    }

    /// True when every daemon starts its own children.
    pub(crate) fn tree_spawn(&self) -> bool {
        match &self.launcher {
            Launcher::Ssh(options) => !options.no_tree_spawn,
            Launcher::Local | Launcher::Srun(_) | Launcher::Task(_) | Launcher::Flux(_) => false,
        }
    }

    fn daemon(&self) -> DaemonCommand {
        let set = self.ticket.params.iter().rev().find(|(name, _)| name == "plm_ssh_pass_libpath");
        let directories = set.map(|(_, list)| list.split(':').filter(|dir| !dir.is_empty()).map(str::to_owned));
        DaemonCommand {
            program: self.ticket.program.clone(),
            library_path: directories.into_iter().flatten().collect(),
            ..DaemonCommand::default()
        }
    }
}

/// Daemons whose launcher was started here, and that have not linked yet.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    pending: BTreeMap<DaemonRank, Pending>,
    /// The launchers, each by the rank that names it.
    launchers: BTreeMap<DaemonRank, Started>,
}

#[derive(Debug)]
struct Pending {
    node: String,
    launcher: DaemonRank,
}

/// The consequences of a launcher's end.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// The daemons that will not come.
    pub(crate) failure: Option<LaunchFailure>,
    /// Linked daemons that end with their launcher.
    pub(crate) held: RankSet,
    /// The launcher's last words and its end.
    pub(crate) cause: String,
}

/// A launcher process.
#[derive(Debug)]
struct Started {
    command: String,
    /// Its daemons that have not linked yet.
    awaited: RankSet,
    bond: Bond,
}

/// The bond between a launcher and its daemons that have linked.
#[derive(Debug)]
enum Bond {
    /// The launcher is an agent, and daemons have detached from it: its end means nothing for them.
    Detached { any: bool },
    /// The launcher stays: these daemons end with it.
    Held(RankSet),
}

impl Started {
    /// Notes that a daemon of this launcher is linked. True when nothing more is to be known of the launcher.
    fn on_linked(&mut self, rank: DaemonRank) -> bool {
        match &mut self.bond {
            Bond::Detached { any } => {
                *any = true;
                self.awaited.is_empty()
            }
            Bond::Held(daemons) => {
                daemons.insert(rank);
                false
            }
        }
    }

    /// True when none of its daemons has linked, and none will.
    fn is_useless(&self) -> bool {
        let none_has_linked = match &self.bond {
            Bond::Detached { any } => !any,
            Bond::Held(daemons) => daemons.is_empty(),
        };
        none_has_linked && self.awaited.is_empty()
    }
}

impl Launches {
    /// Starts the launchers for the daemons that `me` has to start. With tree spawn these are its tree children, each
    /// with its own subtree; else all daemons (spec L5).
    pub(crate) fn start(
        &mut self,
        base: &TicketBase,
        me: DaemonRank,
        targets: &[NodeLaunch],
        local: &LocalNode,
        cx: &mut Cx,
    ) {
        let tree_spawn = base.tree_spawn();
        let own = targets.iter().filter(|target| !tree_spawn || cx.tree.parent(target.rank) == Some(me)).collect();
        let calls = Ticket { home: me, contact: local.contact.clone(), ..base.ticket.clone() };
        self.start_all(&TicketBase { ticket: calls, launcher: base.launcher.clone() }, own, targets, cx);
    }

    /// Starts newcomers of a DVM that is wired up: each calls this node and waits for its place.
    pub(crate) fn start_joining(
        &mut self,
        base: &TicketBase,
        me: DaemonRank,
        targets: &[NodeLaunch],
        local: &LocalNode,
        cx: &mut Cx,
    ) {
        let joins = Ticket { joins: true, home: me, contact: local.contact.clone(), ..base.ticket.clone() };
        let base = TicketBase { ticket: joins, launcher: base.launcher.clone() };
        self.start_all(&base, targets.iter().collect(), &[], cx);
    }

    /// Starts the daemons `own`; with tree spawn each gets its part of `all` to start.
    fn start_all(&mut self, base: &TicketBase, own: Vec<&NodeLaunch>, all: &[NodeLaunch], cx: &mut Cx) {
        let hosts: Vec<&HostEntry> = own.iter().map(|target| &target.host).collect();
        for Batch { members, command } in launcher::batches(&base.launcher, &hosts, &base.daemon()) {
            let members: Vec<&NodeLaunch> = members.into_iter().map(|at| own[at]).collect();
            let first = members[0];
            let subtree = if base.tree_spawn() { below(cx.tree, first.rank, all) } else { Vec::new() };
            let several = members.iter().filter(|_| members.len() > 1);
            let ticket = Ticket {
                rank: first.rank,
                node: first.host.name.clone(),
                subtree,
                group: several.map(|target| (target.rank, target.host.name.clone())).collect(),
                stays: command.as_ref().is_ok_and(|command| command.manners.stays()),
                ..base.ticket.clone()
            };
            self.run(command, ticket, &members, cx);
        }
    }

    fn run(
        &mut self,
        command: Result<LaunchCommand, LaunchError>,
        ticket: Ticket,
        targets: &[&NodeLaunch],
        cx: &mut Cx,
    ) {
        let rank = ticket.rank;
        match command {
            Ok(command) => {
                for target in targets {
                    let pending = Pending { node: target.host.name.clone(), launcher: rank };
                    self.pending.insert(target.rank, pending);
                }
                let started = Started {
                    command: command.argv.join(" "),
                    awaited: targets.iter().map(|target| target.rank).collect(),
                    bond: match command.manners.stays() {
                        true => Bond::Held(RankSet::new()),
                        false => Bond::Detached { any: false },
                    },
                };
                self.launchers.insert(rank, started);
                cx.effect(Effect::LaunchDaemon { rank, command, ticket: Box::new(ticket) });
            }
            Err(error) => {
                let cause = error.to_string();
                let failure = LaunchFailure { rank, nodes: vec![ticket.node], command: String::new(), cause };
                cx.send_head(HeadMessage::LaunchFailed(failure));
            }
        }
    }

    /// Notes that a daemon is linked: its agent's end no longer matters.
    pub(crate) fn on_linked(&mut self, rank: DaemonRank) {
        let launcher = self.pending.get(&rank).map(|pending| pending.launcher);
        let over = self.no_longer_awaited(rank).is_some_and(|started| started.on_linked(rank));
        if let Some(launcher) = launcher.filter(|_| over) {
            self.launchers.remove(&launcher);
        }
    }

    fn no_longer_awaited(&mut self, rank: DaemonRank) -> Option<&mut Started> {
        let launcher = self.pending.remove(&rank)?.launcher;
        let started = self.launchers.get_mut(&launcher)?;
        started.awaited.remove(rank);
        Some(started)
    }

    /// Handles the end of a launcher; a failure names daemons that have not come and will not.
    pub(crate) fn on_ended(
        &mut self,
        launcher: DaemonRank,
        status: Option<ExitStatus>,
        message: &str,
        end: &str,
    ) -> Ended {
        let succeeded = status.is_some_and(ExitStatus::is_success);
        // A successful agent leaves a detached daemon behind, for which the campaign's deadline applies.
        let is_expected = |started: &Started| succeeded && matches!(started.bond, Bond::Detached { .. });
        if self.launchers.get(&launcher).is_none_or(is_expected) {
            return Ended::default();
        }
        let Some(Started { command, awaited, bond }) = self.launchers.remove(&launcher) else {
            return Ended::default();
        };
        let was_killed = matches!(status, Some(ExitStatus::Signaled(_)));
        let held = match bond {
            Bond::Held(daemons) if was_killed => daemons,
            // A launcher that stays and was not killed has ended after its daemons.
            Bond::Held(_) | Bond::Detached { .. } => RankSet::new(),
        };
        let cause = match message.trim() {
            "" => end.to_owned(),
            message => format!("{message} ({end})"),
        };
        let nodes = awaited.iter().filter_map(|rank| Some(self.pending.remove(&rank)?.node)).collect();
        let failure = awaited.first().map(|rank| LaunchFailure { rank, nodes, command, cause: cause.clone() });
        Ended { failure, held, cause }
    }

    /// Handles tasks that have ended on these nodes while the launcher goes on; a failure names daemons that have not
    /// come and will not.
    pub(crate) fn on_tasks_ended(
        &mut self,
        launcher: DaemonRank,
        nodes: &[String],
        message: &str,
    ) -> Option<LaunchFailure> {
        let command = self.launchers.get(&launcher)?.command.clone();
        let ended = |(rank, pending): (&DaemonRank, &Pending)| {
            (pending.launcher == launcher && nodes.contains(&pending.node)).then(|| (*rank, pending.node.clone()))
        };
        let (ranks, nodes): (Vec<DaemonRank>, Vec<String>) = self.pending.iter().filter_map(ended).unzip();
        let rank = *ranks.first()?;
        for rank in ranks {
            self.no_longer_awaited(rank);
        }
        Some(LaunchFailure { rank, nodes, command, cause: message.trim().to_owned() })
    }

    /// Gives up all daemons that have not linked.
    pub(crate) fn abandon(&mut self, cx: &mut Cx) {
        for rank in self.pending.keys().copied().collect::<Vec<_>>() {
            self.abandon_one(rank, cx);
        }
    }

    /// Gives up a daemon, if it has not linked. The launcher ends with the last of its awaited daemons, unless one of
    /// its daemons has linked.
    pub(crate) fn abandon_one(&mut self, rank: DaemonRank, cx: &mut Cx) {
        let launcher = self.pending.get(&rank).map(|pending| pending.launcher);
        let over = self.no_longer_awaited(rank).is_some_and(|started| started.is_useless());
        if let Some(rank) = launcher.filter(|_| over) {
            self.launchers.remove(&rank);
            cx.effect(Effect::AbandonLaunch { rank });
        }
    }

    /// The command that is starting a daemon.
    pub(crate) fn command(&self, rank: DaemonRank) -> Option<&str> {
        let launcher = self.pending.get(&rank)?.launcher;
        self.launchers.get(&launcher).map(|started| started.command.as_str())
    }
}

/// The targets strictly below a rank.
fn below(tree: &Tree, rank: DaemonRank, targets: &[NodeLaunch]) -> Vec<NodeLaunch> {
    targets.iter().filter(|t| tree.is_ancestor(rank, t.rank)).cloned().collect()
}
