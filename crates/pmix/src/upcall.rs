//! What clients and the library ask of the DVM, as owned values.

use serde::{Deserialize, Serialize};

use crate::{Completer, Info, Proc, Status, Value};

/// One request or note. It arrives on the library's thread: the receiver passes it on and returns at once. It travels
/// from the process of the library to the daemon with its completer, see [`crate::protocol`].
#[derive(Debug, Serialize, Deserialize)]
pub enum Upcall {
    /// A local process called PMIx_Init; it waits for the answer.
    ClientConnected {
        /// Who.
        proc: Proc,
        /// Lets it go on.
        reply: Completer<()>,
    },
    /// A local process called PMIx_Finalize. One that dies without it makes no upcall at all: only its exit tells.
    ClientFinalized {
        /// Who.
        proc: Proc,
        /// Lets it go on.
        reply: Completer<()>,
    },
    /// A local process called PMIx_Abort.
    Abort {
        /// Who asks.
        proc: Proc,
        /// The exit status that it wants.
        status: i32,
        /// Its reason, for the user.
        message: String,
        /// Who is to end; empty means the whole namespace of `proc`.
        targets: Vec<Proc>,
        /// Lets it go on (to its own exit).
        reply: Completer<()>,
    },
    /// All local participants entered a fence that has participants elsewhere. (A fence among local
    /// processes is completed by the library and makes no upcall.)
    Fence {
        /// Everyone who takes part; a rank may be [`Proc::WILDCARD`]. The order is the client's: sort before comparing.
        procs: Vec<Proc>,
        /// What the local participants contribute.
        data: Vec<u8>,
        /// The data of all is to be returned, concatenated; otherwise the answer is empty.
        collect: bool,
        /// The clients' deadline in seconds.
        timeout_s: Option<u32>,
        /// An error when a local participant is lost; the DVM should then fail the fence.
        local_status: Status,
        /// Takes the concatenation of every daemon's data.
        reply: Completer<Vec<u8>>,
    },
    /// A local process wants the data of one on another node.
    DirectModex {
        /// Whose data.
        proc: Proc,
        /// The answer may wait until this key is there.
        required_key: Option<String>,
        /// The client's deadline in seconds.
        timeout_s: Option<u32>,
        /// Takes what [`crate::Server::dmodex_get`] gave on that node.
        reply: Completer<Vec<u8>>,
    },
    /// All local participants called PMIx_Connect.
    Connect {
        /// Everyone who takes part.
        procs: Vec<Proc>,
        /// The clients' deadline in seconds.
        timeout_s: Option<u32>,
        /// Lets them go on.
        reply: Completer<()>,
    },
    /// All local participants called PMIx_Disconnect.
    Disconnect {
        /// Everyone who takes part.
        procs: Vec<Proc>,
        /// The clients' deadline in seconds.
        timeout_s: Option<u32>,
        /// Lets them go on.
        reply: Completer<()>,
    },
    /// A local process publishes values.
    Publish {
        /// Who.
        proc: Proc,
        /// The values, and among them how: `PMIX_RANGE`, `PMIX_PERSISTENCE`, `PMIX_USERID` and the like.
        info: Vec<Info>,
        /// Lets it go on.
        reply: Completer<()>,
    },
    /// A local process looks published values up.
    Lookup {
        /// Who.
        proc: Proc,
        /// The keys.
        keys: Vec<String>,
        /// How: `PMIX_RANGE`, `PMIX_WAIT`, `PMIX_TIMEOUT` and the like.
        info: Vec<Info>,
        /// Takes what was found; success with less than was asked for is possible.
        reply: Completer<Vec<Published>>,
    },
    /// A local process takes its published values back.
    Unpublish {
        /// Who.
        proc: Proc,
        /// The keys; none = all.
        keys: Vec<String>,
        /// How: `PMIX_RANGE`.
        info: Vec<Info>,
        /// Lets it go on.
        reply: Completer<()>,
    },
    /// A local process raised an event whose range reaches beyond this node. Already answered.
    Event {
        /// The event.
        code: Status,
        /// Who raised it.
        source: Proc,
        /// How far it is to go: a `PMIX_RANGE_*` number.
        range: u8,
        /// What comes with it.
        info: Vec<Info>,
    },
    /// A local process wants text printed by the launcher.
    Log {
        /// Who.
        proc: Proc,
        /// The text, in order; never empty.
        entries: Vec<LogEntry>,
        /// Lets it go on.
        reply: Completer<()>,
    },
    /// A local process asks for information about the DVM.
    Query {
        /// Who.
        proc: Proc,
        /// The questions.
        questions: Vec<Question>,
        /// Takes one info per answer.
        reply: Completer<Vec<Info>>,
    },
    /// A local process wants processes signalled, ended, ...
    JobControl {
        /// Who asks.
        proc: Proc,
        /// Whom it is about; empty means everything it may control.
        targets: Vec<Proc>,
        /// What to do.
        directives: Vec<Info>,
        /// Takes details, usually none.
        reply: Completer<Vec<Info>>,
    },
    /// A local process or a tool wants more of the machine, or less.
    Allocate {
        /// Who asks.
        proc: Proc,
        /// Which way: a `PMIX_ALLOC_*` number.
        directive: u8,
        /// How much of what.
        info: Vec<Info>,
        /// Keys in `info` that the asker insists on (`PMIX_INFO_REQD`): to be obeyed, or the whole refused.
        required: Vec<String>,
        /// Takes the identity of the allocation.
        reply: Completer<Vec<Info>>,
    },
    /// A local process or a tool has an order for a session. Only with libpmix 6.0 and later.
    SessionControl {
        /// Who asks.
        proc: Proc,
        /// Which; `u32::MAX` = all that it may control.
        session: u32,
        /// What to do.
        directives: Vec<Info>,
        /// Keys in `directives` that the asker insists on (`PMIX_INFO_REQD`): to be obeyed, or the whole refused.
        required: Vec<String>,
        /// Takes details, usually none.
        reply: Completer<Vec<Info>>,
    },
    /// A tool has connected. Only where the server was started with tool support.
    ToolConnected {
        /// What it says of itself: `PMIX_USERID`, and a name if it has one (`PMIX_NSPACE`, `PMIX_RANK`).
        info: Vec<Info>,
        /// Takes its name.
        reply: Completer<Proc>,
    },
    /// A tool, or a local process, wants a job started.
    Spawn {
        /// Who.
        proc: Proc,
        /// How.
        info: Vec<Info>,
        /// The keys among them that must be obeyed.
        required: Vec<String>,
        /// What.
        apps: Vec<App>,
        /// Takes the namespace of the new job.
        reply: Completer<String>,
    },
    /// A tool has something for the standard input of a job.
    PushStdin {
        /// Who.
        source: Proc,
        /// For whom.
        targets: Vec<Proc>,
        /// What; empty = the end.
        data: Vec<u8>,
        /// Lets it go on. The end is to be answered with [`Status::IOF_COMPLETE`].
        reply: Completer<()>,
    },
    /// The connection of a tool or a local process broke.
    Lost {
        /// Whose.
        proc: Proc,
    },
    /// A local process asked for something this wrapper does not pass on. Already answered with
    /// [`Status::NOT_SUPPORTED`]; for the log only.
    Refused {
        /// Who, where the library says so.
        proc: Option<Proc>,
        /// The service: `allocation`, `group`, ...
        service: String,
    },
}

/// A published value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Who published it.
    pub proc: Proc,
    /// Under which key.
    pub key: String,
    /// The value.
    pub value: Value,
}

/// One program of a job that is to be started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct App {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// `NAME=value` for its environment.
    pub env: Vec<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// Number of processes; 0 = not said.
    pub maxprocs: u32,
    /// More about it.
    pub info: Vec<Info>,
    /// The keys among that which must be obeyed.
    pub required: Vec<String>,
}

/// One text of a log request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Where it is to appear.
    pub channel: LogChannel,
    /// The text, as given: with or without a newline.
    pub text: String,
}

/// Where logged text is to appear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogChannel {
    /// The launcher's stdout.
    Stdout,
    /// The launcher's stderr.
    Stderr,
}

/// One element of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// What is wanted.
    pub keys: Vec<String>,
    /// Of what: a namespace, a host, ...
    pub qualifiers: Vec<Info>,
}
