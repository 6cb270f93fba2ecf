//! The referee: the guarantees of every run, one file per guarantee, checked at every event.
//!
//! A guarantee sees the inputs and effects of the daemons, never their state: it judges the program that runs on real
//! machines as well as this one.

mod acked_deaths;
mod alone;
mod bonds;
mod bystanders;
mod changes;
mod cores;
mod data;
mod debug;
mod dependencies;
mod events;
mod exit_codes;
mod files;
mod given_back;
mod graces;
mod groups;
mod held_not_failed;
mod idle_slots;
mod job_states;
mod kin;
mod lanes;
mod launch_data;
mod launch_fence;
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
mod pmix_fence;
mod policy;
mod proc_states;
mod process_sets;
mod pushed;
mod queue_order;
mod quiet_phase;
mod quiet_tree;
mod really_gone;
mod reasons;
mod restarts;
mod session_book;
mod silence;
mod sizes;
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

use std::collections::BTreeMap;
use std::fmt;

use ferrite_core::{Effect, Input};
use ferrite_router::Tree;
use ferrite_types::{DaemonRank, PmixStatus, ProcId};
use ferrite_wire::control::Request;
use ferrite_wire::{GrowthOffer, Message};

use crate::fault::Fault;
use crate::queue::Time;
use crate::scenario::Scenario;
use crate::world::Gone;

/// An observation of the referee.
#[derive(Debug)]
pub enum Observation<'a> {
    /// A daemon starts.
    Born {
        /// The daemon that starts.
        rank: DaemonRank,
    },
    /// A daemon is gone.
    Gone {
        /// The daemon that is gone.
        rank: DaemonRank,
        /// The time (virtual).
        at: Time,
        /// The way in which it went.
        how: Gone,
        /// Processes that it left running.
        running: usize,
    },
    /// A daemon is about to handle an input.
    Input {
        /// The daemon that gets it.
        rank: DaemonRank,
        /// The time (virtual).
        at: Time,
        /// The input.
        input: &'a Input,
        /// The message in its frame, if any.
        message: Option<&'a Message>,
    },
    /// A daemon has made an effect.
    Effect {
        /// The daemon that made it.
        rank: DaemonRank,
        /// The time (virtual).
        at: Time,
        /// The effect.
        effect: &'a Effect,
        /// The message in its frame, if any.
        message: Option<&'a Message>,
    },
    /// A fault strikes.
    Fault {
        /// The time (virtual).
        at: Time,
        /// The fault.
        fault: &'a Fault,
    },
    /// The network has lost a link.
    Cut {
        /// The daemons at its ends.
        ends: [DaemonRank; 2],
    },
    /// A process runs.
    ProcBorn {
        /// The process's daemon.
        rank: DaemonRank,
        /// The process that runs.
        proc: ProcId,
    },
    /// A process calls `PMIx_Init`.
    Init {
        /// The process's daemon.
        rank: DaemonRank,
        /// The process that calls.
        proc: ProcId,
        /// True when its job is registered there.
        known: bool,
    },
    /// A process ended.
    ProcEnded {
        /// The process's daemon.
        rank: DaemonRank,
        /// The process that has ended.
        proc: ProcId,
        /// The numbers of lines that it wrote, by stream.
        lines: [u64; 2],
    },
    /// A PMIx upcall was answered.
    PmixAnswered {
        /// The daemon of the caller.
        rank: DaemonRank,
        /// Bytes of all participants together.
        whole: usize,
        /// Bytes in the answer, or a PMIx status.
        gathered: Result<usize, &'a PmixStatus>,
    },
}

/// A guarantee. `Err` says in words how it was broken.
pub trait Invariant {
    /// Name of the guarantee.
    fn name(&self) -> &'static str;
    /// Shows the guarantee an observation.
    ///
    /// # Errors
    /// When that breaks the guarantee.
    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String>;
    /// Ends the run; `left` are the living daemons.
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
    /// The guarantee's name.
    pub invariant: &'static str,
    /// The time of the violation (virtual).
    pub at: Time,
    /// The violation in words.
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
    /// A referee without guarantees, for measurements at a scale where checks cost more than the run.
    #[must_use]
    pub fn blind() -> Referee {
        Referee::default()
    }

    /// A referee with all guarantees.
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
                Box::new(lanes::Lanes::default()),
                Box::new(job_states::JobStates::default()),
                Box::new(proc_states::ProcStates::default()),
                Box::new(restarts::Restarts::default()),
                Box::new(xcast::Xcast::new(scenario)),
                Box::new(wireup::WiredUp::default()),
                Box::new(pmix::PmixAnswers::default()),
                Box::new(told::ToldOnce::default()),
                Box::new(debug::Debug::default()),
                Box::new(files::Files::new(scenario)),
                Box::new(order::Order::default()),
                Box::new(output::Output::new(scenario)),
                Box::new(quiet_phase::QuietPhase::new(scenario)),
                Box::new(only_the_dead::OnlyTheDead::default()),
                Box::new(patience::Patience::default()),
                Box::new(noticed::Noticed::new(scenario)),
                Box::new(acked_deaths::AckedDeaths::new(scenario)),
                Box::new(pmix_fence::PmixFence::default()),
                Box::new(bystanders::Bystanders::default()),
                Box::new(alone::Alone::new(scenario)),
                Box::new(quiet_tree::QuietTree::new(scenario)),
                Box::new(nothing_left::NothingLeft::new(scenario)),
                Box::new(only_when_elastic::OnlyWhenElastic::new(scenario)),
            ],
        };
        if let Some(dependencies) = dependencies::Dependencies::new(scenario) {
            referee.invariants.push(Box::new(dependencies));
        }
        if let Some(order) = queue_order::QueueOrder::new(scenario) {
            referee.invariants.push(Box::new(order));
        }
        if let Some(policy) = policy::Policy::new(scenario) {
            referee.invariants.push(Box::new(policy));
        }
        if !scenario.children.is_empty() {
            referee.know_families(scenario);
        }
        if scenario.questions.iter().any(|(_, question)| matches!(question, Request::ResizeJob(_))) {
            referee.invariants.push(Box::new(sizes::Sizes::new(scenario)));
            referee.invariants.push(Box::new(cores::Cores::default()));
            if let Some(idle) = idle_slots::IdleSlots::new(scenario) {
                referee.invariants.push(Box::new(idle));
            }
        }
        if scenario.resizes() {
            referee.know_changes(scenario);
        }
        referee
    }

    /// Adds the guarantees about jobs that spawn, connect and exchange data.
    fn know_families(&mut self, scenario: &Scenario) {
        let more: [Box<dyn Invariant>; 7] = [
            Box::new(groups::Groups::default()),
            Box::new(process_sets::ProcessSets::default()),
            Box::new(events::Events::new(scenario)),
            Box::new(meetings::Meetings::new(scenario)),
            Box::new(spawns::Spawns::new(scenario)),
            Box::new(bonds::Bonds::new(scenario)),
            Box::new(data::Data::new(scenario)),
        ];
        self.invariants.extend(more);
    }

    /// Adds the guarantees about changes of size.
    fn know_changes(&mut self, scenario: &Scenario) {
        if scenario.elastic.mode {
            self.invariants.push(Box::new(launch_fence::LaunchFence::default()));
        }
        if scenario.elastic.manager.is_some() {
            self.invariants.push(Box::new(given_back::GivenBack::new(scenario)));
        }
        let more: [Box<dyn Invariant>; 15] = [
            Box::new(graces::Graces::new(scenario)),
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
            Box::new(pushed::NobodysNodes::default()),
            Box::new(two_phases::TwoPhases::new(scenario)),
        ];
        self.invariants.extend(more);
    }

    /// Shows all guarantees an observation; returns the first violation.
    pub fn observe(&mut self, at: Time, what: &Observation<'_>) -> Option<Violation> {
        self.invariants.iter_mut().find_map(|i| {
            let text = i.observe(what).err()?;
            Some(Violation { invariant: i.name(), at, text })
        })
    }

    /// Asks all guarantees at the end of the run.
    pub fn at_end(&mut self, at: Time, left: &[DaemonRank]) -> Option<Violation> {
        self.invariants.iter_mut().find_map(|i| {
            let text = i.at_end(left).err()?;
            Some(Violation { invariant: i.name(), at, text })
        })
    }
}

/// A tree with a place for every rank, dead or alive, to tell which daemons are below others.
fn arithmetic(scenario: &Scenario) -> Tree {
    const RANKS: u32 = 1 << 24;
    Tree::new(scenario.radix, RANKS)
}

/// The slots of an offer, by daemon.
fn offered_slots(offer: &GrowthOffer) -> BTreeMap<DaemonRank, u32> {
    let daemon = |name: &str| name.strip_prefix('n')?.parse().ok().map(DaemonRank);
    offer.slots.iter().filter_map(|(node, slots)| Some((daemon(node)?, *slots))).collect()
}

/// `Err` with a text, unless the condition holds.
fn require(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
