//! The programs of the source trees, each with the end that it is to have.
//!
//! Called by the command `pmix-programs`. It knows no paths of this machine and runs nothing.

/// How a program is run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Run {
    /// As a job of so many processes, with these options of `prterun` and these arguments.
    Job(u32, &'static str, &'static str),
    /// As a tool beside a DVM, with these arguments.
    Tool(&'static str),
    /// As a tool that waits for the end of its DVM, beside a job whose name it gets.
    Attached,
    /// As a tool that starts `prterun` for a job of two processes of `hello` beside it, and directs that job.
    Directing,
    /// Not at all: the reason.
    Never(&'static str),
}

/// A program with the exit code that it is to have, and the reason for a code other than 0.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) directory: &'static str,
    pub(super) name: &'static str,
    pub(super) run: Run,
    /// On one node, and on two.
    pub(super) codes: [i32; 2],
    pub(super) why: &'static str,
    /// Another name under which it is built too, because it starts itself by that.
    pub(super) alias: Option<&'static str>,
    /// The first major release of the library for which this line is right.
    since: u32,
}

impl Program {
    const fn on_two(self, code: i32, why: &'static str) -> Program {
        let [one, _] = self.codes;
        Program { codes: [one, code], why, ..self }
    }

    const fn since(self, major: u32) -> Program {
        Program { since: major, ..self }
    }

    const fn alias(self, name: &'static str) -> Program {
        Program { alias: Some(name), ..self }
    }

    const fn remark(self, why: &'static str) -> Program {
        Program { why, ..self }
    }
}

/// A kind of source tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tree {
    Libpmix,
    Prrte,
}

impl Tree {
    pub(super) const ALL: [Tree; 2] = [Tree::Libpmix, Tree::Prrte];

    pub(super) fn name(self) -> &'static str {
        match self {
            Tree::Libpmix => "libpmix",
            Tree::Prrte => "PRRTE",
        }
    }

    /// A header that only this tree has.
    pub(super) fn header(self) -> &'static str {
        match self {
            Tree::Libpmix => "include/pmix.h",
            Tree::Prrte => "include/prte.h",
        }
    }

    /// The directories that have programs for users of a server.
    pub(super) fn directories(self) -> &'static [&'static str] {
        match self {
            Tree::Libpmix => &[E, S],
            Tree::Prrte => &[E, D],
        }
    }

    /// All lines of the tree, in the order of the table. Of several lines of one program the last one that is not for
    /// later releases of the library is right.
    pub(super) fn lines(self) -> &'static [Program] {
        match self {
            Tree::Libpmix => LIBPMIX,
            Tree::Prrte => PRRTE,
        }
    }

    /// The programs with a release of the library.
    pub(super) fn programs(self, major: u32) -> Vec<&'static Program> {
        let mut programs: Vec<&Program> = Vec::new();
        for line in self.lines().iter().filter(|line| line.since <= major) {
            match programs.iter_mut().find(|known| (known.directory, known.name) == (line.directory, line.name)) {
                Some(known) => *known = line,
                None => programs.push(line),
            }
        }
        programs
    }
}

const fn program(directory: &'static str, name: &'static str, run: Run, code: i32, why: &'static str) -> Program {
    Program { directory, name, run, codes: [code, code], why, alias: None, since: 0 }
}

const fn job(directory: &'static str, name: &'static str) -> Program {
    program(directory, name, JOB, 0, "")
}

const fn tool(directory: &'static str, name: &'static str, words: &'static str) -> Program {
    program(directory, name, Run::Tool(words), 0, "")
}

const fn never(directory: &'static str, name: &'static str, why: &'static str) -> Program {
    program(directory, name, Run::Never(why), 0, "")
}

/// The processes of a job, if nothing speaks for another number.
const FOUR: u32 = 4;
/// The usual job.
const JOB: Run = Run::Job(FOUR, "", "");
const E: &str = "examples";
const S: &str = "test/simple";
const D: &str = "examples/debugger";

const LIBPMIX: &[Program] = &[
    job(E, "abi_no_init"),
    program(E, "abi_no_init", JOB, 225, "libpmix answers no query of a program before its init").since(5),
    job(E, "abi_with_init"),
    never(E, "alloc", "its rank 0 asks for no nodes, and its rank 1 waits without a limit for the end of that"),
    job(E, "asyncgroup"),
    never(E, "asyncgroup", "libpmix never ends a fence of the name of a group that was made by invitation").since(5),
    job(E, "asyncgroup").since(7),
    program(E, "bad_exit", JOB, 1, "a process exits with 1"),
    job(E, "client"),
    job(E, "client2"),
    job(E, "client3"),
    tool(E, "debugger", ""),
    never(E, "debuggerd", "the debugger starts it"),
    job(E, "dmodex"),
    job(E, "dynamic"),
    program(E, "fault", JOB, 1, "rank 0 exits with 1"),
    job(E, "group"),
    job(E, "group_dmodex"),
    job(E, "group_lcl_cid"),
    job(E, "group_lcl_cid").remark("it takes the first result for the number, where libpmix has the name").since(5),
    job(E, "hello"),
    program(E, "jctrl", JOB, 0, "its checkpoint is refused: NOT-SUPPORTED"),
    never(E, "launcher", "it starts a launcher of its own as an intermediate"),
    job(E, "log"),
    program(E, "nodeinfo", JOB, 0, "it shows that coordinates of the fabric are not known"),
    never(E, "pmi1client", "it needs pmi.h, which libpmix-dev does not have"),
    program(E, "pset", Run::Job(FOUR, "--pset four", ""), 0, "it prints an array of names as if it were a text"),
    job(E, "pub"),
    job(E, "pubi"),
    job(E, "resolve").alias("node_map"),
    never(E, "server", "it is a server itself"),
    tool(E, "tool", ""),
    job(S, "asyncio"),
    never(
        S,
        "doubleget",
        "it crashes when it is faster than its partner; libpmix 4.2.2 does not wait for keys on one node",
    ),
    job(S, "get_put_example"),
    never(S, "gwclient", "it reads what the server `gwtest` has put"),
    never(S, "gwtest", "it is a server itself"),
    job(S, "hybrid"),
    job(S, "legacy"),
    program(S, "quietclient", JOB, 139, "it frees a value twice"),
    job(S, "quietclient").since(5),
    job(S, "simpclient").on_two(1, "it takes the data of another node for an error"),
    program(S, "simpcoord", JOB, 0, "it shows that coordinates of the fabric are not known"),
    job(S, "simpcycle"),
    program(S, "simpdie", JOB, 1, "rank 0 exits with 1"),
    program(S, "simpdmodex", Run::Job(FOUR, "", "--sleep 1"), 0, "")
        .on_two(1, "across nodes it asks for data of no rank"),
    program(S, "simpdmodex", Run::Job(FOUR, "", "--sleep 1"), 0, "across nodes it asks for data of no rank").since(5),
    never(S, "simpdyn", "its rank 0 connects to a child that does not connect, and the others wait for rank 0"),
    program(S, "simpfabric", Run::Job(1, "", ""), 0, "it is a server itself: several on a node meet each other"),
    program(S, "simpft", JOB, 227, "rank 0 calls PMIx_Abort with -29"),
    job(S, "simpio"),
    program(S, "simpjctrl", JOB, 209, "its checkpoint is refused: NOT-SUPPORTED"),
    job(S, "simppub"),
    job(S, "simpqual").remark("libpmix finds no qualified value of another process"),
    program(S, "simpqual", JOB, 229, "libpmix lets no process put a reserved key").since(7),
    never(S, "simpsched", "it is a server itself"),
    never(S, "simptest", "it is a server itself"),
    program(S, "simptimeout", JOB, 0, "its message about `PMIx_Get` stands under the wrong condition"),
    tool(S, "simptool", "").remark("it shows that its two made-up keys have no answer"),
    job(S, "simpvni"),
    never(S, "stability", "it is a server itself"),
    program(S, "test_pmix", JOB, 134, "it asserts that the rank of a process is an `int`"),
];

const PRRTE: &[Program] = &[
    never(E, "alloc", "it does not state the number of its qualifiers, and its library reads past them"),
    program(E, "bad_exit", JOB, 1, "a process exits with 1"),
    job(E, "client"),
    job(E, "client-threaded"),
    job(E, "client2"),
    program(E, "colocate", Run::Job(1, "", ""), 0, ""),
    program(E, "daemon_error_notify", JOB, 137, "rank 3 kills the daemon of its node")
        .on_two(1, "rank 3 kills the daemon of its node"),
    job(E, "dmodex"),
    job(E, "dynamic").on_two(1, "it expects all processes on its own node"),
    program(E, "error_notify", JOB, 129, "rank 2 kills itself with SIGHUP; the event that it waits for is not of that"),
    program(E, "fault", JOB, 1, "rank 0 exits with 1"),
    job(E, "hello"),
    job(E, "jctrl").remark("its checkpoint is refused: NOT-SUPPORTED"),
    never(E, "launcher", "it starts a program that is not there, and waits without a limit for its end"),
    job(E, "legacy"),
    job(E, "log"),
    job(E, "nodeid"),
    never(E, "pmi1client", "it needs pmi.h, which libpmix-dev does not have"),
    program(E, "probe", Run::Job(FOUR, "", "nobody@1"), 0, "it shows that there is no job of that name"),
    program(E, "pset", Run::Job(FOUR, "--pset four", ""), 1, "it does not finalize"),
    job(E, "pub"),
    never(E, "server", "it is a server itself"),
    program(E, "showkeys", Run::Job(2, "", ""), 0, ""),
    never(E, "target", "it sleeps for 100 s"),
    tool(E, "tool", ""),
    program(D, "attach", Run::Attached, 0, ""),
    program(D, "attach", Run::Attached, 255, "its own library refuses its query").since(7),
    never(D, "daemon", "the debuggers start it"),
    tool(D, "direct", "--stop-in-init"),
    tool(D, "direct-multi", "--stop-in-init"),
    job(D, "hello"),
    program(D, "indirect", Run::Directing, 0, ""),
    program(D, "indirect-multi", Run::Directing, 0, ""),
    never(D, "mpihello", "it is a program of MPI, not of PMIx"),
    job(D, "stdincheck"),
];
