//! Questions of processes and tools about the DVM, and orders for processes, as daemons pass them on to the head.

use ferrite_types::{JobId, Rank, Signal};
use serde::{Deserialize, Serialize};

use crate::ProcessSet;
use crate::control::{CampaignStatus, JobDetail, JobStatus, NodeStatus, SessionStatus};

/// A subject that the head knows about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Subject {
    /// Its open campaigns.
    Campaigns,
    /// Its nodes.
    Nodes,
    /// Its jobs that are not over.
    Jobs,
    /// One job, with its processes.
    Job(JobId),
    /// Its sessions.
    Sessions,
    /// Its process sets.
    Sets,
    /// Its groups.
    Groups,
}

/// The head's answer about one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// Answers [`Subject::Campaigns`].
    Campaigns(Vec<CampaignStatus>),
    /// Answers [`Subject::Nodes`].
    Nodes(Vec<NodeStatus>),
    /// Answers [`Subject::Jobs`].
    Jobs(Vec<JobStatus>),
    /// Answers [`Subject::Job`]; `None` = no such job runs.
    Job(Option<Box<JobDetail>>),
    /// Answers [`Subject::Sessions`].
    Sessions(Vec<SessionStatus>),
    /// Answers [`Subject::Sets`].
    Sets(Vec<ProcessSet>),
    /// Answers [`Subject::Groups`]; a group has a name and members, as a set has.
    Groups(Vec<ProcessSet>),
}

/// An order for processes (`PMIx_Job_control`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ControlOrder {
    /// Makes the processes a process set.
    DefineSet(ProcessSet),
    /// Signals processes.
    Signal {
        /// The processes, by job; no ranks = the whole job.
        targets: Vec<(JobId, Vec<Rank>)>,
        /// The signal.
        signal: Signal,
    },
    /// Ends whole jobs.
    End(Vec<JobId>),
    /// Answers the notice that nodes with processes of the caller's job are to leave.
    AnswerWithdrawal(WithdrawalAnswer),
    /// Refuses the offer of more processes to the caller's job (spec E56).
    RefuseGrowth,
}

/// The answer of an elastic job to the notice that some of its nodes are to leave (spec E52, E53).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WithdrawalAnswer {
    /// The nodes are to stay.
    Refuse,
    /// The processes need this time, from now on (seconds).
    Defer(u32),
}
