//! A resource manager's steps: one launcher process for several daemons, which lives as long as the last of them.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, ExitStatus, RankSet};
use ferrite_wire::Ticket;

use crate::scenario::Fate;
use crate::world::World;

/// The manager's job in which the DVM begins.
pub(crate) const FIRST_JOB: &str = "1";

/// The running steps, by the rank under which their launcher is known.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    running: BTreeMap<DaemonRank, Step>,
}

#[derive(Debug)]
struct Step {
    /// Tasks that have not ended.
    tasks: RankSet,
    /// The worst exit status of its tasks.
    status: ExitStatus,
}

impl Steps {
    fn of(&self, task: DaemonRank) -> Option<DaemonRank> {
        self.running.iter().find(|(_, step)| step.tasks.contains(task)).map(|(leader, _)| *leader)
    }

    /// Returns the tasks of a step that have not ended.
    pub(crate) fn tasks(&self, leader: DaemonRank) -> RankSet {
        self.running.get(&leader).map(|step| step.tasks.clone()).unwrap_or_default()
    }

    pub(crate) fn holds(&self, task: DaemonRank) -> bool {
        self.of(task).is_some()
    }
}

impl World {
    pub(crate) fn launch_step(&mut self, by: DaemonRank, leader: DaemonRank, ticket: &Ticket) {
        let tasks: RankSet = ticket.ranks().collect();
        let missing = tasks.iter().any(|rank| matches!(self.fate(rank), Some(Fate::NoLauncher)));
        let step = Step { tasks, status: ExitStatus::Exited(0) };
        self.steps.running.insert(leader, step);
        let alone = ticket.group.is_empty().then(|| (ticket.rank, ticket.node.clone()));
        for (rank, node) in ticket.group.iter().chain(&alone) {
            let own = ticket.member(|name| name == node).expect("a name of the ticket");
            if missing {
                self.prepare(by, *rank, own);
            } else {
                self.launch(by, *rank, own);
            }
        }
        if missing {
            self.steps.running.remove(&leader);
            self.tell_launcher_end(leader, None, "srun: No such file or directory".to_owned(), 100);
        }
    }

    /// Notes the end of a task; the end of the last one ends the step.
    pub(crate) fn task_ends(&mut self, task: DaemonRank, status: Option<ExitStatus>, message: String, delay: u64) {
        let Some(leader) = self.steps.of(task) else { return };
        let Some(step) = self.steps.running.get_mut(&leader) else { return };
        step.tasks.remove(task);
        if let Some(status) = status.filter(|status| !status.is_success()) {
            step.status = status;
        }
        if step.tasks.is_empty() {
            let status = step.status;
            self.steps.running.remove(&leader);
            self.tell_launcher_end(leader, Some(status), message, delay);
        }
    }
}
