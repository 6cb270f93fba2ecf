//! A thread that asks the DVM for its status again and again, for `top`.

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
    /// The result of an order to end this job.
    Killed(JobId, Result<(), String>),
    /// The DVM answers no more.
    Failed(Failure),
}

/// An order for the thread, besides asking for the status.
enum Order {
    Kill(JobId),
    /// Ask for the details of this job from now on.
    Detail(Option<JobId>),
}

/// The handle of the thread. No caller waits for the thread: it ends with the process.
pub(super) struct Asker {
    orders: Sender<Order>,
    answers: Receiver<Answer>,
}

impl Asker {
    /// Starts the thread; it pauses for the interval between two questions.
    pub(super) fn start(dvm: Dvm, interval: Duration) -> Asker {
        let (sender, orders) = channel();
        let (told, answers) = channel();
        std::thread::spawn(move || ask_always(dvm, interval, &orders, &told));
        Asker { orders: sender, answers }
    }

    /// Ends a job as soon as possible.
    pub(super) fn kill(&self, job: JobId) {
        // A thread that has ended has sent the reason.
        let _ = self.orders.send(Order::Kill(job));
    }

    /// Asks for the details of this job at once, and then with each status.
    pub(super) fn want_detail(&self, job: Option<JobId>) {
        let _ = self.orders.send(Order::Detail(job));
    }

    /// Returns an answer, if one has come.
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
            Ok(Order::Detail(job)) => wanted = job,
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
    let detail = match dvm.job(job) {
        Ok(detail) => Some(Box::new(detail)),
        // The job has ended, and the DVM has forgotten it.
        Err(Failure::Refused(_)) => None,
        Err(failure) => return Err(failure),
    };
    Ok(Seen { detail: Some((job, detail)), ..seen })
}
