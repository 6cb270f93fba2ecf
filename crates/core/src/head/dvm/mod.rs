//! The DVM itself: its bring-up, its nodes, its losses and its end.

mod bringup;
mod contacts;
mod end;
mod losses;
mod nodes;
mod progress;
mod status;

use ferrite_types::{DaemonRank, JobId, JobState, RankSet};
use ferrite_wire::{Contact, NodeLaunch};

use self::bringup::BringUp;
use self::contacts::Contacts;
use self::end::Exit;
use self::losses::Losses;
use self::progress::Progress;
use crate::LocalNode;
use crate::cx::Cx;
use crate::launches::{Launches, TicketBase};
use crate::spread::Addressees;

pub(in crate::head) use self::end::{CANCELLED, INTERRUPTED};
pub(in crate::head) use self::losses::Loss;
pub(in crate::head) use self::nodes::Pool;

/// The state of this wing: where the DVM is between its start and its end.
#[derive(Debug)]
pub(in crate::head) struct Dvm {
    /// State of the daemons' own job.
    state: Option<JobState>,
    bringup: BringUp,
    progress: Progress,
    /// Launchers of daemons that have not linked, and those that live as long as their daemons.
    launches: Launches,
    contacts: Contacts,
    /// The number of wireups sent.
    wireups: u64,
    losses: Losses,
    exit: Exit,
}

impl Dvm {
    /// The state before the start of a DVM whose head listens at this contact.
    pub(in crate::head) fn of_head(contact: &Contact) -> Dvm {
        Dvm {
            state: None,
            bringup: BringUp::default(),
            progress: Progress::default(),
            launches: Launches::default(),
            contacts: Contacts::of_head(contact),
            wireups: 0,
            losses: Losses::default(),
            exit: Exit::default(),
        }
    }

    /// The state of the daemons' own job; `None` before the start.
    pub(in crate::head) fn state(&self) -> Option<JobState> {
        self.state
    }

    /// Records and traces a state of the daemons' own job.
    pub(in crate::head) fn enter(&mut self, to: JobState, cx: &mut Cx) {
        cx.trace_job(JobId::DAEMONS, self.state, to);
        self.state = Some(to);
    }

    /// True once the DVM takes jobs.
    pub(in crate::head) fn is_ready(&self) -> bool {
        self.bringup.is_ready()
    }

    /// True once the DVM ends: it then takes no job and no daemon.
    pub(in crate::head) fn is_ending(&self) -> bool {
        self.exit.has_begun()
    }

    /// Daemons of the bring-up that have not reported.
    fn missing(&self) -> &RankSet {
        self.bringup.missing()
    }

    /// Nodes of dead daemons whose death some daemons have not acknowledged yet.
    fn under_repair(&self) -> impl Iterator<Item = &str> {
        self.losses.under_repair()
    }

    /// Starts the daemons of newcomers, each of which calls the head and waits for its place.
    pub(in crate::head) fn launch_newcomers(
        &mut self,
        base: &TicketBase,
        targets: &[NodeLaunch],
        local: &LocalNode,
        cx: &mut Cx,
    ) {
        self.launches.start_joining(base, DaemonRank::HEAD, targets, local, cx);
    }

    /// Gives up the start of a daemon that has not linked.
    pub(in crate::head) fn abandon_launch(&mut self, rank: DaemonRank, cx: &mut Cx) {
        self.launches.abandon_one(rank, cx);
    }

    /// Forgets where daemons listened that have left.
    pub(in crate::head) fn part_with(&mut self, ranks: &RankSet) {
        self.contacts.forget(ranks);
    }

    /// The process id of a daemon that has reported.
    pub(in crate::head) fn pid(&self, rank: DaemonRank) -> Option<u32> {
        self.contacts.pid(rank)
    }

    /// These daemons with their contacts; `None` when one of them is not known.
    pub(in crate::head) fn contacts_of(&self, ranks: &RankSet) -> Option<Addressees> {
        self.contacts.of(ranks)
    }

    /// Tells the new parents of orphans, or of daemons whose parent leaves, at which contacts these listen.
    pub(in crate::head) fn place_orphans(&self, dead: &RankSet, cx: &mut Cx) {
        self.contacts.place_orphans(dead, cx);
    }
}
