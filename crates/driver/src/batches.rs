//! The processes and files of batches: `batches/<number>` in the session directory has the list, the results unless the
//! submitter names a file, and the log, which is what the process says on standard error. The process is `prun --batch`
//! with the environment and in the directory of the submitter. It finds the head by its control socket, and ends when
//! that is closed.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use ferrite_core::{BatchEffect, BatchInput, HeadInput, Input};
use ferrite_types::{ExitStatus, Signal};
use ferrite_wire::control::{BatchId, BatchStart};
use ferrite_wire::dvm_contact::CONTACT_FILE;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::Inbox;
use crate::session_dir::SessionDir;

/// Variable by which `prun` knows that it runs a batch of the DVM: the number of the batch.
pub const BATCH_VARIABLE: &str = "FERRITE_BATCH";
/// Variable by which it knows that another process has begun with the batch.
pub const RESTARTED_VARIABLE: &str = "FERRITE_BATCH_RESTARTED";
/// The largest piece of results (bytes).
const PIECE: usize = 1 << 20;

/// The batches of a DVM.
pub(crate) struct Batches {
    inbox: Inbox,
    session_dir: SessionDir,
    all: BTreeMap<BatchId, Batch>,
    /// The number of processes that run.
    running: watch::Sender<usize>,
}

struct Batch {
    dir: PathBuf,
    results: PathBuf,
    /// The arguments of the process; its list is in a file.
    start: BatchStart,
    /// The process, until it is reaped. A descriptor never means another process.
    process: Option<OwnedFd>,
}

impl Batches {
    pub(crate) fn new(inbox: Inbox, session_dir: &SessionDir) -> Batches {
        let running = watch::Sender::new(0);
        Batches { inbox, session_dir: session_dir.clone(), all: BTreeMap::new(), running }
    }

    pub(crate) fn apply(&mut self, effect: BatchEffect) {
        match effect {
            BatchEffect::Start(id, start) => {
                let started = self.begin(id, *start);
                self.tell(BatchInput::Started(id, started));
            }
            BatchEffect::Restart(id) => {
                let started = self.spawn(id, true);
                self.tell(BatchInput::Started(id, started));
            }
            BatchEffect::Cancel(id) => {
                if let Some(process) = self.all.get(&id).and_then(|batch| batch.process.as_ref()) {
                    // An error means that it has ended.
                    let _ = pidfd_send_signal(process, rustix::process::Signal::TERM);
                }
            }
            BatchEffect::Read { request, batch, offset } => {
                let data = self.read(batch, offset);
                self.tell(BatchInput::Read { request, batch, data });
            }
            BatchEffect::Forget(id) => {
                if let Some(batch) = self.all.remove(&id) {
                    let _ = fs::remove_dir_all(batch.dir);
                }
            }
        }
    }

    fn tell(&self, input: BatchInput) {
        let _ = self.inbox.send(Input::Head(HeadInput::Batch(input)));
    }

    /// Notes that a process was reaped.
    pub(crate) fn reaped(&mut self, id: BatchId) {
        if let Some(batch) = self.all.get_mut(&id) {
            batch.process = None;
        }
    }

    /// Writes the list to its file and starts the process (spec L118).
    fn begin(&mut self, id: BatchId, mut start: BatchStart) -> Result<String, String> {
        let cwd = Path::new(&start.cwd);
        if !cwd.is_dir() {
            return Err(format!(
                "The directory {} is not there on the head's node, where a detached batch runs: submit it from a directory \
                 that both nodes have.",
                start.cwd
            ));
        }
        let list = std::mem::take(&mut start.list);
        let dir =
            self.prepare(id, &list).map_err(|error| format!("The files of the batch cannot be made: {error}."))?;
        let results = start.results.as_ref().map_or_else(|| dir.join("results"), |path| cwd.join(path));
        let resumes = start.options.iter().any(|word| word == "--resume");
        let opened = File::options().append(true).create(true).open(&results);
        opened.and_then(|file| if resumes { Ok(()) } else { file.set_len(0) }).map_err(|error| {
            let _ = fs::remove_dir_all(&dir);
            format!("The file of results {} cannot be written on the head's node: {error}.", results.display())
        })?;
        self.all.insert(id, Batch { dir: dir.clone(), results, start, process: None });
        self.spawn(id, false).inspect_err(|_| {
            self.all.remove(&id);
            let _ = fs::remove_dir_all(dir);
        })
    }

    fn prepare(&self, id: BatchId, list: &[u8]) -> io::Result<PathBuf> {
        let dir = self.session_dir.dir()?.join("batches").join(id.0.to_string());
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        fs::write(dir.join("list"), list)?;
        Ok(dir)
    }

    /// Starts the process of a batch; returns the file of results.
    fn spawn(&mut self, id: BatchId, again: bool) -> Result<String, String> {
        let batch = self.all.get_mut(&id).ok_or("its files are gone")?;
        let prun = std::env::current_exe().map(|exe| exe.with_file_name("prun"));
        let prun = prun.map_err(|error| format!("our own program cannot be found: {error}"))?;
        let log = File::options().append(true).create(true).open(batch.dir.join("log"));
        let log = log.map_err(|error| format!("the log of the batch cannot be made: {error}"))?;
        let contact = self.session_dir.path().join(CONTACT_FILE);
        let mut command = Command::new(&prun);
        command.arg("--dvm-uri").arg(format!("file:{}", contact.display()));
        command.arg("--batch").arg(batch.dir.join("list"));
        let resumes = again || batch.start.options.iter().any(|word| word == "--resume");
        command.arg(if resumes { "--resume" } else { "--results" }).arg(&batch.results);
        command.args(batch.start.options.iter().filter(|word| *word != "--resume"));
        command.env_clear().envs(batch.start.env.iter().map(|(name, value)| (name, value)));
        command.env(BATCH_VARIABLE, id.0.to_string());
        if again {
            command.env(RESTARTED_VARIABLE, "1");
        }
        command.current_dir(&batch.start.cwd).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // A Ctrl-C at the head's terminal is for the head, which ends the batches in order.
        command.as_std_mut().process_group(0);
        let child = command.spawn().map_err(|error| format!("{} cannot be started: {error}", prun.display()))?;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        batch.process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let results = batch.results.display().to_string();
        self.watch(id, child);
        Ok(results)
    }

    /// Tells the machine when the process has ended.
    fn watch(&self, id: BatchId, mut child: Child) {
        let (inbox, running) = (self.inbox.clone(), self.running.clone());
        running.send_modify(|count| *count += 1);
        tokio::task::spawn_local(async move {
            let status = match child.wait().await {
                Ok(status) => status.signal().map_or_else(
                    || ExitStatus::Exited(status.code().unwrap_or(1) as u8),
                    |n| ExitStatus::Signaled(Signal(n)),
                ),
                Err(_) => ExitStatus::Exited(1),
            };
            let _ = inbox.send(Input::Head(HeadInput::Batch(BatchInput::Ended(id, status))));
            running.send_modify(|count| *count -= 1);
        });
    }

    fn read(&self, id: BatchId, offset: u64) -> Result<Bytes, String> {
        let batch = self.all.get(&id).ok_or_else(|| format!("The results of batch {id} are forgotten."))?;
        let read = || -> io::Result<Bytes> {
            let file = match File::open(&batch.results) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && batch.process.is_some() => {
                    return Ok(Bytes::new());
                }
                opened => opened?,
            };
            let mut data = vec![0; PIECE];
            let count = file.read_at(&mut data, offset)?;
            data.truncate(count);
            Ok(data.into())
        };
        read().map_err(|error| format!("{} cannot be read: {error}.", batch.results.display()))
    }

    /// Waits until all processes are gone, at most for the limit.
    pub(crate) async fn finish(&self, limit: Duration) {
        let mut running = self.running.subscribe();
        let _ = tokio::time::timeout(limit, running.wait_for(|count| *count == 0)).await;
    }
}
