//! PMIx events on their way between the nodes. The head addresses each event once; only the driver of a daemon looks
//! into what a process has put into it.

use bytes::Bytes;
use ferrite_types::{AllocId, AllocReqId, JobId, PmixStatus, ProcId, Rank};
use serde::{Deserialize, Serialize};

/// The name of a PMIx tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolName {
    /// Its namespace.
    pub nspace: String,
    /// Its rank there; `None` = every tool of the namespace.
    pub rank: Option<u32>,
}

/// The author of an event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EventSource {
    /// The DVM: the daemon that delivers it stands for it.
    Dvm,
    /// A process, by the connection over which it has raised the event.
    Proc(ProcId),
    /// A tool, by its connection.
    Tool(ToolName),
}

/// The notice that nodes are to leave the DVM, or that processes of an elastic job are to end, for these processes and
/// for all that are connected with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// The job.
    pub job: JobId,
    /// Its processes on these nodes, or those that are to end.
    pub ranks: Vec<Rank>,
    /// The nodes; those of the processes, which stay in the DVM, when only processes are to end.
    pub nodes: Vec<String>,
    /// True when only processes are to end (spec E57).
    pub of_procs: bool,
    /// The time that the processes have to end (seconds).
    pub seconds: u32,
    /// The allocation that gives the nodes back.
    pub alloc_id: AllocId,
    /// The requester's own name for the request.
    pub req_id: Option<AllocReqId>,
}

/// The offer of more processes to an elastic job (spec E54).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrowthOffer {
    /// The job at the root of the spawn tree.
    pub root: JobId,
    /// The number of processes.
    pub procs: u32,
    /// The slots that are kept for them, by node.
    pub slots: Vec<(String, u32)>,
    /// The time that the job has to take it (seconds).
    pub seconds: u32,
    /// The allocation of the nodes.
    pub alloc_id: AllocId,
    /// The name of the offer.
    pub req_id: AllocReqId,
}

/// The content of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventInfo {
    /// The infos of the process or tool that has raised it, encoded by the driver.
    Raised(Bytes),
    /// A job has begun or is over.
    Job {
        /// The job.
        job: JobId,
        /// Its exit code, once it is over.
        code: Option<u8>,
    },
    /// A process has ended.
    Proc {
        /// The process.
        proc: ProcId,
        /// Its exit code; `None` when its node is lost.
        code: Option<u8>,
    },
    /// The nodes of processes are to leave the DVM (spec E43).
    Withdrawal(Box<Withdrawal>),
    /// A job may have more processes (spec E54).
    Growth(Box<GrowthOffer>),
    /// A process of a group is gone.
    Member {
        /// The name of the group.
        group: String,
        /// The process.
        proc: ProcId,
    },
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PmixEvent {
    /// The event's code.
    pub code: PmixStatus,
    /// The process, tool or DVM that raises it.
    pub source: EventSource,
    /// Its content.
    pub info: EventInfo,
}

/// The addressees of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventRange {
    /// Every process of the DVM and every tool: the ranges global and undefined.
    Everyone,
    /// Those of the source's session, which the head knows: it makes [`EventRange::Jobs`] of it (range session).
    Session,
    /// Every process of some jobs.
    Jobs {
        /// The jobs.
        jobs: Vec<JobId>,
        /// True for every tool as well.
        tools: bool,
    },
    /// Every process of this job (range namespace).
    Job(JobId),
    /// Those that are named (range custom).
    Named {
        /// Processes, by job; no ranks = the whole job.
        procs: Vec<(JobId, Vec<Rank>)>,
        /// Tools.
        tools: Vec<ToolName>,
    },
}

impl EventRange {
    /// The single process that hears the event.
    #[must_use]
    pub fn only(proc: ProcId) -> EventRange {
        EventRange::Named { procs: vec![(proc.job, vec![proc.rank])], tools: Vec::new() }
    }

    /// True for a process that is to hear the event.
    #[must_use]
    pub fn includes(&self, proc: ProcId) -> bool {
        match self {
            EventRange::Everyone => true,
            EventRange::Session => false,
            EventRange::Jobs { jobs, .. } => jobs.contains(&proc.job),
            EventRange::Job(job) => proc.job == *job,
            EventRange::Named { procs, .. } => {
                procs.iter().any(|(job, ranks)| *job == proc.job && (ranks.is_empty() || ranks.contains(&proc.rank)))
            }
        }
    }

    /// True for a tool that is to hear the event.
    #[must_use]
    pub fn includes_tool(&self, nspace: &str, rank: u32) -> bool {
        match self {
            EventRange::Everyone => true,
            EventRange::Jobs { tools, .. } => *tools,
            EventRange::Session | EventRange::Job(_) => false,
            EventRange::Named { tools, .. } => {
                tools.iter().any(|tool| tool.nspace == nspace && tool.rank.is_none_or(|named| named == rank))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_includes_whom_it_names_and_nobody_else() {
        let proc = |job, rank| ProcId { job: JobId(job), rank: Rank(rank) };
        let tool = |rank| ToolName { nspace: "t".into(), rank };
        let named = EventRange::Named {
            procs: vec![(JobId(1), vec![Rank(2)]), (JobId(2), Vec::new())],
            tools: vec![tool(Some(1))],
        };
        assert!(named.includes(proc(1, 2)) && named.includes(proc(2, 7)) && named.includes_tool("t", 1));
        assert!(!named.includes(proc(1, 1)) && !named.includes(proc(3, 2)) && !named.includes_tool("t", 0));
        assert!(EventRange::Job(JobId(1)).includes(proc(1, 0)) && !EventRange::Job(JobId(1)).includes_tool("t", 1));
        let some = |tools| EventRange::Jobs { jobs: vec![JobId(3)], tools };
        assert!(some(true).includes(proc(3, 8)) && !some(true).includes(proc(1, 0)));
        assert!(some(true).includes_tool("u", 0) && !some(false).includes_tool("u", 0));
        assert!(EventRange::Everyone.includes(proc(9, 9)) && EventRange::Everyone.includes_tool("u", 3));
        assert!(
            EventRange::only(proc(1, 2)).includes(proc(1, 2)) && !EventRange::only(proc(1, 2)).includes(proc(1, 3))
        );
    }
}
