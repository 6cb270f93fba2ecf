//! The referee: what must hold in every run, one file per guarantee, checked at every event.
//!
//! A guarantee sees what goes into the daemons and what comes out of them, never their inside: it
//! judges the program that runs on real machines as well as this one.

mod acked_deaths;
mod alone;
mod bonds;
mod bystanders;
mod changes;
mod data;
mod exit_codes;
mod fence;
mod fences;
mod given_back;
mod held_not_failed;
mod job_states;
mod kin;
mod launch_data;
mod links;
mod liveness;
mod meetings;
mod never_stuck;
mod no_launch_on_the_leaving;
mod nothing_left;
mod noticed;
mod one_reply;
mod only_on_the_wired;
mod only_the_dead;
mod only_when_elastic;
mod order;
mod orders_to_the_dead;
mod output;
mod own_failures_only;
mod own_session;
mod patience;
mod pmix;
mod proc_states;
mod quiet_phase;
mod quiet_tree;
mod really_gone;
mod reasons;
mod session_book;
mod silence;
mod slots;
mod spawns;
mod struck;
mod told;
mod turns;
mod two_phases;
mod undone;
mod whole;
mod wireup;
mod xcast;

use std::fmt;

use ferrite_core::{Effect, Input};
use ferrite_router::Tree;
use ferrite_types::{DaemonRank, PmixStatus, ProcId};
use ferrite_wire::Message;

use crate::fault::Fault;
use crate::queue::Time;
use crate::scenario::Scenario;
use crate::world::Gone;

/// Something that the referee sees.
#[derive(Debug)]
pub enum Observation<'a> {
    /// A daemon begins to live.
    Born {
        /// Which.
        rank: DaemonRank,
    },
    /// A daemon is gone.
    Gone {
        /// Which.
        rank: DaemonRank,
        /// When (virtual time).
        at: Time,
        /// How.
        how: Gone,
        /// Processes that it left running.
        running: usize,
    },
    /// A daemon is about to handle this.
    Input {
        /// Which.
        rank: DaemonRank,
        /// When (virtual time).
        at: Time,
        /// What.
        input: &'a Input,
        /// The message of a frame.
        message: Option<&'a Message>,
    },
    /// A daemon wants this done.
    Effect {
        /// Which.
        rank: DaemonRank,
        /// When (virtual time).
        at: Time,
        /// What.
        effect: &'a Effect,
        /// The message of a frame.
        message: Option<&'a Message>,
    },
    /// Something goes wrong now.
    Fault {
        /// When (virtual time).
        at: Time,
        /// What.
        fault: &'a Fault,
    },
    /// The network lost the link between these.
    Cut {
        /// Its ends.
        ends: [DaemonRank; 2],
    },
    /// A process runs.
    ProcBorn {
        /// Its daemon.
        rank: DaemonRank,
        /// Which.
        proc: ProcId,
    },
    /// A process calls `PMIx_Init`.
    Init {
        /// Its daemon.
        rank: DaemonRank,
        /// Which.
        proc: ProcId,
        /// Its job is registered there.
        known: bool,
    },
    /// A process ended.
    ProcEnded {
        /// Its daemon.
        rank: DaemonRank,
        /// Which.
        proc: ProcId,
        /// Lines it wrote, by stream.
        lines: [u64; 2],
    },
    /// A PMIx upcall was answered.
    PmixAnswered {
        /// The daemon.
        rank: DaemonRank,
        /// Bytes that all participants gave together.
        whole: usize,
        /// Bytes that came back, or a PMIx status.
        gathered: Result<usize, &'a PmixStatus>,
    },
}

/// A guarantee. `Err` says in words what broke it.
pub trait Invariant {
    /// Name of the guarantee.
    fn name(&self) -> &'static str;
    /// Something happened.
    ///
    /// # Errors
    /// When that breaks the guarantee.
    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String>;
    /// The run is over; these daemons are alive.
    ///
    /// # Errors
    /// When something is left open.
    fn at_end(&mut self, left: &[DaemonRank]) -> Result<(), String> {
        let _ = left;
        Ok(())
    }
}

/// A broken guarantee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub invariant: &'static str,
    /// When (virtual time).
    pub at: Time,
    /// How.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} us: {}", self.invariant, self.at, self.text)
    }
}

/// All guarantees of a run.
#[derive(Default)]
pub struct Referee {
    invariants: Vec<Box<dyn Invariant>>,
}

impl Referee {
    /// One who looks away: for counting at a scale where looking costs more than playing.
    #[must_use]
    pub fn blind() -> Referee {
        Referee::default()
    }

    /// One who knows all guarantees.
    #[must_use]
    pub fn strict(scenario: &Scenario) -> Referee {
        let mut referee = Referee {
            invariants: vec![
                Box::new(one_reply::OneReply::default()),
                Box::new(exit_codes::ExitCodes::new(scenario)),
                Box::new(whole::Whole::new(scenario)),
                Box::new(slots::Slots::new(scenario)),
                Box::new(orders_to_the_dead::OrdersToTheDead::default()),
                Box::new(launch_data::LaunchData::default()),
                Box::new(links::Links::default()),
                Box::new(job_states::JobStates::default()),
                Box::new(proc_states::ProcStates::default()),
                Box::new(xcast::Xcast::new(scenario)),
                Box::new(wireup::WiredUp::default()),
                Box::new(pmix::PmixAnswers::default()),
                Box::new(told::ToldOnce::default()),
                Box::new(order::Order::default()),
                Box::new(output::Output::new(scenario)),
                Box::new(quiet_phase::QuietPhase::new(scenario)),
                Box::new(only_the_dead::OnlyTheDead::default()),
                Box::new(patience::Patience::default()),
                Box::new(noticed::Noticed::new(scenario)),
                Box::new(acked_deaths::AckedDeaths::new(scenario)),
                Box::new(fences::Fences::default()),
                Box::new(bystanders::Bystanders::default()),
                Box::new(alone::Alone::new(scenario)),
                Box::new(quiet_tree::QuietTree::new(scenario)),
                Box::new(nothing_left::NothingLeft::new(scenario)),
                Box::new(only_when_elastic::OnlyWhenElastic::new(scenario)),
            ],
        };
        if !scenario.children.is_empty() {
            referee.know_families(scenario);
        }
        if scenario.resizes() {
            referee.know_changes(scenario);
        }
        referee
    }

    /// What can only be broken where processes spawn jobs, connect and exchange data.
    fn know_families(&mut self, scenario: &Scenario) {
        let more: [Box<dyn Invariant>; 4] = [
            Box::new(meetings::Meetings::new(scenario)),
            Box::new(spawns::Spawns::new(scenario)),
            Box::new(bonds::Bonds::new(scenario)),
            Box::new(data::Data::new(scenario)),
        ];
        self.invariants.extend(more);
    }

    /// What can only be broken in a DVM that changes its size.
    fn know_changes(&mut self, scenario: &Scenario) {
        if scenario.elastic.mode {
            self.invariants.push(Box::new(fence::Fence::default()));
        }
        if scenario.elastic.manager.is_some() {
            self.invariants.push(Box::new(given_back::GivenBack::new(scenario)));
        }
        let more: [Box<dyn Invariant>; 13] = [
            Box::new(held_not_failed::HeldNotFailed::new(scenario)),
            Box::new(only_on_the_wired::OnlyOnTheWired::new(scenario)),
            Box::new(no_launch_on_the_leaving::NoLaunchOnTheLeaving::default()),
            Box::new(own_failures_only::OwnFailuresOnly::new(scenario)),
            Box::new(undone::Undone::new(scenario)),
            Box::new(really_gone::ReallyGone::new(scenario)),
            Box::new(never_stuck::NeverStuck::new(scenario)),
            Box::new(own_session::OwnSession::new(scenario)),
            Box::new(session_book::SessionBook::new(scenario)),
            Box::new(reasons::Reasons::new(scenario)),
            Box::new(liveness::Liveness::new(scenario)),
            Box::new(turns::Turns::new(scenario)),
            Box::new(two_phases::TwoPhases::new(scenario)),
        ];
        self.invariants.extend(more);
    }

    /// Shows everybody what happened; the first to object is heard.
    pub fn observe(&mut self, at: Time, what: &Observation<'_>) -> Option<Violation> {
        self.invariants.iter_mut().find_map(|i| {
            let text = i.observe(what).err()?;
            Some(Violation { invariant: i.name(), at, text })
        })
    }

    /// Asks everybody at the end.
    pub fn at_end(&mut self, at: Time, left: &[DaemonRank]) -> Option<Violation> {
        self.invariants.iter_mut().find_map(|i| {
            let text = i.at_end(left).err()?;
            Some(Violation { invariant: i.name(), at, text })
        })
    }
}

/// A tree so large that every rank has its place, whoever lives: for who is below whom.
fn arithmetic(scenario: &Scenario) -> Tree {
    const RANKS: u32 = 1 << 24;
    Tree::new(scenario.radix, RANKS)
}

/// `Err` with a text, unless the condition holds.
fn require(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
