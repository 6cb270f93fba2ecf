//! The machine's topology, which processes of jobs get with the data of their job, so that each need not look itself.
//! Another process finds it (`ferrite-pmixd --topology`): plug-ins of hwloc load drivers, and hwloc here leaves out the
//! devices by which MPI libraries choose networks (`PROCESS_ENV`). `serve` asks; nothing is written to a file.
//!
//! That costs the time of one process that looks itself, so it is done for many. A small job is told only what is known
//! already, and never waits.

use std::io::Read;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use ferrite_pmix::{JobInfo, PROCESS_ENV, SHARED_FROM};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The first argument of the process that finds the topology; the second is the process that waits for it.
pub(crate) const ARGUMENT: &str = "--topology";
/// Number of local processes, of all jobs so far, from which on the topology is looked for although nobody waits.
const SOUGHT_FROM: usize = 16;
/// Time after which the looking process counts as hung.
const LIMIT: Duration = Duration::from_secs(2);
/// Larger than the topology of any machine (bytes).
const ROOM: usize = 16 << 20;

/// The topology, or what is known of it.
pub(crate) struct Topology {
    state: State,
    /// Number of local processes of all jobs so far.
    served: usize,
}

enum State {
    /// Nobody has looked; this command would.
    Unsought(Box<Command>),
    /// A process looks.
    Sought(Receiver<Option<String>>),
    /// The XML of hwloc; `None` = it cannot be found.
    Known(Option<String>),
}

impl Topology {
    /// This machine's. The call takes the environment as it is before libpmix has threads that change it.
    pub(crate) fn of_this_machine() -> Topology {
        let Ok(own) = std::env::current_exe() else {
            return Topology { state: State::Known(None), served: 0 };
        };
        let mut command = Command::new(own);
        command.args([ARGUMENT, &std::process::id().to_string()]).stdin(Stdio::null()).stderr(Stdio::null());
        // Variables that the daemon has set for libpmix make hwloc leave out devices.
        let is_preset = |name: &str, value: &str| name.starts_with("HWLOC_") && PROCESS_ENV.contains(&(name, value));
        let kept = std::env::vars_os().filter(|(name, value)| match (name.to_str(), value.to_str()) {
            (Some(name), Some(value)) => !is_preset(name, value),
            _ => true,
        });
        command.env_clear().envs(kept);
        Topology::found_by(command)
    }

    fn found_by(command: Command) -> Topology {
        Topology { state: State::Unsought(Box::new(command)), served: 0 }
    }

    /// Begins to look, once.
    pub(crate) fn seek(&mut self) {
        if !matches!(self.state, State::Unsought(_)) {
            return;
        }
        let (tell, told) = channel();
        if let State::Unsought(command) = std::mem::replace(&mut self.state, State::Sought(told)) {
            // The looking process dies with the thread that has started it, which thus stays until the end. A thread
            // that cannot be started drops its end of the channel.
            let look = move || drop(tell.send(find(*command, LIMIT)));
            let _ = std::thread::Builder::new().name("topology".to_owned()).spawn(look);
        }
    }

    /// Returns the topology for the processes of a job here (spec L164).
    pub(crate) fn of(&mut self, job: &JobInfo) -> Option<String> {
        let processes = job.local.len();
        if job.own_topology || processes == 0 {
            return None;
        }
        self.served = self.served.saturating_add(processes);
        let many = processes >= SHARED_FROM;
        if many || self.served >= SOUGHT_FROM {
            self.seek();
        }
        if let State::Sought(told) = &self.state {
            let found = if many { told.recv().map_err(|_| TryRecvError::Disconnected) } else { told.try_recv() };
            match found {
                Ok(found) => self.state = State::Known(found),
                Err(TryRecvError::Disconnected) => self.state = State::Known(None),
                Err(TryRecvError::Empty) => {}
            }
        }
        match &self.state {
            State::Known(found) => found.clone(),
            State::Unsought(_) | State::Sought(_) => None,
        }
    }
}

/// Runs the command, and returns what it prints. It is killed at the end of its time.
fn find(mut command: Command, limit: Duration) -> Option<String> {
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let text = read(&mut child, limit);
    if text.is_none() {
        let _ = child.kill();
    }
    let is_good = child.wait().is_ok_and(|status| status.success());
    text.filter(|text| is_good && !text.is_empty())
}

/// Reads to the end of the output; `None` when it does not come in time.
fn read(child: &mut Child, limit: Duration) -> Option<String> {
    let deadline = Instant::now() + limit;
    let mut output = child.stdout.take()?;
    let mut text = Vec::new();
    loop {
        let left = Timespec::try_from(deadline.checked_duration_since(Instant::now())?).ok()?;
        match poll(&mut [PollFd::new(&output.as_fd(), PollFlags::IN)], Some(&left)) {
            Ok(0) => return None,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
            Ok(_) => {}
        }
        let mut chunk = [0; 64 * 1024];
        match output.read(&mut chunk).ok()? {
            0 => return String::from_utf8(text).ok(),
            count if text.len() + count > ROOM => return None,
            count => text.extend_from_slice(&chunk[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use ferrite_pmix::LocalProc;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn job(processes: usize) -> JobInfo {
        JobInfo { local: vec![LocalProc::default(); processes], ..JobInfo::default() }
    }

    /// The start of a small job is never longer for it (spec L164).
    #[test]
    fn a_job_of_many_waits_for_the_topology_and_a_small_one_gets_what_is_known() {
        let mut topology = Topology::found_by(shell("sleep 0.1; printf '<topology/>'"));
        assert_eq!(topology.of(&job(SHARED_FROM - 1)), None);
        assert!(matches!(topology.state, State::Unsought(_)), "a small job makes nobody look");
        assert_eq!(topology.of(&job(SHARED_FROM)).as_deref(), Some("<topology/>"));
        assert_eq!(topology.of(&job(1)).as_deref(), Some("<topology/>"));
        assert_eq!(topology.of(&job(0)), None, "nobody of the job is here");
    }

    #[test]
    fn a_job_that_chooses_its_topology_gets_none() {
        let mut topology = Topology::found_by(shell("printf '<topology/>'"));
        assert_eq!(topology.of(&JobInfo { own_topology: true, ..job(SHARED_FROM) }), None);
        assert!(matches!(topology.state, State::Unsought(_)));
    }

    #[test]
    fn many_small_jobs_get_it_in_the_end_and_none_of_them_waits() {
        let mut topology = Topology::found_by(shell("sleep 0.3; printf '<topology/>'"));
        let began = Instant::now();
        for _ in 0..SOUGHT_FROM {
            assert_eq!(topology.of(&job(1)), None);
        }
        assert!(began.elapsed() < Duration::from_millis(300));
        while topology.of(&job(1)).is_none() {
            assert!(began.elapsed() < LIMIT, "it is never told");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn what_fails_or_hangs_or_is_empty_is_no_topology() {
        assert_eq!(find(shell("printf '<topology/>'; exit 1"), LIMIT), None);
        assert_eq!(find(shell("exit 0"), LIMIT), None);
        assert_eq!(find(Command::new("/nonexistent"), LIMIT), None);
        let began = Instant::now();
        assert_eq!(find(shell("printf '<topology/>'; exec sleep 60"), Duration::from_millis(50)), None);
        assert!(began.elapsed() < Duration::from_secs(30), "it is killed");
    }

    #[test]
    fn a_topology_larger_than_a_pipe_is_read_whole() {
        let text = find(shell("head -c 1000000 /dev/zero | tr '\\0' x"), Duration::from_secs(30));
        assert_eq!(text.map(|text| text.len()), Some(1_000_000));
    }
}
