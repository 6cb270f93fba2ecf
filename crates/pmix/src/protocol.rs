//! The protocol between a daemon and the process that runs libpmix for it, over a socket pair: [`Order`]s one way,
//! [`Report`]s the other, each a frame of a length and its postcard encoding. Both are of one build ([`BUILD`]). Pure.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::replies::{SendAnswer, answering};
use crate::{CalledBy, JobInfo, Notice, OutputChannel, Proc, Replies, ServerConfig, Status, Upcall};

/// Names the build; the process refuses a daemon that was built with another protocol.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "/10");

/// Exit code of a process that a daemon of another build has started.
pub const OTHER_BUILD: i32 = 3;

/// Largest frame (bytes); a longer length is an error. The largest frames contain the data of all processes of a node
/// in one fence.
pub const MAX_FRAME: usize = 1 << 30;

/// Size of the length in front of each frame (bytes).
const LENGTH: usize = 4;

/// Orders of the daemon.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Open the library and start its server. The first order, and given once.
    Start(ServerConfig),
    /// Make the directories of a job and tell the library of it. Answered by [`Report::Registered`].
    Register(Box<JobInfo>),
    /// Forget a job.
    Deregister(String),
    /// Forget the tools of a namespace, which have left. Answered by [`Report::Fetched`] with the number, when another
    /// tool of that name may come.
    Forget(u64, String),
    /// Define a process set with these members, and tell local processes of it.
    DefineSet(String, Vec<Proc>),
    /// Delete a process set, and tell local processes of it.
    DeleteSet(String),
    /// Get what a local process has published. Answered by [`Report::Fetched`] with the number.
    Fetch(u64, Proc),
    /// Hand output to the tools that read it. Answered by [`Report::Delivered`] with the number. The flag is true when
    /// tools pull the output of a job of others: then the answer comes when they can take more.
    Deliver(u64, Proc, OutputChannel, Bytes, bool),
    /// Send an event, if the library's major release is at least the given one.
    Notify(Box<Notice>, u32),
    /// Answer the request with that number.
    Answer(u64, Bytes),
    /// Say whether all was read that processes have sent before their ends. Answered by [`Report::HeardOut`] with the
    /// number, after the calls that were read.
    HearOut(u64),
    /// Say whether the library has no connection. Answered by [`Report::Idle`] with the number, once all orders before
    /// it are done.
    AskIdle(u64),
    /// Prove that the library's thread works. Answered by [`Report::Alive`] once all orders before it are done.
    Ping(u64),
}

/// Reports of the process.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// The tool that has started this launcher lets it go on. It comes before [`Report::Started`].
    Called(CalledBy),
    /// The library's server runs.
    Started,
    /// The library's server does not run, and will not: the reason in words.
    Failed(String),
    /// The library knows the job, or refuses it: its namespace, and the reason in words.
    Registered(String, Result<(), String>),
    /// The fetched data, with the order's number.
    Fetched(u64, Result<Bytes, Status>),
    /// The library has taken the output with that number, and its readers can take more.
    Delivered(u64),
    /// The library's thread works; the ping's number.
    Alive(u64),
    /// The answer to the order with that number: true when nothing was left to read.
    HeardOut(u64, bool),
    /// The answer to the order with that number: true when the library has no connection.
    Idle(u64, bool),
    /// A client calls.
    Upcall(Upcall),
}

/// The received bytes are no message of this protocol.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message that cannot be read")]
pub struct Unreadable;

/// Appends a frame with an order. False, and nothing is appended, when it is longer than [`MAX_FRAME`].
pub fn append_order(bytes: &mut Vec<u8>, order: &Order) -> bool {
    append(bytes, order)
}

/// A frame with a report. The completer of an upcall stays in `replies`. `None` when it is longer than [`MAX_FRAME`].
pub fn frame_report(report: &Report, replies: &Replies) -> Option<Vec<u8>> {
    replies.keeping(|| {
        let mut bytes = Vec::new();
        append(&mut bytes, report).then_some(bytes)
    })
}

fn append<T: Serialize>(bytes: &mut Vec<u8>, message: &T) -> bool {
    let start = bytes.len();
    bytes.extend([0; LENGTH]);
    let is_encoded = postcard::to_io(message, &mut *bytes).is_ok();
    let len = bytes.len() - start - LENGTH;
    match u32::try_from(len) {
        Ok(short) if is_encoded && len <= MAX_FRAME => {
            bytes[start..start + LENGTH].copy_from_slice(&short.to_le_bytes());
            true
        }
        _ => {
            bytes.truncate(start);
            false
        }
    }
}

/// Cuts a stream of bytes into messages.
#[derive(Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// Number of bytes that have been read.
    done: usize,
}

impl Frames {
    /// Returns the buffer, to which the caller appends received bytes.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        if self.done > 0 {
            self.bytes.drain(..self.done);
            self.done = 0;
        }
        &mut self.bytes
    }

    /// Returns the next order, if all of it is there.
    ///
    /// # Errors
    /// When the bytes are no order.
    pub fn order(&mut self) -> Result<Option<Order>, Unreadable> {
        self.next(|bytes| postcard::from_bytes(bytes))
    }

    /// Returns the next report, if all of it is there. Completers in it send their answers by `send`.
    ///
    /// # Errors
    /// When the bytes are no report.
    pub fn report(&mut self, send: &AnswerSender) -> Result<Option<Report>, Unreadable> {
        self.next(|bytes| answering(&send.0, || postcard::from_bytes(bytes)))
    }

    fn next<T>(&mut self, decode: impl FnOnce(&[u8]) -> Result<T, postcard::Error>) -> Result<Option<T>, Unreadable> {
        let rest = &self.bytes[self.done..];
        let Some((len, rest)) = rest.split_first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let len = u32::from_le_bytes(*len) as usize;
        if len > MAX_FRAME {
            return Err(Unreadable);
        }
        let Some(body) = rest.get(..len) else {
            return Ok(None);
        };
        let message = decode(body).map_err(|_| Unreadable)?;
        self.done += LENGTH + len;
        Ok(Some(message))
    }
}

/// Sends the answers of upcalls back to their process.
#[derive(Clone)]
pub struct AnswerSender(SendAnswer);

impl AnswerSender {
    /// `send` gets [`Order::Answer`]s, on any thread.
    pub fn new(send: impl Fn(Order) + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |number, answer| send(Order::Answer(number, answer))))
    }
}

/// Encodes paths as raw bytes.
pub(crate) mod path {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().as_bytes().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Vec::deserialize(deserializer).map(|bytes| OsString::from_vec(bytes).into())
    }
}

/// Decodes lists inside lists with a depth limit: the decoder is recursive, and the other side chooses the depth.
pub(crate) mod nested {
    use std::cell::Cell;

    use serde::{Deserialize, Deserializer};

    /// Largest depth, above the limit for the library's own arrays.
    const MAX_DEPTH: usize = 16;

    thread_local! {
        static DEPTH: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn deserialize<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de>,
    {
        let depth = DEPTH.get();
        if depth >= MAX_DEPTH {
            return Err(serde::de::Error::custom("lists are nested too deep"));
        }
        DEPTH.set(depth + 1);
        let all = Vec::deserialize(deserializer);
        DEPTH.set(depth);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::{Completer, Info, Value};

    fn report(frames: &mut Frames, send: &AnswerSender) -> Report {
        frames.report(send).expect("it is readable").expect("it is whole")
    }

    #[test]
    fn a_request_travels_and_its_answer_comes_back() {
        let (tx, rx) = channel();
        let reply = Completer::new(move |answer: Result<Bytes, Status>| tx.send(answer).expect("the test listens"));
        let upcall = Upcall::DirectModex { proc: Proc::new("f@1", 3), required_key: None, timeout_s: Some(5), reply };
        let replies = Replies::default();
        let bytes = frame_report(&Report::Upcall(upcall), &replies).expect("it is short");

        let (orders, sent) = channel();
        let send = AnswerSender::new(move |order| orders.send(order).expect("the test listens"));
        let mut frames = Frames::default();
        frames.buffer().extend(&bytes);
        let Report::Upcall(Upcall::DirectModex { proc, reply, .. }) = report(&mut frames, &send) else {
            panic!("another report");
        };
        assert_eq!(proc, Proc::new("f@1", 3));
        reply.complete(Ok(Bytes::from_static(b"data")));
        let Order::Answer(number, answer) = sent.recv().expect("it was answered") else { panic!("another order") };
        assert!(rx.try_recv().is_err());
        replies.answer(number, &answer);
        assert_eq!(rx.recv(), Ok(Ok(Bytes::from_static(b"data"))));
        replies.answer(number, &answer);
        assert!(rx.recv().is_err(), "it is answered once");
    }

    #[test]
    fn a_request_whose_answer_is_no_answer_fails() {
        let (tx, rx) = channel();
        let reply = Completer::new(move |answer: Result<String, Status>| tx.send(answer).expect("the test listens"));
        let upcall = Upcall::Spawn {
            proc: Proc::new("f@1", 0),
            info: Vec::new(),
            required: Vec::new(),
            apps: Vec::new(),
            reply,
        };
        let replies = Replies::default();
        frame_report(&Report::Upcall(upcall), &replies).expect("it is short");
        replies.answer(1, b"");
        assert_eq!(rx.recv(), Ok(Err(Status::ERROR)));
    }

    #[test]
    fn frames_are_found_wherever_they_are_cut() {
        let orders = [Order::Ping(7), Order::Deregister("f@1".into()), Order::Ping(8)];
        let mut bytes = Vec::new();
        assert!(orders.iter().all(|order| append_order(&mut bytes, order)));
        let mut frames = Frames::default();
        let mut found = Vec::new();
        for byte in bytes {
            frames.buffer().push(byte);
            while let Some(order) = frames.order().expect("it is readable") {
                found.push(format!("{order:?}"));
            }
        }
        assert_eq!(found, orders.map(|order| format!("{order:?}")));
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_no_message() {
        let mut frames = Frames::default();
        frames.buffer().extend(u32::MAX.to_le_bytes());
        assert_eq!(frames.order().map(drop), Err(Unreadable));

        let deep = (0..100).fold(Value::Bool(true), |value, _| Value::Infos(vec![Info { key: "k".into(), value }]));
        let notice = Notice {
            code: Status::ERROR,
            source: Proc::new("f@1", 0),
            to: crate::Audience::Node,
            info: vec![Info { key: "k".into(), value: deep }],
        };
        let mut frames = Frames::default();
        assert!(append_order(frames.buffer(), &Order::Notify(Box::new(notice), 0)));
        assert_eq!(frames.order().map(drop), Err(Unreadable));
    }
}
