//! Entry point of a daemon: `prted`.

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use ferrite_core::Node;
use ferrite_rm::launcher::srun;
use ferrite_rm::name;
use ferrite_wire::{Ticket, TicketError};
use zeroize::Zeroize;

use crate::engine::{self, Role, Setup};
use crate::guard::{self, Guarded};
use crate::launcher::stays_attached;
use crate::secret::{self, Secret};
use crate::session_dir::{self, SessionDir};
use crate::{detach, host_name, notice, start_log};

/// Options of the command line of `prted`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DaemonRun {
    /// Keep the launcher waiting, and its standard streams open (`--debug-daemons`, `--leave-session-attached`).
    pub stay_attached: bool,
}

/// Runs a daemon to its end and returns the exit code. To be called while the process has one thread: it forks.
#[must_use]
pub fn run_daemon(run: DaemonRun) -> i32 {
    let began = Instant::now();
    // This comes before there is a key: the process that the launcher started and the guard have read it as well.
    secret::hide_memory();
    let mut ticket = match detach::read_ticket() {
        Ok(ticket) => ticket,
        Err(error) => {
            notice::write_stderr(&format!("prted: {error}\n"));
            return 1;
        }
    };
    // A manager that counts its tasks has to see them until they end.
    let attached = ticket.stays || run.stay_attached || stays_attached(&ticket.params);
    let mut ticket = match for_this_node(&ticket) {
        Ok(own) => {
            ticket.key.zeroize();
            own
        }
        Err(error) => {
            notice::write_stderr(&format!("prted: {error}\n"));
            return 1;
        }
    };
    // A directory that does not exist on this node is no reason to fail: jobs have their own.
    let _ = std::env::set_current_dir(&ticket.cwd);
    let detach = match detach::start(attached) {
        Ok(detach) => detach,
        Err(error) => {
            notice::write_stderr(&format!("prted: cannot fork: {error}\n"));
            return 1;
        }
    };
    let base = session_dir::base(&ticket.params, session_dir::REMOTE_BASE);
    if let Err(flaw) = base.check() {
        detach.fail(&flaw);
        return 1;
    }
    let session_dir = SessionDir::below(&base, session_dir::DAEMON_PREFIX, std::process::id());
    let tools = session_dir::for_tools(&base, &session_dir, session_dir::DAEMON_PREFIX);
    let guarded = Guarded {
        tool: "prted".to_owned(),
        dvm: ticket.dvm.clone(),
        session_dir: session_dir.path().to_owned(),
        tools: tools.path().to_owned(),
        silent: !detach.is_attached(),
        is_waited_for: false,
    };
    let keeper = match guard::enter(&guarded) {
        Ok(keeper) => keeper,
        Err(error) => {
            detach.fail(&format!("cannot start its guard: {error}"));
            return 1;
        }
    };
    let key = match Secret::taken_from(&mut ticket.key) {
        Ok(key) => Rc::new(key),
        Err(error) => {
            detach.fail(&format!("no memory for a key: {error}"));
            return 1;
        }
    };
    start_log(&ticket.params);
    session_dir::remove_abandoned(&base.dir);
    if base.is_out_of_sight {
        session_dir::remove_abandoned(Path::new(session_dir::COMMON));
    }
    let setup = Setup {
        dvm: ticket.dvm.clone(),
        rank: ticket.rank,
        key,
        hostname: host_name(),
        params: ticket.params.clone(),
        tools,
        session_dir,
        began,
        keeper,
        role: Role::Daemon(Some(detach)),
    };
    let (error, detach) = engine::run(setup, |local| Node::daemon(ticket, local));
    if let Some(detach) = detach {
        detach.fail(&error.to_string());
    }
    1
}

/// Returns the part of a ticket for this node, by the manager's name for it or by its own.
fn for_this_node(ticket: &Ticket) -> Result<Ticket, TicketError> {
    let own = host_name();
    let given = std::env::var(srun::NODE_NAME).ok();
    let by_manager = given.as_deref().and_then(|given| ticket.member(|name| name == given));
    let found = by_manager.or_else(|| ticket.member(|name| name::same_host(name, &own, false)));
    let names = || given.into_iter().chain([own.clone()]).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| TicketError::NotForThisNode { names: names() })
}
