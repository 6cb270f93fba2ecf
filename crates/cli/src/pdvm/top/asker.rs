//! Asks the DVM for `top`, again and again, in a thread of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ferrite_types::JobId;
use ferrite_wire::control::Request;

use super::state::Seen;
use crate::pdvm::dvm::Dvm;
use crate::pdvm::failure::Failure;

/// What the DVM said.
pub(super) enum Answer {
    /// How it is.
    Seen(Box<Seen>),
    /// Whether this job is being ended; else why not.
    Killed(JobId, Result<(), String>),
    /// It says nothing any more.
    Failed(Failure),
}

/// The thread, seen from outside. Nobody waits for it: it ends with the process.
pub(super) struct Asker {
    kills: Sender<JobId>,
    answers: Receiver<Answer>,
}

impl Asker {
    /// Asks from now on, with such a pause in between.
    pub(super) fn start(dvm: Dvm, interval: Duration) -> Asker {
        let (kills, orders) = channel();
        let (told, answers) = channel();
        std::thread::spawn(move || ask_always(dvm, interval, &orders, &told));
        Asker { kills, answers }
    }

    /// Ends a job as soon as possible.
    pub(super) fn kill(&self, job: JobId) {
        // A thread that is gone has said why.
        let _ = self.kills.send(job);
    }

    /// An answer, if there is one.
    pub(super) fn next(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

fn ask_always(mut dvm: Dvm, interval: Duration, orders: &Receiver<JobId>, told: &Sender<Answer>) {
    loop {
        let answer = look(&mut dvm).map_or_else(Answer::Failed, |seen| Answer::Seen(Box::new(seen)));
        let over = matches!(answer, Answer::Failed(_));
        if told.send(answer).is_err() || over {
            return;
        }
        match orders.recv_timeout(interval) {
            Ok(job) => {
                let answer = match dvm.order(Request::Kill(job)) {
                    Ok(()) => Answer::Killed(job, Ok(())),
                    Err(Failure::Refused(text)) => Answer::Killed(job, Err(text)),
                    Err(failure) => Answer::Failed(failure),
                };
                if told.send(answer).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn look(dvm: &mut Dvm) -> Result<Seen, Failure> {
    let (status, moment) = dvm.status()?;
    Ok(Seen::new(status, dvm.jobs()?, dvm.nodes()?, moment))
}
