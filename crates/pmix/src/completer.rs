//! The one-shot answer to an upcall. The driver keeps it as an opaque token; in every case the waiting client gets
//! exactly one answer.

use std::cell::Cell;

use crate::Status;

type Finish<T> = Box<dyn FnOnce(Result<T, Status>) + Send>;

/// Answers one request. Dropping it answers with an error, so that a forgotten request fails instead of
/// hanging its client.
pub struct Completer<T> {
    finish: Cell<Option<Finish<T>>>,
}

impl<T> Completer<T> {
    /// Wraps the function that gets the answer. Tests of a driver make their own.
    pub fn new(finish: impl FnOnce(Result<T, Status>) + Send + 'static) -> Self {
        Self { finish: Cell::new(Some(Box::new(finish))) }
    }

    /// Gives the answer. May be called on any thread; the client gets it from the library's own.
    pub fn complete(self, answer: Result<T, Status>) {
        self.finish_with(answer);
    }

    /// Answers that this environment does not offer the service.
    pub fn refuse(self) {
        self.complete(Err(Status::NOT_SUPPORTED));
    }

    /// Moves the right to answer into a new completer, which travels in a message; this one has no effect any more.
    pub(crate) fn depart(&self) -> Self {
        Self { finish: Cell::new(self.finish.take()) }
    }

    fn finish_with(&self, answer: Result<T, Status>) {
        if let Some(finish) = self.finish.take() {
            finish(answer);
        }
    }
}

impl<T> Drop for Completer<T> {
    fn drop(&mut self) {
        self.finish_with(Err(Status::ERROR));
    }
}

impl<T> std::fmt::Debug for Completer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Completer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn an_answer_is_given_once() {
        let (tx, rx) = channel();
        Completer::new(move |answer: Result<u8, Status>| tx.send(answer).expect("the receiver lives")).complete(Ok(7));
        assert_eq!(rx.iter().collect::<Vec<_>>(), [Ok(7)]);
    }

    #[test]
    fn a_forgotten_completer_answers_with_an_error() {
        let (tx, rx) = channel();
        drop(Completer::new(move |answer: Result<u8, Status>| tx.send(answer).expect("the receiver lives")));
        assert_eq!(rx.iter().collect::<Vec<_>>(), [Err(Status::ERROR)]);
    }
}
