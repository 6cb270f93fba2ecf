//! The DVM that `pdvm` talks to, with one function for each request.

use std::collections::BTreeMap;
use std::path::Path;

use ferrite_client::{ClientEvent, ClientLoop, Connection, FindError, Here, Patience, Selector, Source};
use ferrite_types::JobId;
use ferrite_wire::control::{
    BatchOrder, BatchStatus, ClientMessage, DvmMessage, DvmStatus, JobDetail, JobStatus, Metrics, NodeStatus, Reply,
    Request, SessionStatus,
};

use super::failure::Failure;
use super::moment::Moment;
use super::options::JobName;
use crate::args::{Connect, ConnectionOptions, connect_of};
use crate::interrupts::ENDS;
use crate::machine::{self, Surroundings};
use crate::setup;

/// A connection to the selected DVM.
pub(crate) struct Dvm {
    connection: Connection,
}

impl Dvm {
    /// Finds the selected DVM and connects to it.
    ///
    /// # Errors
    /// There is no such DVM, there are several, or it does not answer.
    pub(crate) fn find(which: ConnectionOptions) -> Result<Dvm, Failure> {
        connect(which, ferrite_client::connect).map(|connection| Dvm { connection })
    }

    /// Returns the name of the DVM.
    pub(crate) fn name(&self) -> &str {
        self.connection.dvm()
    }

    /// Returns the connection, for callers that need more than replies.
    pub(crate) fn into_connection(self) -> Connection {
        self.connection
    }

    /// Asks for its status; returns it with the time of the answer.
    pub(crate) fn status(&mut self) -> Result<(DvmStatus, Moment), Failure> {
        let status = self.ask(Request::Status, |reply| match reply {
            Reply::Status(status) => Some(*status),
            _ => None,
        })?;
        let moment = Moment::now(&status);
        Ok((status, moment))
    }

    /// Asks for its nodes.
    pub(crate) fn nodes(&mut self) -> Result<Vec<NodeStatus>, Failure> {
        self.ask(Request::Nodes, |reply| match reply {
            Reply::Nodes(nodes) => Some(nodes),
            _ => None,
        })
    }

    /// Asks for its jobs, in the order of their submission.
    pub(crate) fn jobs(&mut self) -> Result<Vec<JobStatus>, Failure> {
        let mut jobs = self.ask(Request::Jobs, |reply| match reply {
            Reply::Jobs(jobs) => Some(jobs),
            _ => None,
        })?;
        jobs.sort_by_key(|job| job.job);
        Ok(jobs)
    }

    /// Asks for all jobs that it remembers, in the order of their submission.
    pub(crate) fn all_jobs(&mut self) -> Result<Vec<JobStatus>, Failure> {
        // The history comes last: a job that ends meanwhile is in it.
        let mut jobs: BTreeMap<JobId, JobStatus> = self.jobs()?.into_iter().map(|job| (job.job, job)).collect();
        let mut from = Some(0);
        while let Some(first) = from {
            let page = self.ask(Request::Ended { from: first }, |reply| match reply {
                Reply::Ended(page) => Some(page),
                _ => None,
            })?;
            jobs.extend(page.jobs.into_iter().map(|job| (job.job, job)));
            from = page.next.filter(|next| *next > first);
        }
        Ok(jobs.into_values().collect())
    }

    /// Returns the number of the latest job with this name.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn named(&mut self, task: &str) -> Result<JobId, Failure> {
        let latest = |jobs: Vec<JobStatus>| jobs.iter().rev().find(|job| job.task == task).map(|job| job.job);
        if let Some(job) = latest(self.jobs()?) {
            return Ok(job);
        }
        latest(self.all_jobs()?).ok_or_else(|| {
            Failure::Refused(format!("There is no job with the number or the name {task:?}; `pdvm jobs` lists them."))
        })
    }

    /// Asks for one job.
    pub(crate) fn job(&mut self, job: JobId) -> Result<JobDetail, Failure> {
        self.ask(Request::Job(job), |reply| match reply {
            Reply::Job(detail) => Some(*detail),
            _ => None,
        })
    }

    /// Asks for one job; returns `None` when the DVM does not remember it.
    pub(crate) fn find_job(&mut self, job: JobId) -> Result<Option<JobDetail>, Failure> {
        match self.job(job) {
            Err(Failure::Refused(_)) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Orders the end of a job and of all that descend from it; returns those that are being ended.
    pub(crate) fn kill_tree(&mut self, job: JobId) -> Result<Vec<JobId>, Failure> {
        self.ask(Request::KillTree(job), |reply| match reply {
            Reply::Killed(jobs) => Some(jobs),
            _ => None,
        })
    }

    /// Asks for its sessions.
    pub(crate) fn sessions(&mut self) -> Result<Vec<SessionStatus>, Failure> {
        self.ask(Request::Sessions, |reply| match reply {
            Reply::Sessions(sessions) => Some(sessions),
            _ => None,
        })
    }

    /// Asks for its batches.
    pub(crate) fn batches(&mut self) -> Result<Vec<BatchStatus>, Failure> {
        self.ask(Request::Batch(BatchOrder::List), |reply| match reply {
            Reply::Batches(batches) => Some(batches),
            _ => None,
        })
    }

    /// Asks for its counters.
    pub(crate) fn metrics(&mut self) -> Result<Metrics, Failure> {
        self.ask(Request::Metrics, |reply| match reply {
            Reply::Metrics(metrics) => Some(*metrics),
            _ => None,
        })
    }

    /// Sends an order that the DVM only confirms.
    pub(crate) fn order(&mut self, request: Request) -> Result<(), Failure> {
        self.ask(request, |reply| matches!(reply, Reply::Ordered).then_some(()))
    }

    /// Returns the number of a job.
    ///
    /// # Errors
    /// The job was named by a namespace of another DVM, where its number means another job.
    pub(crate) fn number_of(&self, name: &JobName) -> Result<JobId, Failure> {
        match &name.dvm {
            Some(dvm) if dvm != self.name() => {
                Err(Failure::OtherDvm { wanted: name.id.nspace(dvm), dvm: self.name().to_owned() })
            }
            _ => Ok(name.id),
        }
    }

    fn ask<T>(&mut self, request: Request, pick: impl FnOnce(Reply) -> Option<T>) -> Result<T, Failure> {
        match self.connection.ask(request)? {
            Reply::Refused(text) => Err(Failure::Refused(text)),
            reply => pick(reply).ok_or_else(|| Failure::Astray { dvm: self.name().to_owned() }),
        }
    }
}

/// Connects to the selected DVM in this way.
///
/// # Errors
/// There is no such DVM, there are several, or it does not answer.
pub(super) fn connect<T>(
    which: ConnectionOptions,
    way: impl Fn(&Selector, Option<&Path>, Patience, &Here) -> Result<T, FindError>,
) -> Result<T, Failure> {
    let around = Surroundings::of_process(machine::environment()).map_err(Failure::Surroundings)?;
    let Connect { selector, key, patience, never } = connect_of(which, &around.environment)?;
    if never {
        return Err(Failure::Never);
    }
    let base = setup::tmpdir_base_here(&around)?;
    let here = Here::of(around.hostname, base.as_deref(), |name| around.environment.get(name).cloned());
    Ok(way(&selector, key.as_deref(), patience, &here)?)
}

/// A connection for requests whose answer takes time. A signal ends the wait, and not what the DVM does.
pub(crate) struct WaitingDvm {
    client: ClientLoop,
    asked: u32,
}

impl WaitingDvm {
    /// Takes over the connection; what the DVM reads for a request comes from the input.
    ///
    /// # Errors
    /// There are no more descriptors.
    pub(crate) fn of(dvm: Dvm, input: Source) -> Result<WaitingDvm, Failure> {
        let client = ClientLoop::new(dvm.into_connection(), input, &ENDS);
        Ok(WaitingDvm { client: client.map_err(Failure::Machine)?, asked: 0 })
    }

    /// Asks, and waits for the reply.
    ///
    /// # Errors
    /// The DVM refuses or is lost, or a signal has ended the wait.
    pub(crate) fn ask(&mut self, request: Request) -> Result<Reply, Failure> {
        self.asked += 1;
        let id = self.asked;
        self.client.send(&ClientMessage::Open { id, request });
        loop {
            match self.client.next(None) {
                ClientEvent::Message(DvmMessage::Reply { id: of, reply: Reply::Refused(text) }) if of == id => {
                    return Err(Failure::Refused(text));
                }
                ClientEvent::Message(DvmMessage::Reply { id: of, reply }) if of == id => return Ok(reply),
                ClientEvent::Message(DvmMessage::ReadStdin { id: of, limit }) if of == id => {
                    self.client.read_input(limit as usize);
                }
                ClientEvent::Input(data) => self.client.send(&ClientMessage::Stdin { id, data }),
                ClientEvent::Signal(signal) => return Err(Failure::Interrupted(signal)),
                ClientEvent::Gone(error) => return Err(error.into()),
                // Other messages belong to no request of this client.
                _ => {}
            }
        }
    }

    /// Returns the error for a reply of the wrong kind.
    pub(crate) fn astray(&self) -> Failure {
        Failure::Astray { dvm: self.client.dvm().to_owned() }
    }
}
