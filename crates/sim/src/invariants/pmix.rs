//! Guarantee: every PMIx upcall gets exactly one answer while its process lives, fences bring everybody's data, and a
//! job is registered before its processes begin.

use std::collections::BTreeMap;

use ferrite_core::{DaemonInput, Effect, Input, PmixCall, PmixEffect, PmixToken};
use ferrite_types::{DaemonRank, JobId};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct PmixAnswers {
    open: BTreeMap<(DaemonRank, PmixToken), JobId>,
}

impl Invariant for PmixAnswers {
    fn name(&self) -> &'static str {
        "every PMIx call is answered once and fully"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank, input: Input::Daemon(DaemonInput::Pmix(call)), .. } => {
                let (token, job) = match call {
                    PmixCall::Fence { token, members, .. }
                    | PmixCall::Connect { token, members }
                    | PmixCall::Disconnect { token, members }
                    | PmixCall::GroupConstruct { token, members, .. }
                    | PmixCall::GroupDestruct { token, members, .. }
                    | PmixCall::GiveUp { token, members, .. } => (token, members.job),
                    PmixCall::Spawn { token, proc, .. } | PmixCall::Control { token, by: Some(proc), .. } => {
                        (token, proc.job)
                    }
                    PmixCall::Data { token, call } => (token, call.proc.job),
                    PmixCall::Abort { token, proc, .. } | PmixCall::Modex { token, proc } => (token, proc.job),
                    _ => return Ok(()),
                };
                self.open.insert((*rank, *token), job);
                Ok(())
            }
            Observation::Effect {
                rank,
                effect:
                    Effect::Pmix(
                        PmixEffect::Reply { token, .. }
                        | PmixEffect::SpawnReply { token, .. }
                        | PmixEffect::DataReply { token, .. },
                    ),
                ..
            } => {
                let known = self.open.remove(&(*rank, *token)).is_some();
                require(known, || format!("daemon {rank} answers {token:?}, which is not open"))
            }
            Observation::Effect { rank, effect: Effect::Pmix(PmixEffect::Deregister(job)), .. } => {
                let open = self.open.iter().find(|((r, _), j)| r == rank && *j == job);
                require(open.is_none(), || format!("daemon {rank} forgets job {job} with {open:?} unanswered"))
            }
            Observation::PmixAnswered { rank, whole, gathered: Ok(n) } => {
                require(*n >= *whole, || format!("daemon {rank}: a fence gave {n} of {whole} bytes"))
            }
            Observation::Init { rank, proc, known } => {
                require(*known, || format!("{proc} calls PMIx_Init at daemon {rank}, where its job is not registered"))
            }
            Observation::Gone { rank, .. } => {
                self.open.retain(|(r, _), _| r != rank);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
