//! Asks the DVM for `top`, again and again, in a thread of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ferrite_types::JobId;
use ferrite_wire::control::Request;

use super::state::Seen;
use crate::pdvm::dvm::Dvm;
use crate::pdvm::failure::Failure;

/// An answer of the DVM.
pub(super) enum Answer {
    /// Its status.
    Seen(Box<Seen>),
    /// Whether this job is being ended; else why not.
    Killed(JobId, Result<(), String>),
    /// The DVM answers no more.
    Failed(Failure),
}

/// An order for the thread, besides asking for the status.
enum Order {
    Kill(JobId),
    /// From now on ask where the processes of this job are.
    Places(Option<JobId>),
}

/// The handle of the thread. No caller waits for the thread: it ends with the process.
pub(super) struct Asker {
    orders: Sender<Order>,
    answers: Receiver<Answer>,
}

impl Asker {
    /// Asks from now on, with such a pause in between.
    pub(super) fn start(dvm: Dvm, interval: Duration) -> Asker {
        let (sender, orders) = channel();
        let (told, answers) = channel();
        std::thread::spawn(move || ask_always(dvm, interval, &orders, &told));
        Asker { orders: sender, answers }
    }

    /// Ends a job as soon as possible.
    pub(super) fn kill(&self, job: JobId) {
        // A thread that is gone has said why.
        let _ = self.orders.send(Order::Kill(job));
    }

    /// Asks from now on where the processes of this job are, the first time at once.
    pub(super) fn want_places(&self, job: Option<JobId>) {
        let _ = self.orders.send(Order::Places(job));
    }

    /// An answer, if there is one.
    pub(super) fn next(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

fn ask_always(mut dvm: Dvm, interval: Duration, orders: &Receiver<Order>, told: &Sender<Answer>) {
    let mut wanted = None;
    loop {
        let answer = look(&mut dvm, wanted).map_or_else(Answer::Failed, |seen| Answer::Seen(Box::new(seen)));
        let over = matches!(answer, Answer::Failed(_));
        if told.send(answer).is_err() || over {
            return;
        }
        match orders.recv_timeout(interval) {
            Ok(Order::Places(job)) => wanted = job,
            Ok(Order::Kill(job)) => {
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

fn look(dvm: &mut Dvm, wanted: Option<JobId>) -> Result<Seen, Failure> {
    let (status, moment) = dvm.status()?;
    let seen = Seen::new(status, dvm.jobs()?, dvm.nodes()?, moment);
    let Some(job) = wanted else { return Ok(seen) };
    let lines = match dvm.job(job) {
        Ok(detail) => detail.places,
        // The job has ended meanwhile and is forgotten already.
        Err(Failure::Refused(_)) => Vec::new(),
        Err(failure) => return Err(failure),
    };
    Ok(Seen { places: Some((job, lines)), ..seen })
}
