//! Starts processes; no other module does. [`crate::children`] calls it and owns the result.
//!
//! The child shares this process's memory until it executes its program (as with `vfork`), so that a start costs the
//! same however large the daemon is, and an error comes back as plain data. Everything is prepared before: between
//! clone and exec the child neither allocates nor locks nor searches.

mod elf;
mod environ;
mod limits;
mod lookup;
mod memory;

use std::borrow::Cow;
use std::ffi::{CString, OsStr, c_char, c_int, c_ulong, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use ferrite_core::SpawnRequest;
use ferrite_map::device_env;
use ferrite_types::CpuSet;
use ferrite_wire::{StartError, StartErrorKind};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Resource, Rlimit, WaitIdOptions, getrlimit, setrlimit};

use crate::{install, params};
use environ::Environ;
use limits::Limit;
pub(crate) use lookup::executable;
pub(crate) use memory::MemoryPolicy;

/// Size of the child's stack (bytes) for the system calls between clone and exec. Measured use is below 2 KiB.
const STACK_BYTES: usize = 128 * 1024;

/// Starts processes, one at a time.
pub(crate) struct Spawner {
    common: Arc<Common>,
    /// Never read or cleared by us, so that its pages are used only as far as the child needs them.
    stack: Box<[MaybeUninit<u128>]>,
}

/// The data that hold for all processes.
struct Common {
    inherited: Environ<'static>,
    null: OwnedFd,
    nofile: Rlimit,
    memory: Option<MemoryPolicy>,
    /// Command that starts each process; empty = none.
    agent: Vec<String>,
    /// The parameter that names it, for messages.
    agent_of: String,
    limits: Vec<Limit>,
    /// The signals that a child sets back to their defaults.
    signals: Vec<c_int>,
    /// The parameter that asks for them, for messages.
    limits_of: String,
}

/// A process that runs its program, and our ends of its pipes.
pub(crate) struct Started {
    pub(crate) pid: Pid,
    /// Becomes readable when the process has ended.
    pub(crate) pidfd: OwnedFd,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: Option<OwnedFd>,
}

impl Spawner {
    /// Takes this process's environment, as it is now, for new processes.
    /// Parameters `odls_base_exec_agent`, `prte_set_max_sys_limits`, `ferrite_prefix` and `ferrite_pmix_prefix` hold
    /// for all of them.
    pub(crate) fn new(memory: Option<MemoryPolicy>, parameters: &[(String, String)]) -> io::Result<Spawner> {
        let mut inherited = Environ::inherited();
        for op in install::env(parameters) {
            inherited.apply(&op);
        }
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let common = Common {
            inherited,
            null,
            nofile: raise_descriptor_limit(),
            memory,
            agent: params::value(parameters, "odls_base_exec_agent").map(words).unwrap_or_default(),
            agent_of: params::label(parameters, "odls_base_exec_agent"),
            limits_of: params::label(parameters, "prte_set_max_sys_limits"),
            signals: to_set_back(),
            limits: limits::asked_for(params::value(parameters, "prte_set_max_sys_limits").unwrap_or_default()),
        };
        Ok(Spawner::with(Arc::new(common)))
    }

    fn with(common: Arc<Common>) -> Spawner {
        Spawner { common, stack: Box::new_uninit_slice(STACK_BYTES / size_of::<u128>()) }
    }

    /// Makes another one for another thread, so that both can start a process at the same time.
    pub(crate) fn sibling(&self) -> Spawner {
        Spawner::with(Arc::clone(&self.common))
    }

    /// Starts a process. Returns when its program runs or the start has failed. The system kills the process when this
    /// *thread* ends (PR_SET_PDEATHSIG).
    pub(crate) fn start(
        &mut self,
        request: &SpawnRequest,
        extra_env: &[(String, String)],
        extra_fds: &[(RawFd, OwnedFd)],
        group: Option<&OwnedFd>,
    ) -> Result<Started, StartError> {
        let common = &*self.common;
        let agent = match &request.agent {
            Some(words) => Agent { words, of: "--exec-agent" },
            None => Agent { words: &common.agent, of: &common.agent_of },
        };
        let image = Image::prepare(&common.inherited, request, extra_env, &agent)?;
        let pipes = Pipes::open(request)?;
        let moves = Moves::plan(&common.null, &pipes, extra_fds)?;
        let cpus = request.cpus.as_ref().map(affinity_mask);
        let memory = common.memory.as_ref().zip(request.cpus.as_ref()).and_then(|(policy, cpus)| policy.request(cpus));
        let (argv, shell_argv, envp) = (image.argv(), image.shell_argv(), image.envp());
        let mut order = Order {
            program: image.program.as_ptr(),
            argv: argv.as_ptr(),
            shell: c"/bin/sh".as_ptr(),
            shell_argv: shell_argv.as_ptr(),
            envp: envp.as_ptr(),
            directory: image.directory.as_ptr(),
            moves: moves.list.as_ptr(),
            move_count: moves.list.len(),
            cpus: cpus.as_ref().map_or(ptr::null(), |m| m.as_ptr()),
            cpus_bytes: cpus.as_ref().map_or(0, |m| m.len() * size_of::<u64>()),
            memory_mode: memory.as_ref().map_or(libc::MPOL_DEFAULT, |m| m.mode),
            memory_mask: memory.as_ref().map_or(ptr::null(), |m| m.mask.as_ptr()),
            memory_bits: memory.as_ref().map_or(0, memory::MemoryRequest::bits),
            parent: rustix::process::getpid().as_raw_nonzero().get(),
            nofile: libc::rlimit {
                rlim_cur: common.nofile.current.unwrap_or(libc::RLIM_INFINITY),
                rlim_max: common.nofile.maximum.unwrap_or(libc::RLIM_INFINITY),
            },
            group: group.map_or(-1, |group| group.as_raw_fd()),
            limits: common.limits.as_ptr(),
            limit_count: common.limits.len(),
            signals: common.signals.as_ptr(),
            signal_count: common.signals.len(),
            traceable: request.traceable,
            stopped: request.stopped,
            failure: None,
        };
        let (pid, pidfd) = clone_child(&mut order, &mut self.stack).map_err(|e| system("clone", &e))?;
        if let Some((step, errno)) = order.failure {
            // The child is dead already, and only this code knows of it.
            let wait = rustix::process::waitid(rustix::process::WaitId::Pid(pid), WaitIdOptions::EXITED);
            debug_assert!(wait.is_ok(), "the child was ours and not reaped");
            let error = io::Error::from_raw_os_error(errno);
            return Err(match step {
                Step::Limit(at) => {
                    system(&format!("setting the limit {} of {}", common.limits[at], common.limits_of), &error)
                }
                step => image.explain(step, &error),
            });
        }
        if request.stopped {
            leave_stopped(pid);
        }
        Ok(pipes.started(pid, pidfd))
    }
}

/// Raises the limit of descriptors for this process, which needs up to four for each child; the usual soft limit is
/// 1024. Children get the former limit, because some programs close every descriptor up to the limit.
fn raise_descriptor_limit() -> Rlimit {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    if let Err(e) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!("the limit of open files stays as it is: {e}");
    }
    before
}

/// The signals that may not have their defaults here: any with a name, and the real-time signals that whoever started
/// this process has ignored. None of ours handles those.
#[allow(unsafe_code)]
fn to_set_back() -> Vec<c_int> {
    const FIRST_REALTIME: c_int = 32;
    let is_changed = |signal: &c_int| {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: with no new action the call only fills in `action`, and zeros are a valid value of it.
        unsafe {
            libc::sigaction(*signal, ptr::null(), action.as_mut_ptr()) == 0
                && action.assume_init().sa_sigaction != libc::SIG_DFL
        }
    };
    let named = (1..FIRST_REALTIME).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal));
    named.chain((FIRST_REALTIME..=64).filter(is_changed)).collect()
}

/// The command that starts a process, and what names it.
struct Agent<'a> {
    words: &'a [String],
    of: &'a str,
}

/// The program to execute, as the C strings of the system call.
struct Image<'a> {
    program: CString,
    directory: CString,
    args: Vec<CString>,
    env: Vec<Cow<'a, [u8]>>,
    cpus: Option<CpuSet>,
}

impl<'a> Image<'a> {
    fn prepare(
        inherited: &'a Environ<'static>,
        request: &SpawnRequest,
        extra_env: &[(String, String)],
        agent: &Agent<'_>,
    ) -> Result<Image<'a>, StartError> {
        let mut env = inherited.derived();
        for (name, value) in extra_env {
            env.set(name, value);
        }
        for op in &request.env {
            env.apply(op);
        }
        let wdir = lookup::directory(&request.wdir, request.wdir_given, env.value("HOME"))?;
        env.set("PWD", &wdir.to_string_lossy());
        env.set("PRTE_LAUNCHED", "1");
        let set = |name: &str| env.value(name).map(|value| String::from_utf8_lossy(value).into_owned());
        let devices = device_env(&request.devices, set);
        let devices = devices.map_err(|e| StartError { kind: StartErrorKind::System, detail: e.to_string() })?;
        devices.iter().for_each(|(name, value)| env.set(name, value));
        let name = request.argv.first().map_or("", String::as_str);
        let path = request.path.as_ref().map(|p| p.as_bytes());
        let mut program = lookup::executable(name, path.or_else(|| env.value("PATH")), &wdir)?;
        let found = program.clone();
        let mut args: Vec<&[u8]> = Vec::new();
        if let Some(first) = agent.words.first() {
            let missing = |e: StartError| StartError { detail: format!("{}: {}", agent.of, e.detail), ..e };
            program = lookup::executable(first, env.value("PATH"), &wdir).map_err(missing)?;
            args.extend(agent.words.iter().map(String::as_bytes));
            // The agent may look elsewhere, so it is told what was found here.
            args.push(found.as_os_str().as_bytes());
        } else {
            args.extend(request.arg0.as_ref().or(request.argv.first()).map(String::as_bytes));
        }
        args.extend(request.argv.iter().skip(1).map(String::as_bytes));
        let args = args.into_iter().map(c_string);
        Ok(Image {
            program: c_string(program.as_os_str().as_bytes())?,
            directory: c_string(wdir.as_os_str().as_bytes())?,
            args: args.collect::<Result<_, _>>()?,
            env: env.into_entries().map_err(|entry| no_nul(&entry))?,
            cpus: request.cpus.clone(),
        })
    }

    fn argv(&self) -> Vec<*const c_char> {
        pointers(self.args.iter().map(|s| s.as_ptr()))
    }

    /// Builds the arguments with which `execvp` runs a script without `#!`.
    fn shell_argv(&self) -> Vec<*const c_char> {
        let head = [c"/bin/sh".as_ptr(), self.program.as_ptr()];
        let rest = pointers(self.args.iter().skip(1).map(|s| s.as_ptr()));
        head.into_iter().chain(rest).collect()
    }

    fn envp(&self) -> Vec<*const c_char> {
        pointers(self.env.iter().map(|entry| entry.as_ptr().cast()))
    }

    /// Explains the failure of a step in the child.
    fn explain(&self, step: Step, error: &io::Error) -> StartError {
        let show = |s: &CString| Path::new(OsStr::from_bytes(s.as_bytes())).display().to_string();
        match step {
            Step::Directory => {
                StartError { kind: StartErrorKind::Directory, detail: format!("{}: {error}", show(&self.directory)) }
            }
            Step::Exec => match error.raw_os_error() {
                // The cause is the arguments, the table of processes or the memory, not the file.
                Some(libc::E2BIG | libc::EAGAIN | libc::ENOMEM | libc::ENFILE) => {
                    system(&format!("executing {}", show(&self.program)), error)
                }
                Some(libc::ENOEXEC) => StartError {
                    kind: StartErrorKind::Executable,
                    detail: elf::not_for_this_node(Path::new(OsStr::from_bytes(self.program.as_bytes()))),
                },
                // The lookup found the file, so the missing file is its interpreter.
                Some(libc::ENOENT) => StartError {
                    kind: StartErrorKind::Executable,
                    detail: format!("{}: its interpreter does not exist", show(&self.program)),
                },
                _ => {
                    StartError { kind: StartErrorKind::Executable, detail: format!("{}: {error}", show(&self.program)) }
                }
            },
            Step::Affinity => {
                let cpus = self.cpus.as_ref().map(ToString::to_string).unwrap_or_default();
                let what = format!("binding to hardware threads {cpus}");
                match error.raw_os_error() {
                    Some(libc::EINVAL) => StartError {
                        kind: StartErrorKind::System,
                        detail: format!(
                            "{what}: this node has none of them that may be used; \
                             hwloc_use_topo_file may describe another machine (--bind-to none does without)"
                        ),
                    },
                    _ => system(&what, error),
                }
            }
            Step::Memory => system("taking memory from the domains that the process is bound in", error),
            Step::ControlGroup => system("entering the control group that limits its memory", error),
            Step::Limit(_) => system("setting a limit", error),
            Step::Group => system("setpgid", error),
            Step::DeathSignal => system("prctl(PR_SET_PDEATHSIG)", error),
            Step::Descriptors => system("dup2", error),
            Step::Trace => system("ptrace (for a stop before the first instruction)", error),
        }
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn c_string(bytes: &[u8]) -> Result<CString, StartError> {
    CString::new(bytes).map_err(|_| no_nul(bytes))
}

fn no_nul(bytes: &[u8]) -> StartError {
    StartError {
        kind: StartErrorKind::System,
        detail: format!("a NUL byte in {:?} cannot be passed to a program", String::from_utf8_lossy(bytes)),
    }
}

/// A list of pointers that ends as the system call wants it.
fn pointers(strings: impl Iterator<Item = *const c_char>) -> Vec<*const c_char> {
    strings.chain([ptr::null()]).collect()
}

fn system(what: &str, error: &io::Error) -> StartError {
    StartError { kind: StartErrorKind::System, detail: format!("{what}: {error}") }
}

fn affinity_mask(cpus: &CpuSet) -> Vec<u64> {
    let mut mask = Vec::new();
    for cpu in cpus.iter() {
        let word = cpu as usize / 64;
        if mask.len() <= word {
            mask.resize(word + 1, 0);
        }
        mask[word] |= 1u64 << (cpu % 64);
    }
    mask
}

/// Both ends of the pipes of one process.
struct Pipes {
    stdin: Option<(OwnedFd, OwnedFd)>,
    stdout: (OwnedFd, OwnedFd),
    stderr: Option<(OwnedFd, OwnedFd)>,
}

impl Pipes {
    fn open(request: &SpawnRequest) -> Result<Pipes, StartError> {
        let pipe = || {
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| system("making a pipe", &e.into()))
        };
        Ok(Pipes {
            stdin: request.stdin.then(pipe).transpose()?,
            stdout: pipe()?,
            stderr: (!request.merge_stderr).then(pipe).transpose()?,
        })
    }

    /// Keeps our ends and closes the child's, so that the end of the process is the end of its output.
    fn started(self, pid: Pid, pidfd: OwnedFd) -> Started {
        Started {
            pid,
            pidfd,
            stdin: self.stdin.map(|(_, write)| write),
            stdout: self.stdout.0,
            stderr: self.stderr.map(|(read, _)| read),
        }
    }
}

/// Pairs of a descriptor and its number in the child. Every source lies above every target, so that no move overwrites
/// the source of a later one.
struct Moves {
    list: Vec<(RawFd, RawFd)>,
    _lifted: Vec<OwnedFd>,
}

impl Moves {
    fn plan(null: &OwnedFd, pipes: &Pipes, extra: &[(RawFd, OwnedFd)]) -> Result<Moves, StartError> {
        let stdin = pipes.stdin.as_ref().map_or(null, |(read, _)| read);
        let stdout = &pipes.stdout.1;
        let stderr = pipes.stderr.as_ref().map_or(stdout, |(_, write)| write);
        let extra = extra.iter().map(|(target, fd)| (*target, fd));
        let wanted: Vec<(RawFd, &OwnedFd)> = [(0, stdin), (1, stdout), (2, stderr)].into_iter().chain(extra).collect();
        let above = wanted.iter().map(|(target, _)| target + 1).max().unwrap_or(3);
        let mut moves = Moves { list: Vec::with_capacity(wanted.len()), _lifted: Vec::new() };
        for (target, fd) in wanted {
            let mut source = fd.as_raw_fd();
            if source < above {
                let lifted = rustix::io::fcntl_dupfd_cloexec(fd, above)
                    .map_err(|e| system("duplicating a descriptor", &e.into()))?;
                source = lifted.as_raw_fd();
                moves._lifted.push(lifted);
            }
            moves.list.push((source, target));
        }
        Ok(moves)
    }
}

/// The child's last step before it failed.
#[derive(Clone, Copy, Debug)]
enum Step {
    Group,
    DeathSignal,
    Affinity,
    Memory,
    ControlGroup,
    /// With its position in the list.
    Limit(usize),
    Directory,
    Descriptors,
    Trace,
    Exec,
}

/// The input of the child, and the place for its error.
struct Order {
    /// The entrance of its control group; -1 = none.
    group: c_int,
    program: *const c_char,
    argv: *const *const c_char,
    shell: *const c_char,
    shell_argv: *const *const c_char,
    envp: *const *const c_char,
    directory: *const c_char,
    moves: *const (RawFd, RawFd),
    move_count: usize,
    cpus: *const u64,
    cpus_bytes: usize,
    memory_mode: c_int,
    memory_mask: *const c_ulong,
    memory_bits: c_ulong,
    parent: c_int,
    nofile: libc::rlimit,
    limits: *const Limit,
    limit_count: usize,
    signals: *const c_int,
    signal_count: usize,
    traceable: bool,
    stopped: bool,
    failure: Option<(Step, c_int)>,
}

/// Leaves all signals to the other threads of this process.
#[allow(unsafe_code)]
pub(crate) fn block_signals() {
    // SAFETY: `all` is plain data that the first call fills in and the second one reads; the former mask is not asked
    // for. A program that this thread starts gets an empty mask (`run`).
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, ptr::null_mut());
    }
}

/// Clones a child that shares our memory and runs [`child`]; returns when it has executed its program or ended.
#[allow(unsafe_code)]
fn clone_child(order: &mut Order, stack: &mut [MaybeUninit<u128>]) -> io::Result<(Pid, OwnedFd)> {
    const FLAGS: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    let mut pidfd: c_int = -1;
    // SAFETY: `all` and `before` are plain data that the calls fill in. `order` and `stack` are borrowed exclusively
    // for the whole call, and CLONE_VFORK keeps this thread from running until the child no longer uses this memory, so
    // nothing is accessed from two sides. The stack's end is aligned to 16 bytes as `u128` is, and [`child`] needs a
    // small part of it. All signals are blocked around the clone, so that no handler of ours runs in the child on our
    // memory.
    let (pid, error) = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let pid = libc::clone(
            child,
            stack.as_mut_ptr_range().end.cast::<c_void>(),
            FLAGS,
            ptr::from_mut(order).cast::<c_void>(),
            &mut pidfd as *mut c_int,
        );
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        (pid, error)
    };
    let Some(pid) = Pid::from_raw(pid).filter(|p| p.as_raw_nonzero().get() > 0) else {
        return Err(error);
    };
    // SAFETY: the clone succeeded, so the kernel has stored a new descriptor in `pidfd`, and only we know of it.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// Ends the tracing of a child that the kernel stops at its program's first instruction, and leaves it stopped by
/// SIGSTOP, so that a debugger can attach. A child that has died meanwhile is left to its watcher.
#[allow(unsafe_code)]
fn leave_stopped(pid: Pid) {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    // The program is executed already; the stop follows within microseconds.
    let _ = rustix::process::waitid(rustix::process::WaitId::Pid(pid), options);
    // SAFETY: the call takes numbers only. It fails without effect unless the process is our tracee and stopped.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, pid.as_raw_nonzero().get(), 0, libc::SIGSTOP) };
}

/// The child's side. Never returns to a caller that exists: the system ends the process with the return value.
#[allow(unsafe_code)]
extern "C" fn child(order: *mut c_void) -> c_int {
    let order = order.cast::<Order>();
    // SAFETY: `clone_child` passes a valid `Order`, whose owner is suspended, and whose pointers are to arrays that
    // outlive the call, terminated as execve wants them. Only system calls are made, which neither allocate nor lock.
    unsafe {
        let (step, errno) = run(&*order);
        ptr::write_volatile(&raw mut (*order).failure, Some((step, errno)));
        libc::_exit(127)
    }
}

/// Runs the program; returns only on failure.
///
/// # Safety
/// Only in a child, with an `Order` whose pointers are valid.
#[allow(unsafe_code)]
unsafe fn run(order: &Order) -> (Step, c_int) {
    // SAFETY: the caller guarantees the pointers; each call below gets what its manual asks for.
    unsafe {
        let errno = || *libc::__errno_location();
        // This comes before signals are unblocked: handlers of ours would run on the parent's memory, and the program
        // must not inherit our ignored signals (SIGPIPE).
        for index in 0..order.signal_count {
            libc::signal(*order.signals.add(index), libc::SIG_DFL);
        }
        if libc::setpgid(0, 0) != 0 {
            return (Step::Group, errno());
        }
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
            return (Step::DeathSignal, errno());
        }
        // The parent may have died before the call above took effect.
        if libc::getppid() != order.parent {
            libc::_exit(127);
        }
        if order.cpus_bytes > 0
            && libc::sched_setaffinity(0, order.cpus_bytes, order.cpus.cast::<libc::cpu_set_t>()) != 0
        {
            return (Step::Affinity, errno());
        }
        if order.memory_bits > 0 && !set_memory(order) {
            return (Step::Memory, errno());
        }
        if order.group >= 0 && libc::write(order.group, c"0".as_ptr().cast::<c_void>(), 1) != 1 {
            return (Step::ControlGroup, errno());
        }
        if libc::chdir(order.directory) != 0 {
            return (Step::Directory, errno());
        }
        // Our own descriptors are close-on-exec; this closes inherited ones. Kernels before 5.11 lack the call and
        // leave them open.
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        for index in 0..order.move_count {
            let (source, target) = *order.moves.add(index);
            if libc::dup2(source, target) < 0 {
                return (Step::Descriptors, errno());
            }
        }
        libc::setrlimit(libc::RLIMIT_NOFILE, &order.nofile);
        for index in 0..order.limit_count {
            if !(*order.limits.add(index)).set() {
                return (Step::Limit(index), errno());
            }
        }
        if order.traceable {
            // Without Yama the call fails, and any process of the user may trace this one.
            libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        }
        // The kernel then stops the process when it has executed its program.
        if order.stopped && libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
            return (Step::Trace, errno());
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
        libc::execve(order.program, order.argv, order.envp);
        if errno() == libc::ENOEXEC && !is_elf(order.program) {
            libc::execve(order.shell, order.shell_argv, order.envp);
        }
        (Step::Exec, errno())
    }
}

/// True when the file is a binary: a shell would read it as a script. Leaves ENOEXEC as the error.
///
/// # Safety
/// Only in a child, with a valid path.
#[allow(unsafe_code)]
unsafe fn is_elf(program: *const c_char) -> bool {
    let mut magic = [0_u8; 4];
    // SAFETY: the path is valid by contract, and the buffer is as long as stated. Both calls neither allocate nor lock.
    let read = unsafe {
        let file = libc::open(program, libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 { -1 } else { libc::read(file, magic.as_mut_ptr().cast::<c_void>(), magic.len()) }
    };
    // SAFETY: the location is this thread's.
    unsafe { *libc::__errno_location() = libc::ENOEXEC };
    read == 4 && magic == *elf::MAGIC
}

/// Sets the memory policy, which survives exec. A preferred policy that is not available is no failure.
///
/// # Safety
/// As [`run`].
#[allow(unsafe_code)]
unsafe fn set_memory(order: &Order) -> bool {
    let ask = |mode: c_int| {
        // SAFETY: the mask has the bits that are stated, less the one that the kernel takes off, and outlives the call.
        unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, order.memory_mask, order.memory_bits) == 0 }
    };
    match order.memory_mode {
        libc::MPOL_BIND => ask(libc::MPOL_BIND),
        // A kernel before 5.15 prefers the first of several domains.
        mode => {
            let _ = ask(mode) || ask(libc::MPOL_PREFERRED);
            true
        }
    }
}

#[cfg(test)]
mod tests;
