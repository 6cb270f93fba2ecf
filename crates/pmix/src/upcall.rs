//! Calls of clients and of the library to the DVM, as owned values.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{Completer, Info, Proc, Status, Value};

/// One request or note. It arrives on the library's thread: the receiver passes it on and returns at once. It travels
/// from the process of the library to the daemon with its completer, see [`crate::protocol`].
#[derive(Debug, Serialize, Deserialize)]
pub enum Upcall {
    /// A local process called PMIx_Init; it waits for the answer.
    ClientConnected {
        /// The process that connects.
        proc: Proc,
        /// Lets the process continue.
        reply: Completer<()>,
    },
    /// A local process called PMIx_Finalize. One that dies without it makes no upcall at all: only its exit tells.
    ClientFinalized {
        /// The process that finalizes.
        proc: Proc,
        /// Lets the process continue.
        reply: Completer<()>,
    },
    /// A local process called PMIx_Abort.
    Abort {
        /// The process that requests the abort.
        proc: Proc,
        /// The exit status that it wants.
        status: i32,
        /// Its reason, for the user.
        message: String,
        /// The processes to end; empty means the whole namespace of `proc`.
        targets: Vec<Proc>,
        /// Lets it go on (to its own exit).
        reply: Completer<()>,
    },
    /// All local participants entered a fence that has participants elsewhere. (A fence among local
    /// processes is completed by the library and makes no upcall.)
    Fence {
        /// All participants; a rank may be [`Proc::WILDCARD`]. The order is the client's: sort before comparing.
        procs: Vec<Proc>,
        /// The contribution of the local participants.
        data: Bytes,
        /// The data of all is to be returned, concatenated; otherwise the answer is empty.
        collect: bool,
        /// The clients' deadline in seconds.
        timeout_s: Option<u32>,
        /// An error when a local participant is lost; the DVM should then fail the fence.
        local_status: Status,
        /// Takes the concatenation of every daemon's data.
        reply: Completer<Bytes>,
    },
    /// A local process wants the data of one on another node.
    DirectModex {
        /// The process that owns the data.
        proc: Proc,
        /// The answer may wait until this key is there.
        required_key: Option<String>,
        /// The client's deadline in seconds.
        timeout_s: Option<u32>,
        /// Takes the result of [`crate::Server::dmodex_get`] on that node.
        reply: Completer<Bytes>,
    },
    /// All local participants called PMIx_Connect.
    Connect {
        /// All participants.
        procs: Vec<Proc>,
        /// The clients' deadline in seconds.
        timeout_s: Option<u32>,
        /// Lets the participants continue.
        reply: Completer<()>,
    },
    /// All local participants called PMIx_Disconnect.
    Disconnect {
        /// All participants.
        procs: Vec<Proc>,
        /// The clients' deadline in seconds.
        timeout_s: Option<u32>,
        /// Lets the participants continue.
        reply: Completer<()>,
    },
    /// All local members of a group called PMIx_Group_construct or PMIx_Group_destruct. (A group of local processes
    /// that want no number is made by the library and makes no upcall.)
    Group {
        /// True to make the group, false to end it.
        makes: bool,
        /// Its name.
        name: String,
        /// All members.
        procs: Vec<Proc>,
        /// Directives of the first local member, and the data of the local members.
        info: Vec<Info>,
        /// The clients' deadline in seconds.
        timeout_s: Option<u32>,
        /// An error when a local member is lost; the DVM should then fail the operation.
        local_status: Status,
        /// Takes the number of the group, and the data of all members.
        reply: Completer<Vec<Info>>,
    },
    /// A local process publishes values.
    Publish {
        /// The publishing process.
        proc: Proc,
        /// The values, and directives among them: `PMIX_RANGE`, `PMIX_PERSISTENCE`, `PMIX_USERID` and the like.
        info: Vec<Info>,
        /// Lets the process continue.
        reply: Completer<()>,
    },
    /// A local process looks published values up.
    Lookup {
        /// The process that looks values up.
        proc: Proc,
        /// The keys.
        keys: Vec<String>,
        /// Directives: `PMIX_RANGE`, `PMIX_WAIT`, `PMIX_TIMEOUT` and the like.
        info: Vec<Info>,
        /// Takes the found values; success with fewer than all keys is possible.
        reply: Completer<Vec<Published>>,
    },
    /// A local process takes its published values back.
    Unpublish {
        /// The process that takes values back.
        proc: Proc,
        /// The keys; none = all.
        keys: Vec<String>,
        /// Directives: `PMIX_RANGE`.
        info: Vec<Info>,
        /// Lets the process continue.
        reply: Completer<()>,
    },
    /// A local process or tool raised an event whose range reaches beyond this node; the library has told this node.
    /// Already answered.
    Event {
        /// The event.
        code: Status,
        /// The process that raised it.
        source: Proc,
        /// The event's range: a `PMIX_RANGE_*` number.
        range: u8,
        /// Further data of the event.
        info: Vec<Info>,
    },
    /// A local process wants text logged.
    Log {
        /// The requesting process.
        proc: Proc,
        /// The texts for channels that this wrapper knows, in order.
        entries: Vec<LogEntry>,
        /// Keys of further channels that this wrapper does not know.
        others: Vec<String>,
        /// How it is to be logged: `PMIX_LOG_ONCE` and the like.
        directives: Vec<Info>,
        /// The keys in `directives` that must be obeyed.
        required: Vec<String>,
        /// Lets the process continue.
        reply: Completer<()>,
    },
    /// A local process asks for information about the DVM.
    Query {
        /// The requesting process.
        proc: Proc,
        /// The questions.
        questions: Vec<Question>,
        /// Takes one info per answer; fewer than all keys are a partial success.
        reply: Completer<Vec<Info>>,
    },
    /// A local process asks to be watched, or no longer (PMIx_Process_monitor).
    Monitor {
        /// The requesting process.
        proc: Proc,
        /// The thing to be watched.
        monitor: Info,
        /// The code of the event that tells of it.
        code: Status,
        /// The manner in which it is to be watched.
        directives: Vec<Info>,
        /// Lets the process continue, without details.
        reply: Completer<Vec<Info>>,
    },
    /// A local process requests signals for processes, their end, ...
    JobControl {
        /// The requesting process.
        proc: Proc,
        /// The affected processes; empty means all that it may control.
        targets: Vec<Proc>,
        /// The operations.
        directives: Vec<Info>,
        /// The keys in `directives` that must be obeyed.
        required: Vec<String>,
        /// Takes details, usually none.
        reply: Completer<Vec<Info>>,
    },
    /// A local process or a tool wants more of the machine, or less.
    Allocate {
        /// The requesting process or tool.
        proc: Proc,
        /// The kind of change: a `PMIX_ALLOC_*` number.
        directive: u8,
        /// The amounts and terms of the request.
        info: Vec<Info>,
        /// Keys in `info` that the requester insists on (`PMIX_INFO_REQD`): unless all are obeyed, the whole request is
        /// refused.
        required: Vec<String>,
        /// Takes the identity of the allocation.
        reply: Completer<Vec<Info>>,
    },
    /// A local process or a tool has an order for a session. Only with libpmix 6.0 and later.
    SessionControl {
        /// The requesting process or tool.
        proc: Proc,
        /// The session's number; `u32::MAX` = all that it may control.
        session: u32,
        /// The operation and its details.
        directives: Vec<Info>,
        /// Keys in `directives` that the requester insists on (`PMIX_INFO_REQD`): unless all are obeyed, the whole
        /// request is refused.
        required: Vec<String>,
        /// Takes details, usually none.
        reply: Completer<Vec<Info>>,
    },
    /// A tool has connected. Only where the server was started with tool support.
    ToolConnected {
        /// Its description of itself: `PMIX_USERID`, and a name if it has one (`PMIX_NSPACE`, `PMIX_RANK`).
        info: Vec<Info>,
        /// Takes its name.
        reply: Completer<Proc>,
    },
    /// A tool, or a local process, wants a job started.
    Spawn {
        /// The requesting process or tool.
        proc: Proc,
        /// Infos of the whole job.
        info: Vec<Info>,
        /// The keys among them that must be obeyed.
        required: Vec<String>,
        /// The programs of the job.
        apps: Vec<App>,
        /// Takes the namespace of the new job.
        reply: Completer<String>,
    },
    /// A tool sends bytes for the standard input of a job.
    PushStdin {
        /// The sending tool.
        source: Proc,
        /// The processes that get them.
        targets: Vec<Proc>,
        /// The bytes; empty = the end.
        data: Bytes,
        /// Lets the tool continue. The end is to be answered with [`Status::IOF_COMPLETE`].
        reply: Completer<()>,
    },
    /// A tool asks for the output of processes, or no longer. Already answered: an answer that comes later
    /// makes libpmix 4.2.2 wait for a lock of its own. The library does not say which tool asks.
    PullOutput {
        /// The processes, of jobs of this DVM.
        from: Vec<Proc>,
        /// True for standard output.
        stdout: bool,
        /// True for standard error.
        stderr: bool,
        /// True at the end of an earlier pull.
        stops: bool,
    },
    /// The connection of a tool or a local process broke.
    Lost {
        /// The process or tool behind the connection.
        proc: Proc,
    },
    /// A local process called a service that this wrapper does not offer. Already answered with
    /// [`Status::NOT_SUPPORTED`]; for the log only.
    Refused {
        /// The calling process, if the library names it.
        proc: Option<Proc>,
        /// The service: `allocation`, `group`, ...
        service: String,
    },
}

/// A published value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// The process that published it.
    pub proc: Proc,
    /// The key that it was published under.
    pub key: String,
    /// The value.
    pub value: Value,
}

/// One program of a job that is to be started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct App {
    /// Program (`cmd`, or the first word of `argv` without one) and arguments.
    pub argv: Vec<String>,
    /// The first word of `argv`, when it is not the program's.
    pub arg0: Option<String>,
    /// `NAME=value` for its environment.
    pub env: Vec<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// Number of processes; 0 = not said.
    pub maxprocs: u32,
    /// Further infos of the program.
    pub info: Vec<Info>,
    /// The keys in `info` that must be obeyed.
    pub required: Vec<String>,
}

/// One text of a log request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Where it appears.
    pub channel: LogChannel,
    /// The text, as given: with or without a newline. That of an e-mail is among `mail`.
    pub text: String,
    /// An e-mail: its text, addresses and the like.
    pub mail: Vec<Info>,
}

/// The place where logged text appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogChannel {
    /// The launcher's stdout.
    Stdout,
    /// The launcher's stderr.
    Stderr,
    /// The system's log of the caller's node.
    Syslog,
    /// The system's log of the DVM.
    GlobalSyslog,
    /// The job record.
    JobRecord,
    /// An e-mail.
    Email,
}

/// One element of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The requested keys.
    pub keys: Vec<String>,
    /// The subject of the question: a namespace, a host, ...
    pub qualifiers: Vec<Info>,
    /// The keys in `qualifiers` that must be obeyed.
    pub required: Vec<String>,
}
