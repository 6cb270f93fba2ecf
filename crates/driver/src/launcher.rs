//! Launcher processes: each is `ssh`, another agent, or `prted` itself and starts one daemon, or is a step of a
//! resource manager's job that starts several. The ticket goes to its standard input, the end of its output is kept for
//! the error message, and it dies with this process.

mod tail;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use ferrite_core::{HeadInput, Input};
use ferrite_rm::{LaunchCommand, Manners};
use ferrite_types::{self as types, DaemonRank, ExitStatus};
use ferrite_wire::Ticket;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::Notify;
use zeroize::{Zeroize, Zeroizing};

use tail::{TAIL, Tail};

use crate::extension::command as manager;
use crate::secret::Secret;
use crate::stdio::watched;
use crate::{Inbox, guard, notice, params};

const DEFAULT_CONCURRENT: u64 = 128;
/// Times for a step at the end of the DVM: to end by itself, and to end after it is told to.
const STEP_ENDS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(1)];

/// All launcher processes. Use this within a `LocalSet`.
pub(crate) struct Launcher {
    shared: Rc<Shared>,
}

struct Shared {
    inbox: Inbox,
    /// Key of the DVM, which every ticket contains.
    key: Rc<Secret>,
    /// Largest number of processes at a time; the others wait.
    limit: usize,
    /// True when starts and ends of launchers are told (`plm_base_verbose`), and with their commands.
    tells: bool,
    tells_commands: bool,
    /// True when their output is shown as it comes (`--debug-daemons`).
    echo: bool,
    state: RefCell<State>,
    /// Signals that a running launcher has ended.
    one_ended: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Launch>,
    running: BTreeMap<DaemonRank, (Pid, Manners)>,
}

struct Launch {
    rank: DaemonRank,
    command: LaunchCommand,
    ticket: Box<Ticket>,
}

impl Launcher {
    pub(crate) fn new(inbox: Inbox, parameters: &[(String, String)], key: Rc<Secret>) -> Launcher {
        let limit = params::number(parameters, "plm_ssh_num_concurrent");
        let limit = limit.filter(|n| *n > 0).unwrap_or(DEFAULT_CONCURRENT);
        Launcher {
            shared: Rc::new(Shared {
                inbox,
                key,
                limit: usize::try_from(limit).unwrap_or(usize::MAX),
                tells: params::tells(parameters, "plm_base_verbose", 1),
                tells_commands: params::tells(parameters, "plm_base_verbose", 5),
                echo: stays_attached(parameters),
                state: RefCell::default(),
                one_ended: Notify::new(),
            }),
        }
    }

    /// Starts a launcher, or queues it; `LauncherEnded` follows.
    pub(crate) fn launch(&mut self, rank: DaemonRank, command: LaunchCommand, ticket: Box<Ticket>) {
        self.shared.state.borrow_mut().waiting.push_back(Launch { rank, command, ticket });
        self.shared.start_waiting();
    }

    /// Ends the launcher of this daemon; no report follows.
    pub(crate) fn abandon(&mut self, rank: DaemonRank) {
        let mut state = self.shared.state.borrow_mut();
        state.waiting.retain(|launch| launch.rank != rank);
        if let Some((pid, manners)) = state.running.remove(&rank) {
            end(pid, manners);
        }
        drop(state);
        self.shared.start_waiting();
    }

    /// Ends all launchers. A step ends by itself with the last of its daemons, which have left by now. It is waited
    /// for, because without its end the manager takes it for alive for seconds.
    pub(crate) async fn close(&mut self) {
        let state = &self.shared.state;
        state.borrow_mut().waiting.clear();
        state.borrow_mut().running.retain(|_, (pid, manners)| {
            if !manners.stays() {
                end(*pid, *manners);
            }
            manners.stays()
        });
        for limit in STEP_ENDS {
            if tokio::time::timeout(limit, self.shared.all_ended()).await.is_ok() {
                return;
            }
            state.borrow().running.values().for_each(|(pid, manners)| end(*pid, *manners));
        }
    }
}

/// True when daemons keep their standard streams, and so the launcher's.
pub(crate) fn stays_attached(parameters: &[(String, String)]) -> bool {
    ["prte_debug_daemons", "prte_leave_session_attached"].iter().any(|name| params::is_on(parameters, name))
}

fn end(leader: Pid, manners: Manners) {
    // A step ends its tasks elsewhere; if that takes too long, the guard ends it.
    let signal = if manners.stays() { Signal::TERM } else { Signal::KILL };
    // The signal goes to the whole group: agents are often scripts around the real one.
    let _ = rustix::process::kill_process_group(leader, signal);
}

impl Shared {
    fn start_waiting(self: &Rc<Self>) {
        loop {
            let mut state = self.state.borrow_mut();
            let agents = state.running.values().filter(|(_, manners)| !manners.stays()).count();
            if agents >= self.limit {
                return;
            }
            let Some(launch) = state.waiting.pop_front() else {
                return;
            };
            drop(state);
            self.start(launch);
        }
    }

    fn start(self: &Rc<Self>, launch: Launch) {
        let Launch { rank, command, mut ticket } = launch;
        if self.tells {
            let what = if self.tells_commands { command.argv.join(" ") } else { command.argv[..1].join(" ") };
            notice::write_stderr(&format!("plm: daemon {rank} is started by {what}\n"));
        }
        match Running::start(&command) {
            Ok(running) => {
                let pid = running.pid;
                self.state.borrow_mut().running.insert(rank, (pid, command.manners));
                let shared = Rc::clone(self);
                tokio::task::spawn_local(async move {
                    let tasks_ended = |nodes, message| {
                        let _ =
                            shared.inbox.send(Input::Head(HeadInput::TasksEnded { launcher: rank, nodes, message }));
                    };
                    let (status, message) = running.finish(&mut ticket, &shared.key, shared.echo, tasks_ended).await;
                    shared.ended(rank, pid, status, message);
                });
            }
            Err(error) => self.report(rank, None, not_started(&command.argv, &error)),
        }
    }

    async fn all_ended(&self) {
        while !self.state.borrow().running.is_empty() {
            self.one_ended.notified().await;
        }
    }

    fn ended(self: &Rc<Self>, rank: DaemonRank, pid: Pid, status: ExitStatus, message: String) {
        if self.tells {
            notice::write_stderr(&format!("plm: the launcher of daemon {rank} has ended with {}\n", shown(status)));
        }
        let mut state = self.state.borrow_mut();
        // A missing entry means that the launcher was abandoned.
        if state.running.get(&rank).is_some_and(|(running, _)| *running == pid) {
            state.running.remove(&rank);
            drop(state);
            self.one_ended.notify_one();
            self.report(rank, Some(status), message);
        } else {
            drop(state);
        }
        self.start_waiting();
    }

    fn report(&self, rank: DaemonRank, status: Option<ExitStatus>, message: String) {
        let _ = self.inbox.send(Input::LauncherEnded { rank, status, message });
    }
}

fn shown(status: ExitStatus) -> String {
    match status {
        ExitStatus::Exited(code) => format!("exit code {code}"),
        ExitStatus::Signaled(signal) => format!("signal {signal}"),
    }
}

fn not_started(command: &[String], error: &io::Error) -> String {
    let program = command.first().map_or("", String::as_str);
    match error.kind() {
        io::ErrorKind::NotFound => format!("{program:?} was not found"),
        _ => format!("{program:?} could not be started: {error}"),
    }
}

/// One launcher process.
struct Running {
    pid: Pid,
    manners: Manners,
    child: Child,
    ended: AsyncFd<OwnedFd>,
    output: pipe::Receiver,
}

impl Running {
    fn start(command: &LaunchCommand) -> io::Result<Running> {
        let (program, arguments) =
            command.argv.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no command"))?;
        // One pipe serves both streams: some shells write errors to standard output.
        let (output, theirs) = io::pipe()?;
        let manners = command.manners;
        let mut command = Command::new(program);
        if manners == Manners::Step {
            manager::clean(&mut command);
        }
        command.args(arguments).stdin(Stdio::piped()).stdout(theirs.try_clone()?).stderr(theirs);
        // SIGINT ends a `srun` whose step does not run yet. A running step goes on: it ends with its daemons.
        let farewell = if manners == Manners::Step { Signal::INT } else { Signal::KILL };
        guard::tie_by(farewell, &mut command);
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let ended = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
        let output = pipe::Receiver::from_owned_fd(output.into())?;
        Ok(Running { pid, manners, child, ended: watched(ended)?, output })
    }

    /// Writes to the launcher, reads its output and waits for its end. While a step runs on, the end of its tasks is
    /// reported with their nodes.
    async fn finish(
        mut self,
        ticket: &mut Ticket,
        key: &Secret,
        echo: bool,
        tasks_ended: impl Fn(Vec<String>, String),
    ) -> (ExitStatus, String) {
        let input = self.child.stdin.take();
        let feeding = feed(input, ticket, key);
        tokio::pin!(feeding);
        let (mut fed, mut open) = (false, true);
        let mut tail = Tail::new(echo);
        let mut buffer = [0; TAIL];
        loop {
            tokio::select! {
                biased;
                _ = self.ended.readable() => break,
                () = &mut feeding, if !fed => fed = true,
                read = self.output.read(&mut buffer), if open => match read {
                    Ok(n) if n > 0 => {
                        tail.push(&buffer[..n]);
                        for nodes in tail.ended_tasks(self.manners) {
                            tasks_ended(nodes, tail.text(self.manners));
                        }
                    }
                    _ => open = false,
                },
            }
        }
        // Output from before its end is in the pipe; remaining children may keep the pipe open for ever.
        while let Ok(n @ 1..) = self.output.try_read(&mut buffer) {
            tail.push(&buffer[..n]);
        }
        (self.reap(), tail.text(self.manners))
    }

    fn reap(&mut self) -> ExitStatus {
        // This does not block: the pidfd said that it has ended.
        match self.child.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => ExitStatus::Exited(code as u8),
                (None, signal) => ExitStatus::Signaled(signal.map_or(types::Signal::KILL, types::Signal)),
            },
            // Another owner has reaped it; its exit status is unknown, but not orderly.
            Err(_) => ExitStatus::Exited(255),
        }
    }
}

/// Writes the ticket and closes the pipe. An error needs no report: a launcher that does not read fails by itself.
async fn feed(input: Option<std::process::ChildStdin>, ticket: &mut Ticket, key: &Secret) {
    let Some(Ok(mut pipe)) = input.map(|i| pipe::Sender::from_owned_fd(i.into())) else {
        return;
    };
    ticket.key = **key;
    let bytes = Zeroizing::new(ticket.encode());
    ticket.key.zeroize();
    if let Err(error) = pipe.write_all(&bytes).await {
        tracing::debug!(rank = %ticket.rank, %error, "the launcher did not take its ticket");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use ferrite_types::RankSet;
    use ferrite_wire::Contact;
    use tokio::sync::mpsc;
    use tokio::task::LocalSet;

    use super::*;

    fn ticket(padding: usize) -> Box<Ticket> {
        Box::new(Ticket {
            dvm: "x".repeat(padding),
            key: Ticket::NO_KEY,
            rank: DaemonRank(1),
            node: "n1".to_owned(),
            group: Vec::new(),
            stays: false,
            size: 2,
            joins: false,
            dead: RankSet::new(),
            radix: 64,
            home: DaemonRank(0),
            contact: Contact(Vec::new()),
            params: Vec::new(),
            program: Vec::new(),
            subtree: Vec::new(),
            cwd: String::new(),
            connect_ms: 1000,
            served: None,
        })
    }

    fn shell(script: &str) -> LaunchCommand {
        LaunchCommand { argv: ["sh", "-c", script].map(String::from).to_vec(), manners: Manners::Agent }
    }

    fn run(limit: &str, test: impl AsyncFnOnce(&mut Launcher, &mut mpsc::UnboundedReceiver<Input>)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (inbox, mut outbox) = mpsc::unbounded_channel();
        LocalSet::new().block_on(&runtime, async {
            let params = [("plm_ssh_num_concurrent".to_owned(), limit.to_owned())];
            let mut launcher = Launcher::new(inbox, &params, Rc::new(Secret::taken_from(&mut [3; 32]).unwrap()));
            test(&mut launcher, &mut outbox).await;
        });
    }

    async fn ended(outbox: &mut mpsc::UnboundedReceiver<Input>) -> (DaemonRank, Option<ExitStatus>, String) {
        let input = tokio::time::timeout(Duration::from_secs(20), outbox.recv()).await;
        match input {
            Ok(Some(Input::LauncherEnded { rank, status, message })) => (rank, status, message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn status_and_end_of_the_output_are_reported() {
        run("8", async |launcher, outbox| {
            let script = "seq 1 5000; echo 'Permission denied (publickey).' >&2; exit 255";
            launcher.launch(DaemonRank(1), shell(script), ticket(1));
            let (_, status, message) = ended(outbox).await;
            assert_eq!(status, Some(ExitStatus::Exited(255)));
            assert!(message.ends_with("Permission denied (publickey)."));
            assert!(message.len() <= TAIL && message.starts_with("4"));
        });
    }

    #[test]
    fn a_ticket_larger_than_a_pipe_arrives_whole() {
        run("8", async |launcher, outbox| {
            launcher.launch(DaemonRank(1), shell("wc -c"), ticket(3_000_000));
            let (_, status, message) = ended(outbox).await;
            assert_eq!(status, Some(ExitStatus::Exited(0)));
            assert_eq!(message, ticket(3_000_000).encode().len().to_string());
        });
    }

    #[test]
    fn a_ticket_gets_its_key_on_the_way_to_the_launcher() {
        run("8", async |launcher, outbox| {
            let sent = Ticket { key: [3; 32], ..*ticket(1) }.encode();
            let digits: String = sent.iter().map(|byte| format!("{byte:02x}")).collect();
            launcher.launch(DaemonRank(1), shell("od -An -v -tx1 | tr -d ' \\n'"), ticket(1));
            let (_, _, message) = ended(outbox).await;
            assert_eq!(message, digits);
        });
    }

    #[test]
    fn a_missing_agent_is_reported_and_not_started() {
        run("8", async |launcher, outbox| {
            let command = LaunchCommand { argv: vec!["no-such-agent".to_owned()], manners: Manners::Agent };
            launcher.launch(DaemonRank(4), command, ticket(1));
            let (rank, status, message) = ended(outbox).await;
            assert_eq!((rank, status), (DaemonRank(4), None));
            assert_eq!(message, "\"no-such-agent\" was not found");
        });
    }

    fn step(script: &str) -> LaunchCommand {
        LaunchCommand { manners: Manners::Step, ..shell(script) }
    }

    #[test]
    fn a_step_is_waited_for_and_told_to_end_when_it_does_not() {
        run("8", async |launcher, outbox| {
            let ended_by_itself = "cat > /dev/null; sleep 0.2; echo over";
            launcher.launch(DaemonRank(1), step(ended_by_itself), ticket(1));
            launcher.launch(DaemonRank(2), step("trap 'echo told; exit 3' TERM; echo up; sleep 100 & wait"), ticket(1));
            launcher.launch(DaemonRank(3), shell("sleep 100"), ticket(1));
            launcher.close().await;
            let (first, second) = (ended(outbox).await, ended(outbox).await);
            assert_eq!((first.0, first.2.as_str()), (DaemonRank(1), "over"));
            assert_eq!((second.1, second.2.as_str()), (Some(ExitStatus::Exited(3)), "up\ntold"));
        });
    }

    #[test]
    fn a_step_that_goes_on_tells_of_the_end_of_its_tasks() {
        run("8", async |launcher, outbox| {
            let script = "cat > /dev/null; printf 'srun: error: n2: ta'; sleep 0.1; echo 'sk 1: Killed'; sleep 100";
            launcher.launch(DaemonRank(1), step(script), ticket(1));
            match outbox.recv().await {
                Some(Input::Head(HeadInput::TasksEnded { launcher: DaemonRank(1), nodes, message })) => {
                    assert_eq!((nodes, message.as_str()), (vec!["n2".to_owned()], "srun: error: n2: task 1: Killed"));
                }
                other => panic!("{other:?}"),
            }
            launcher.abandon(DaemonRank(1));
        });
    }

    #[test]
    fn no_more_run_at_a_time_than_allowed() {
        run("2", async |launcher, outbox| {
            let began = Instant::now();
            for rank in 1..=4 {
                launcher.launch(DaemonRank(rank), shell("sleep 0.2"), ticket(1));
            }
            for _ in 1..=4 {
                ended(outbox).await;
            }
            assert!(began.elapsed() >= Duration::from_millis(400));
        });
    }

    #[test]
    fn an_abandoned_launcher_dies_with_its_children_in_silence() {
        run("1", async |launcher, outbox| {
            let dir = tempfile::tempdir().unwrap();
            let file = dir.path().join("pid");
            let script = format!("sleep 100 & echo $! > {}; wait", file.display());
            launcher.launch(DaemonRank(1), shell(&script), ticket(1));
            launcher.launch(DaemonRank(2), shell("exit 3"), ticket(1));
            let pid = loop {
                match std::fs::read_to_string(&file) {
                    Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            };
            launcher.abandon(DaemonRank(1));
            let (rank, ..) = ended(outbox).await;
            assert_eq!(rank, DaemonRank(2));
            tokio::time::sleep(Duration::from_millis(50)).await;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            assert!(stat.is_err() || stat.is_ok_and(|s| s.contains(") Z ")));
            assert!(outbox.try_recv().is_err());
        });
    }

    #[test]
    fn what_a_launcher_leaves_running_does_not_hold_up_its_end() {
        run("8", async |launcher, outbox| {
            let began = Instant::now();
            launcher.launch(DaemonRank(1), shell("sleep 3 & exit 0"), ticket(1));
            let (_, status, _) = ended(outbox).await;
            assert_eq!(status, Some(ExitStatus::Exited(0)));
            assert!(began.elapsed() < Duration::from_secs(2));
        });
    }
}
