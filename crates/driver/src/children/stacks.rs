//! Stacks of processes, taken by a debugger that is installed on this node. Only [`super::Processes`] uses it.
//!
//! A debugger runs in a session of its own, dies with this process, and is killed with its helpers when the time is
//! over or the job is.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use bytes::Bytes;
use ferrite_core::{DaemonInput, Input};
use ferrite_types::{JobId, ProcId};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::Instant;

use crate::{Inbox, guard};

/// Debuggers that run at once: one needs a processor and tens of megabytes.
const AT_ONCE: usize = 2;
/// The most bytes of a debugger's complaints.
const MOST_COMPLAINTS: usize = 4096;

/// The programs that show stacks, best first. All of them take the process id as their last argument.
const TOOLS: [(&str, &[&str]); 4] = [
    (
        "gdb",
        &[
            "--nx",
            "--batch",
            "--quiet",
            // The directory of a program may hold scripts that gdb would run.
            "-iex",
            "set auto-load off",
            "-ex",
            "thread apply all backtrace",
            "-p",
        ],
    ),
    ("eu-stack", &["-p"]),
    ("gstack", &[]),
    ("pstack", &[]),
];

/// The stacks that are being taken, by job.
#[derive(Default)]
pub(super) struct Stacks {
    tasks: BTreeMap<JobId, JoinHandle<()>>,
}

impl Stacks {
    /// Takes the stacks of processes.
    pub(super) fn take(&mut self, job: JobId, procs: Vec<(ProcId, Pid)>, until: Instant, most: usize, inbox: Inbox) {
        let tool = Tool::find(&std::env::var_os("PATH").unwrap_or_default());
        let task = spawn_local(async move {
            let obstacle = match tool {
                Some(tool) => take_all(&tool, procs, until, most, &inbox).await,
                None => Some(none_is_installed()),
            };
            let _ = inbox.send(Input::Daemon(DaemonInput::StacksTaken { job, obstacle }));
        });
        if let Some(former) = self.tasks.insert(job, task) {
            former.abort();
        }
    }

    /// Ends what is under way for a job that is over.
    pub(super) fn stop(&mut self, job: JobId) {
        if let Some(task) = self.tasks.remove(&job) {
            task.abort();
        }
    }
}

fn none_is_installed() -> String {
    let names = TOOLS.map(|(name, _)| name).join(", ");
    format!("none of {names} is in the search path there; install one of them")
}

/// Takes the stacks of processes, some at once. Returns why some are missing.
async fn take_all(
    tool: &Tool,
    procs: Vec<(ProcId, Pid)>,
    until: Instant,
    most: usize,
    inbox: &Inbox,
) -> Option<String> {
    let count = procs.len();
    let waiting = std::cell::RefCell::new(procs.into_iter());
    let taken = std::cell::Cell::new(0);
    let worker = || async {
        loop {
            let next = waiting.borrow_mut().next();
            let Some((proc, pid)) = next else { return };
            let text = tool.show(pid, most).await.unwrap_or_else(|complaint| complaint.into());
            taken.set(taken.get() + 1);
            let _ = inbox.send(Input::Daemon(DaemonInput::StackTaken { proc, text }));
        }
    };
    const { assert!(AT_ONCE == 2, "one worker each below") };
    let all = async { tokio::join!(worker(), worker()) };
    match tokio::time::timeout_at(until, all).await {
        Ok(_) => None,
        Err(_) => Some(format!(
            "{} took the stacks of {} of {count} processes within the limit (prte_timeout_for_stack_trace)",
            tool.name,
            taken.get()
        )),
    }
}

/// A program that shows stacks.
struct Tool {
    name: &'static str,
    path: PathBuf,
    arguments: &'static [&'static str],
}

impl Tool {
    /// Finds the best one in a search path.
    fn find(search: &OsStr) -> Option<Tool> {
        let is_program =
            |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
        TOOLS.iter().find_map(|(name, arguments)| {
            let path = std::env::split_paths(search).map(|dir| dir.join(name)).find(is_program)?;
            Some(Tool { name, path, arguments })
        })
    }

    /// Shows the stack of a process.
    ///
    /// # Errors
    /// A sentence about the program's failure, with its last complaint.
    async fn show(&self, pid: Pid, most: usize) -> Result<Bytes, String> {
        let mut command = Command::new(&self.path);
        command.args(self.arguments).arg(pid.as_raw_nonzero().to_string()).current_dir("/").kill_on_drop(true);
        command.env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        guard::tie(command.as_std_mut());
        let mut child = command.spawn().map_err(|error| format!("({} could not be started: {error})", self.name))?;
        let mut session = Session(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (told, complaints) = tokio::join!(read(stdout, most), read(stderr, MOST_COMPLAINTS));
        // A program that says more than that is ended by its closed pipe, or by the end of its session.
        let status = match told.len() < most {
            true => child.wait().await.ok(),
            false => None,
        };
        if status.is_some() {
            session.0 = None;
        }
        let frames = frames(&told);
        if !frames.is_empty() {
            return Ok(Bytes::copy_from_slice(frames.as_bytes()));
        }
        let complaints = String::from_utf8_lossy(&complaints);
        let last = complaints.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        Err(format!("({} shows no stack: {})", self.name, last.trim()))
    }
}

/// Reads at most so many bytes.
async fn read(stream: Option<impl AsyncRead + Unpin>, most: usize) -> Vec<u8> {
    let mut data = Vec::new();
    if let Some(stream) = stream {
        let _ = stream.take(most as u64).read_to_end(&mut data).await;
    }
    data
}

/// Returns what a debugger says from the first thread on; before it come its own remarks.
fn frames(told: &[u8]) -> String {
    let text = String::from_utf8_lossy(told);
    let begins = |line: &&str| ["Thread ", "TID ", "#0"].iter().any(|word| line.starts_with(word));
    let is_remark = |line: &&str| line.starts_with("[Inferior ");
    let lines = text.lines().skip_while(|line| !begins(line)).filter(|line| !is_remark(line));
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// The session of a debugger, which ends with this value.
struct Session(Option<Pid>);

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_path_without_a_debugger_has_none_and_says_which_ones_are_known() {
        assert!(Tool::find(OsStr::new("/proc:/nowhere")).is_none());
        let words = none_is_installed();
        assert!(words.contains("gdb") && words.contains("eu-stack"), "{words}");
    }

    #[test]
    fn the_remarks_of_a_debugger_before_and_after_the_stacks_are_left_out() {
        let told =
            b"[New LWP 7]\nwarning: x\n\nThread 1 (LWP 6):\n#0  a ()\n#1  b ()\n[Inferior 1 (process 6) detached]\n";
        assert_eq!(frames(told), "Thread 1 (LWP 6):\n#0  a ()\n#1  b ()");
        assert_eq!(frames(b"no such process\n"), "");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_program_that_shows_nothing_is_named_with_its_last_complaint() {
        let tool = Tool { name: "sh", path: "/bin/sh".into(), arguments: &["-c", "echo oh >&2; echo no >&2; exit 1"] };
        assert_eq!(tool.show(Pid::INIT, 100).await, Err("(sh shows no stack: no)".to_owned()));
        let endless = Tool { name: "sh", path: "/bin/sh".into(), arguments: &["-c", "echo '#0 a'; yes '#1 b'"] };
        assert_eq!(endless.show(Pid::INIT, 100).await.map(|text| text.len() <= 100), Ok(true));
    }
}
