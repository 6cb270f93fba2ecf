//! Guarantee: processes follow their state table: forked, registered, then output closed and reaped in either order,
//! then over.

use std::collections::BTreeMap;

use ferrite_core::{Effect, Transition};
use ferrite_types::{DaemonRank, ProcId, ProcState};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct ProcStates {
    /// The state of each process, as the head and as the hosting daemon see it.
    now: BTreeMap<(DaemonRank, ProcId), ProcState>,
}

fn legal(from: ProcState, to: ProcState) -> bool {
    use ProcState::*;
    let next: &[ProcState] = match from {
        Init => &[Running, Terminated],
        Running => &[Registered, IofComplete, WaitpidFired, ReadyForDebug, Terminated],
        ReadyForDebug => &[Running, Registered, IofComplete, WaitpidFired],
        Registered => &[IofComplete, WaitpidFired, ReadyForDebug, Terminated],
        IofComplete => &[WaitpidFired, Terminated],
        WaitpidFired => &[IofComplete, Terminated],
        _ => &[],
    };
    next.contains(&to) || (to.is_error() && !from.has_ended())
}

impl Invariant for ProcStates {
    fn name(&self) -> &'static str {
        "processes walk their state table"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        if let Observation::Effect { rank, effect: Effect::Spawn { proc, request }, .. } = what
            && request.restarts > 0
        {
            // It begins anew.
            self.now.remove(&(*rank, *proc));
        }
        let Observation::Effect { rank, effect: Effect::Trace(Transition::Proc { proc, from, to }), .. } = what else {
            return Ok(());
        };
        let known = self.now.insert((*rank, *proc), *to);
        require(known.is_none_or(|k| k == *from), || format!("daemon {rank}: {proc} was in {known:?}, not in {from}"))?;
        require(legal(*from, *to), || format!("daemon {rank}: {proc} goes from {from} to {to}"))
    }
}
