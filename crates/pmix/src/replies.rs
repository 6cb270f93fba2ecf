//! Completers whose requests are in another process. A completer cannot be sent, so a number is sent in its place: the
//! process of the library keeps the completer under it ([`Replies`]), and the daemon gets one that sends the answer
//! with that number back.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Completer, Status};

/// Takes an answer, as bytes.
type Waiting = Box<dyn FnOnce(&[u8]) + Send>;
/// Sends an answer to the process that keeps its completer.
pub(crate) type SendAnswer = Arc<dyn Fn(u64, Bytes) + Send + Sync>;

thread_local! {
    /// Completers of the message that this thread encodes.
    static LEAVING: RefCell<Option<Table>> = const { RefCell::new(None) };
    /// Sends the answers of the completers in the message that this thread decodes.
    static ARRIVING: RefCell<Option<SendAnswer>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Table {
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
}

/// The completers that wait for an answer from the other process. Dropping it answers all of them with an error.
#[derive(Default)]
pub struct Replies(Mutex<Table>);

impl Replies {
    /// Runs `encode`, and keeps the completers of the encoded message. Those of a message that cannot be encoded answer
    /// with an error.
    pub(crate) fn keeping<T>(&self, encode: impl FnOnce() -> Option<T>) -> Option<T> {
        let mut table = self.table();
        let before = table.next;
        LEAVING.set(Some(std::mem::take(&mut *table)));
        let encoded = encode();
        *table = LEAVING.take().unwrap_or_default();
        if encoded.is_none() {
            let lost = table.waiting.split_off(&(before + 1));
            // An answer may call this table again.
            drop(table);
            drop(lost);
        }
        encoded
    }

    /// Gives an answer. An unknown number was answered before.
    pub fn answer(&self, number: u64, answer: &[u8]) {
        let waiting = self.table().waiting.remove(&number);
        if let Some(waiting) = waiting {
            waiting(answer);
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `decode`; the completers of the decoded message answer by `send`.
pub(crate) fn answering<T>(send: &SendAnswer, decode: impl FnOnce() -> T) -> T {
    ARRIVING.set(Some(Arc::clone(send)));
    let decoded = decode();
    ARRIVING.set(None);
    decoded
}

impl<T: DeserializeOwned + 'static> Serialize for Completer<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = LEAVING.with_borrow_mut(|table| {
            let table = table.as_mut()?;
            let completer = self.depart();
            table.next += 1;
            let give = move |answer: &[u8]| {
                completer.complete(postcard::from_bytes(answer).unwrap_or(Err(Status::ERROR)));
            };
            table.waiting.insert(table.next, Box::new(give));
            Some(table.next)
        });
        number.ok_or_else(|| serde::ser::Error::custom("nobody keeps the completers"))?.serialize(serializer)
    }
}

impl<'de, T: Serialize + 'static> Deserialize<'de> for Completer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        let send = ARRIVING.with_borrow(Clone::clone);
        let send = send.ok_or_else(|| serde::de::Error::custom("nobody takes the answers"))?;
        Ok(Completer::new(move |answer: Result<T, Status>| {
            // An answer that cannot be encoded becomes an error for the waiting client; plain values always can.
            send(number, postcard::to_stdvec(&answer).unwrap_or_default().into());
        }))
    }
}
