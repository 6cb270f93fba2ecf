//! The guard: the process that looks after the real head or daemon, and the front process that the user sees.
//!
//! The guard only waits. It passes on the signals that it gets; when the real process is dead, for whatever reason, the
//! guard ends all remaining processes below it, removes the remaining files, and exits with the real process's status.
//! It can do so because it is a subreaper: every orphan below it becomes its child. The kernel in turn tells the real
//! process (parent-death signal) when the guard is killed, and the real process leaves in order.
//!
//! Schedulers, `timeout` and CI systems kill whole process groups, so guard and real process never share one. A process
//! that no shell waits for leads a session of its own; it becomes the guard, and its child gets a group of its own. A
//! waiting shell needs a process of its own group, and the process that reads the terminal has to be in that group too.
//! So three processes stand in a row: the *front* (the process that was started), the guard, in a session of its own,
//! and the head, which is back in the group of the front:
//!
//! ```text
//! shell -- front ------------- guard -- head -- processes of jobs
//!          [group of the shell's job]   [same group as the front]
//!                              [session of its own]
//! ```
//!
//! The death of the front is a signal to the guard. When the guard is killed, the head becomes a child of the front,
//! which is a subreaper as well. When front and head are killed together, the guard remains.
//!
//! Ctrl-Z: the terminal stops only the front, which the shell waits for. The head gets the signal as well and forwards
//! it to the job; it keeps listening, so that the DVM stays whole while the job sleeps. `fg` wakes both.
//!
//! All of this happens before any thread or runtime exists: `fork` is safe only then.
#![allow(unsafe_code)]

mod leftovers;
#[cfg(test)]
mod tests;

use std::ffi::CStr;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use ferrite_types as types;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg, socketpair,
};
use rustix::process::{Pid, Signal};

use leftovers::Leftovers;

use crate::extension;

/// Time in which the remaining processes of the real process are ended; after it they are given up.
const SWEEP_LIMIT: Duration = Duration::from_secs(10);
/// Time for the resource manager to take back the nodes that it has granted.
const MANAGER_LIMIT: Duration = Duration::from_secs(30);
/// Time for daemons and heads below this process to clean up after themselves.
const ORDERLY_LIMIT: Duration = Duration::from_secs(3);

/// The data that the guard needs before the fork.
pub(crate) struct Guarded {
    /// The command's name, for messages.
    pub(crate) tool: String,
    /// Name of the DVM: part of the names of files that belong to it.
    pub(crate) dvm: String,
    /// The session directory; it need not exist.
    pub(crate) session_dir: PathBuf,
    /// The session directory for PMIx tools, which may be the same.
    pub(crate) tools: PathBuf,
    /// True when the guard must not keep any of the three standard streams open.
    pub(crate) silent: bool,
    /// True when a shell waits for the process that calls [`enter`] and may signal its whole group. Otherwise that
    /// process leads a session.
    pub(crate) is_waited_for: bool,
}

/// The guard's name in the process table. It differs from its command's, so that `killall prterun` spares it.
pub(crate) const GUARD_NAME: &CStr = c"ferrite-guard";

/// Splits into guard and real process, with a front when a shell waits. Returns in the real process only.
///
/// # Errors
/// When no process can be made.
pub(crate) fn enter(guarded: &Guarded) -> io::Result<Keeper> {
    let (keeper, kept) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    let watched = watched_signals();
    let before = block(&watched);
    let post = Post { guarded, watched, born: SystemTime::now(), _kept: kept };
    let mut front = None;
    if guarded.is_waited_for {
        adopt_orphans()?;
        let (told, tell) = io::pipe()?;
        let own = rustix::process::getpid();
        if let Some(guard) = fork()? {
            drop((keeper, tell));
            post.stand_in_front_of(guard, told);
        }
        follow(own)?;
        front = Some(tell);
    }
    adopt_orphans()?;
    let guard = rustix::process::getpid();
    match fork()? {
        Some(child) => {
            drop((keeper, front));
            post.guard(child)
        }
        None => {
            drop(post);
            if let Some(mut front) = front {
                // The head sends its own pid, so that the front knows it whenever the guard is killed. A dead front
                // does not need it.
                let _ = front.write_all(&rustix::process::getpid().as_raw_nonzero().get().to_ne_bytes());
            }
            follow(guard)?;
            adopt_orphans()?;
            if !guarded.is_waited_for {
                rustix::process::setpgid(None, None)?;
            }
            set_mask(&before);
            Ok(Keeper(Some(keeper)))
        }
    }
}

/// Makes this process the parent of every orphan below it.
fn adopt_orphans() -> io::Result<()> {
    let done = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    done.map_err(|error| io::Error::other(format!("the kernel does not let it adopt orphans ({error})")))
}

/// Asks the kernel to tell this process to leave when its parent dies.
fn follow(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    // The parent may have died before that call.
    if rustix::process::getppid() != Some(parent) {
        exit_now(1);
    }
    Ok(())
}

/// Connections that the real process hands to its guard: the kernel keeps them open until the guard is gone as well.
#[derive(Debug)]
pub(crate) struct Keeper(Option<OwnedFd>);

impl Keeper {
    /// Makes a keeper that keeps nothing.
    pub(crate) fn none() -> Keeper {
        Keeper(None)
    }

    /// Hands over a connection: its other side sees it close when neither process is left. False when the guard cannot
    /// keep it.
    pub(crate) fn hold(&self, connection: BorrowedFd<'_>) -> bool {
        let Some(keeper) = &self.0 else { return false };
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        let connections = [connection];
        rights.push(SendAncillaryMessage::ScmRights(&connections));
        // The descriptor lies in the queue of the guard's end, which the guard never reads.
        sendmsg(keeper, &[io::IoSlice::new(&[0])], &mut rights, SendFlags::NOSIGNAL).is_ok()
    }
}

/// Forks; returns the child's id in the parent, `None` in the child. Call this only while the process has one thread.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: called before any other thread exists (module doc), so the child owns every lock of the parent.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        child => Ok(Pid::from_raw(child)),
    }
}

/// The child that gets the signals of this process, after [`fork_and_pass_on`].
static SIGNALLED: AtomicI32 = AtomicI32::new(0);

/// Forks like [`fork`]. A signal that would end the parent goes to the child instead, so that the parent lives until it
/// has waited for the child.
pub(crate) fn fork_and_pass_on() -> io::Result<Option<Pid>> {
    extern "C" fn to_child(signal: i32) {
        // SAFETY: `kill` is async-signal-safe; the child is not reaped before this process exits.
        unsafe { libc::kill(SIGNALLED.load(Ordering::Relaxed), signal) };
    }
    let endings = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];
    let before = block(&set_of(&endings));
    let forked = fork();
    if let Ok(Some(child)) = &forked {
        SIGNALLED.store(child.as_raw_nonzero().get(), Ordering::Relaxed);
        for signal in endings.into_iter().filter(|signal| !is_ignored(types::Signal(*signal))) {
            // SAFETY: the handler makes one system call that is allowed in handlers.
            unsafe { libc::signal(signal, to_child as extern "C" fn(i32) as libc::sighandler_t) };
        }
    }
    set_mask(&before);
    forked
}

/// Ends the process without running exit handlers, because those of foreign libraries take time.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` has no preconditions; nothing of ours is buffered.
    unsafe { libc::_exit(code) }
}

/// True when this process was started with the signal ignored (`nohup`).
pub(crate) fn is_ignored(signal: types::Signal) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with no new action the call only fills in `action`, which is large enough; zeros are a valid value.
    unsafe {
        libc::sigaction(signal.0, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Ignores a signal in this process.
pub(crate) fn ignore(signal: types::Signal) {
    // SAFETY: `SIG_IGN` installs no handler that could run our code.
    unsafe { libc::signal(signal.0, libc::SIG_IGN) };
}

/// Makes a helper process die with this one, protects it from the terminal's signals and gives it a group of its own.
pub(crate) fn tie(command: &mut Command) {
    tie_by(Signal::KILL, command);
}

/// Like [`tie`], but the helper gets this signal when this process dies.
pub(crate) fn tie_by(signal: Signal, command: &mut Command) {
    let parent = rustix::process::getpid();
    let child_side = move || {
        rustix::process::setsid()?;
        rustix::process::set_parent_process_death_signal(Some(signal))?;
        if rustix::process::getppid() != Some(parent) {
            return Err(rustix::io::Errno::SRCH.into());
        }
        for signal in [libc::SIGTTIN, libc::SIGTTOU, libc::SIGHUP, libc::SIGINT] {
            // SAFETY: `signal` is async-signal-safe and `SIG_DFL` installs no handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only; it neither allocates nor locks, so a process
    // with several threads may do it.
    unsafe { command.pre_exec(child_side) };
}

fn watched_signals() -> libc::sigset_t {
    let mut numbers = vec![libc::SIGTERM, libc::SIGQUIT, libc::SIGINT, libc::SIGTSTP, libc::SIGCONT];
    numbers.extend(crate::signals::FORWARDABLE.iter().map(|(_, signal)| signal.0));
    // After `nohup` SIGHUP stays ignored: a blocked signal would be taken by the guard.
    numbers.extend([libc::SIGHUP].into_iter().filter(|s| !is_ignored(types::Signal(*s))));
    numbers.push(libc::SIGCHLD);
    set_of(&numbers)
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `sigemptyset` initialises the set before the first `sigaddset`; the numbers are valid signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

/// Blocks these signals; returns the mask before.
fn block(set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: both sets are valid for the call; zeros are a valid set should it fail.
    unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, set, before.as_mut_ptr());
        before.assume_init()
    }
}

fn set_mask(set: &libc::sigset_t) {
    // SAFETY: the set came from `block`.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, set, std::ptr::null_mut()) };
}

/// The data that a process needs to watch another one.
struct Post<'a> {
    guarded: &'a Guarded,
    watched: libc::sigset_t,
    born: SystemTime,
    /// The guard's end of the [`Keeper`].
    _kept: OwnedFd,
}

impl Post<'_> {
    /// Runs as the guard until the child's end.
    fn guard(&self, child: Pid) -> ! {
        if self.guarded.is_waited_for {
            // This comes after the fork: the child stays in the session of the terminal that it may read. It cannot
            // fail, because this process leads no group.
            let _ = rustix::process::setsid();
        }
        let _ = rustix::thread::set_name(GUARD_NAME);
        let_go_of_stdio(self.guarded.silent);
        let status = self.wait_for_end(child, !self.guarded.is_waited_for, reap_all);
        self.finish(child, status)
    }

    /// Runs as the front, the process that a shell waits for. The head tells its pid through the pipe.
    fn stand_in_front_of(&self, guard: Pid, mut told: io::PipeReader) -> ! {
        let_go_of_stdio(self.guarded.silent);
        // The children are reaped one by one: a head that dies with its guard must not be taken for an orphan.
        let alone = |child| ended(child).ok().flatten();
        let status = self.wait_for_end(guard, true, alone);
        if status >= 0 {
            exit_now(status);
        }
        // The guard was killed, and the processes below it are below the front now. The head notices and leaves in
        // order.
        let mut head = [0; 4];
        let head = told.read_exact(&mut head).ok().and_then(|()| Pid::from_raw(i32::from_ne_bytes(head)));
        let real = head.unwrap_or(guard);
        let status = match head.map(|head| (head, ended(head))) {
            Some((_, Ok(Some(status)))) => status,
            Some((head, Ok(None))) => self.wait_for_end(head, true, alone),
            // There is no head below this process.
            Some((_, Err(_))) | None => status,
        };
        self.finish(real, status)
    }

    /// Passes signals on until `reap` says that the child is dead; returns its exit code, negative for a signal.
    fn wait_for_end(&self, child: Pid, stops_with_job: bool, reap: impl Fn(Pid) -> Option<i32>) -> i32 {
        loop {
            let (signal, code) = self.next_signal();
            match signal {
                libc::SIGCHLD => {
                    if let Some(status) = reap(child) {
                        return status;
                    }
                }
                libc::SIGTSTP if stops_with_job => {
                    pass_on(child, signal, code);
                    // SAFETY: stops this process until somebody continues it.
                    unsafe { libc::raise(libc::SIGSTOP) };
                }
                signal if signal > 0 => pass_on(child, signal, code),
                _ => {}
            }
        }
    }

    /// Waits for a signal; returns its number and its origin (`si_code`).
    fn next_signal(&self) -> (i32, i32) {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: set and info are valid for the call; the field read is set for every signal, and zero is one of its
        // values.
        unsafe {
            let signal = libc::sigwaitinfo(&self.watched, info.as_mut_ptr());
            (signal, info.assume_init().si_code)
        }
    }

    /// Ends remaining processes, removes remaining files, and exits as the real process did.
    fn finish(&self, real: Pid, status: i32) -> ! {
        let mut leftovers = Leftovers::new(self.guarded, self.born);
        sweep(&mut leftovers);
        // A head that has ended in order has given everything back, and its directory is gone.
        if let Some(command) = extension::left_behind(&self.guarded.session_dir) {
            end_manager_jobs(&command);
        }
        leftovers.remove();
        crate::memory_limit::remove_groups(real.as_raw_nonzero().get().unsigned_abs());
        if status >= 0 {
            exit_now(status);
        }
        let signal = -status;
        let text = format!(
            "{} was killed by signal {signal}. Its processes on this node have been ended and its files removed.",
            self.guarded.tool
        );
        crate::notice::print(&text);
        exit_now(128 + signal)
    }
}

/// Passes a signal on, unless the terminal sent it: the terminal signals the whole foreground group, so the child has
/// it already and must not count Ctrl-C twice.
fn pass_on(child: Pid, signal: i32, code: i32) {
    const FROM_KERNEL: i32 = 0x80;
    let harmless_twice = [libc::SIGTERM, libc::SIGHUP].contains(&signal);
    if code == FROM_KERNEL && !harmless_twice {
        return;
    }
    if let Some(signal) = Signal::from_named_raw(signal) {
        let _ = rustix::process::kill_process(child, signal);
    }
}

/// Reaps all ended children; returns the exit code when `child` was among them, negative for a signal.
fn reap_all(child: Pid) -> Option<i32> {
    let mut found = None;
    while let Ok(Some((pid, status))) = rustix::process::wait(rustix::process::WaitOptions::NOHANG) {
        if pid == child {
            found = code_of(status);
        }
    }
    found
}

/// Returns the exit code of that child if it has ended, negative for a signal. An error when it is not a child of this
/// process.
fn ended(child: Pid) -> rustix::io::Result<Option<i32>> {
    let status = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::NOHANG)?;
    Ok(status.and_then(|(_, status)| code_of(status)))
}

fn code_of(status: rustix::process::WaitStatus) -> Option<i32> {
    status.exit_status().or_else(|| status.terminating_signal().map(|s| -s))
}

/// Gives the nodes that the resource manager granted to a dead head back, within a time limit.
fn end_manager_jobs(words: &[String]) {
    let Some((program, arguments)) = words.split_first() else { return };
    let mut command = Command::new(program);
    command.args(arguments).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    extension::command::clean(&mut command);
    let Ok(mut child) = command.spawn() else { return };
    let began = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if began.elapsed() > MANAGER_LIMIT {
            let _ = child.kill();
            return;
        }
        wait_for_a_child(Duration::from_millis(20));
    }
}

/// Ends every process below this one.
fn sweep(leftovers: &mut Leftovers) {
    let began = Instant::now();
    let mut asked = Vec::new();
    loop {
        match rustix::process::wait(rustix::process::WaitOptions::NOHANG) {
            Ok(Some(_)) => continue,
            Ok(None) => {}
            Err(_) => return,
        }
        if began.elapsed() > SWEEP_LIMIT {
            return;
        }
        for child in leftovers::children(rustix::process::getpid()) {
            let has_time = began.elapsed() < ORDERLY_LIMIT;
            let orderly = has_time && leftovers::cleans_up_itself(child);
            if has_time && leftovers::ends_with_the_head(child) {
                continue;
            }
            if !orderly {
                end_tree(child, leftovers);
            } else if !asked.contains(&child) {
                let _ = rustix::process::kill_process(child, Signal::TERM);
                asked.push(child);
            }
        }
        wait_for_a_child(Duration::from_millis(5));
    }
}

/// Ends a process tree, parents first: a parent that sees its child die may start another.
fn end_tree(pid: Pid, leftovers: &mut Leftovers) {
    leftovers.note_mappings(pid);
    let children = leftovers::children(pid);
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    for child in children {
        end_tree(child, leftovers);
    }
}

fn wait_for_a_child(limit: Duration) {
    let limit = libc::timespec { tv_sec: 0, tv_nsec: i64::from(limit.subsec_nanos()) };
    let set = set_of(&[libc::SIGCHLD]);
    // SAFETY: set and limit are valid for the call; SIGCHLD is blocked since `enter`, so it is waited for, not handled.
    unsafe { libc::sigtimedwait(&set, std::ptr::null_mut(), &limit) };
}

/// Closes standard streams, so that a writer to standard input sees when the real process stops reading.
fn let_go_of_stdio(all: bool) {
    let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") else {
        return;
    };
    let _ = rustix::stdio::dup2_stdin(&null);
    if all {
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}
