//! Asks the resource manager for nodes with its own commands, which may wait without limit, and gives whole jobs of it
//! back. The head decides about requests and nodes; only the engine calls this. No command outlives the DVM: this
//! module ends them when the DVM ends in order, and the guard does so after a violent end, by the job name in the
//! session directory.

pub(crate) mod command;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use ferrite_core::{HeadInput, Input};
use ferrite_rm::managers::slurm::end::{self as ends, Ends};
use ferrite_rm::managers::slurm::extend::{self, Salloc};
use ferrite_rm::managers::slurm::job::{SlurmJob, question};
use ferrite_rm::managers::slurm::release::{end, end_all};
use ferrite_rm::managers::slurm::words::{Line, complaint};
use ferrite_rm::{JobEnd, NodeAsk, Wish};
use ferrite_types::{ExtensionId, HostEntry};
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr};
use tokio::sync::{Notify, oneshot};

use crate::session_dir::SessionDir;
use crate::{Inbox, notice};

/// File in the session directory with the name of all jobs that the DVM has asked for; the guard reads it.
const GUARD_FILE: &str = "manager-jobs";
/// Time for a command to take back its own request when the request is withdrawn.
const WITHDRAW_LIMIT: Duration = Duration::from_secs(5);
/// Time at the end of the DVM in which everything has to be given back.
const FINISH_LIMIT: Duration = Duration::from_secs(15);
/// A job that was granted within this time keeps the time limit of its request.
const SOON: Duration = Duration::from_secs(30);
/// Largest part of a command's messages that is kept (bytes).
const MOST_WORDS: usize = 4096;

/// All requests. Use this within a `LocalSet`.
pub(crate) struct Extensions {
    shared: Rc<Shared>,
}

struct Shared {
    inbox: Inbox,
    session_dir: SessionDir,
    /// Name of the jobs, set by the first request.
    name: RefCell<Option<String>>,
    waiting: RefCell<BTreeMap<ExtensionId, oneshot::Sender<()>>>,
    /// Number of tasks that are at work.
    busy: Cell<usize>,
    idle: Notify,
}

impl Extensions {
    pub(crate) fn new(inbox: Inbox, session_dir: &SessionDir) -> Extensions {
        let shared = Shared {
            inbox,
            session_dir: session_dir.clone(),
            name: RefCell::default(),
            waiting: RefCell::default(),
            busy: Cell::new(0),
            idle: Notify::new(),
        };
        Extensions { shared: Rc::new(shared) }
    }

    /// Asks for nodes; `NodesGranted` or `NodesRefused` follows, unless it is withdrawn before.
    pub(crate) fn request(&self, extension: ExtensionId, ask: NodeAsk) {
        let (withdraw, withdrawn) = oneshot::channel();
        self.shared.waiting.borrow_mut().insert(extension, withdraw);
        self.shared.spawn(async move |shared: &Shared| {
            let outcome = match shared.tell_guard(&ask.name) {
                Ok(dir) => Negotiation { shared, extension, ask: &ask, dir }.run(withdrawn).await,
                Err(cause) => Err(End::Refused(cause)),
            };
            shared.waiting.borrow_mut().remove(&extension);
            match outcome {
                Ok((job, nodes)) => {
                    tracing::info!(%extension, job, nodes = nodes.len(), "nodes are granted");
                    shared.send(Input::Head(HeadInput::NodesGranted { extension, job, nodes }));
                }
                Err(End::Refused(cause)) => {
                    tracing::info!(%extension, cause, "nodes are refused");
                    shared.send(Input::Head(HeadInput::NodesRefused { extension, cause }));
                }
                Err(End::Withdrawn) => tracing::info!(%extension, "a request for nodes is withdrawn"),
            }
        });
    }

    /// Withdraws a request that is not granted yet; no answer follows.
    pub(crate) fn withdraw(&self, extension: ExtensionId) {
        if let Some(withdraw) = self.shared.waiting.borrow_mut().remove(&extension) {
            let _ = withdraw.send(());
        }
    }

    /// Asks when a job ends; `JobEndTold` follows.
    pub(crate) fn ask_for_end(&self, job: String) {
        self.shared.spawn(async move |shared: &Shared| {
            let told = match shared.session_dir.dir() {
                Ok(dir) => end_of(&job, dir).await,
                Err(error) => Err(error.to_string()),
            };
            tracing::info!(job, ?told, "the resource manager says when a job of it ends");
            shared.send(Input::Head(HeadInput::JobEndTold { job, told }));
        });
    }

    /// Gives a job back; `AllocationEnded` follows.
    pub(crate) fn end(&self, job: String) {
        self.shared.spawn(async move |shared: &Shared| {
            let error = match shared.session_dir.dir() {
                Ok(dir) => command::run(&end(&job), dir).await.err(),
                Err(error) => Some(error.to_string()),
            };
            tracing::info!(job, ?error, "a job of the resource manager is given back");
            shared.send(Input::Head(HeadInput::AllocationEnded { job, error }));
        });
    }

    /// Ends at the end of the DVM: withdraws open requests and gives granted jobs back.
    pub(crate) async fn finish(&self) {
        for (_, withdraw) in std::mem::take(&mut *self.shared.waiting.borrow_mut()) {
            let _ = withdraw.send(());
        }
        let Some(name) = self.shared.name.borrow().clone() else { return };
        let given_back = tokio::time::timeout(FINISH_LIMIT, async {
            while self.shared.busy.get() > 0 {
                self.shared.idle.notified().await;
            }
            // This ends the jobs that were granted when no task listened any more, and those that could not be given
            // back before.
            let dir = self.shared.session_dir.dir().unwrap_or(Path::new("/"));
            command::run(&end_all(&name, rustix::process::getuid().as_raw()), dir).await
        });
        let error = match given_back.await {
            Ok(Ok(_)) => return,
            Ok(Err(cause)) => cause,
            Err(_) => format!("it has not answered for {} s", FINISH_LIMIT.as_secs()),
        };
        notice::print(&format!(
            "Slurm may not have taken back what it had granted to this DVM on top: {error}.\n\
             What is left of it, `squeue --name={name}` shows and `scancel --name={name}` ends."
        ));
    }
}

impl Shared {
    fn spawn(self: &Rc<Self>, task: impl AsyncFnOnce(&Shared) + 'static) {
        let shared = Rc::clone(self);
        shared.busy.set(shared.busy.get() + 1);
        tokio::task::spawn_local(async move {
            task(&shared).await;
            shared.busy.set(shared.busy.get() - 1);
            shared.idle.notify_one();
        });
    }

    fn send(&self, input: Input) {
        // The machine is gone only while this process is ending.
        let _ = self.inbox.send(input);
    }

    /// Writes the name of the jobs for the guard, before the first request. Returns the session directory.
    fn tell_guard(&self, name: &str) -> Result<PathBuf, String> {
        let dir = self.session_dir.dir().map_err(|error| error.to_string())?;
        if self.name.borrow().is_none() {
            let file = dir.join(GUARD_FILE);
            std::fs::write(&file, name).map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
            *self.name.borrow_mut() = Some(name.to_owned());
        }
        Ok(dir.to_owned())
    }
}

/// Asks Slurm when a job ends.
async fn end_of(job: &str, dir: &Path) -> Result<JobEnd, String> {
    let unclear = |flaw| format!("what scontrol says of job {job} is not understood: {flaw}");
    let ends = Ends::parse(&command::run(&ends::question(job), dir).await?).map_err(unclear)?;
    let grace = match ends.question_of_grace() {
        Some(question) => ends::grace_of_partition(&command::run(&question, dir).await?).map_err(unclear)?,
        None => 0,
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(ends.at(now, grace))
}

/// Returns, for the guard, the command that ends all jobs that a dead head has asked for, if there are any.
pub(crate) fn left_behind(session_dir: &Path) -> Option<Vec<String>> {
    let name = std::fs::read_to_string(session_dir.join(GUARD_FILE)).ok().filter(|name| !name.is_empty())?;
    Some(end_all(&name, rustix::process::getuid().as_raw()))
}

/// The reason why a request failed.
enum End {
    Refused(String),
    Withdrawn,
}

/// One request in progress.
struct Negotiation<'a> {
    shared: &'a Shared,
    extension: ExtensionId,
    ask: &'a NodeAsk,
    dir: PathBuf,
}

impl Negotiation<'_> {
    async fn run(&self, mut withdrawn: oneshot::Receiver<()>) -> Result<(String, Vec<HostEntry>), End> {
        let count = match &self.ask.wish {
            Wish::Nodes(count) => *count,
            Wish::Job(job) => {
                let found = tokio::select! {
                    found = self.take_over(job) => found.map_err(End::Refused)?,
                    _ = &mut withdrawn => return Err(End::Withdrawn),
                };
                return Ok((job.clone(), found));
            }
        };
        let parent = tokio::select! {
            parent = self.look_up(&self.ask.parent) => parent.map_err(End::Refused)?,
            _ = &mut withdrawn => return Err(End::Withdrawn),
        };
        let salloc = extend::salloc(self.ask, count, &parent).map_err(|error| End::Refused(error.to_string()))?;
        let began = Instant::now();
        let mut running = Running::start(&salloc, &self.dir).map_err(End::Refused)?;
        let is_withdrawn = tokio::select! {
            () = running.listen(|words| self.say(words)) => false,
            _ = &mut withdrawn => true,
        };
        if is_withdrawn {
            running.stop().await;
        }
        let granted = match running.granted.take() {
            Some(job) if !is_withdrawn => {
                self.settle(&job, &salloc, began).await.map_err(|cause| (job.clone(), cause)).map(|hosts| (job, hosts))
            }
            job => {
                // The command has taken its request back itself, unless the time was too short.
                if let (true, Some(job)) = (is_withdrawn, job.or(running.pending.take())) {
                    let _ = command::run(&end(&job), &self.dir).await;
                }
                return Err(if is_withdrawn { End::Withdrawn } else { End::Refused(running.complaint()) });
            }
        };
        let too_late = withdrawn.try_recv().is_ok();
        match granted {
            Ok(granted) if !too_late => Ok(granted),
            Ok((job, _)) => {
                let _ = command::run(&end(&job), &self.dir).await;
                Err(End::Withdrawn)
            }
            Err((job, cause)) => {
                let _ = command::run(&end(&job), &self.dir).await;
                Err(End::Refused(cause))
            }
        }
    }

    /// Returns the nodes of a job that another process has got.
    async fn take_over(&self, job: &str) -> Result<Vec<HostEntry>, String> {
        let found = self.look_up(job).await?;
        if found.state != "RUNNING" {
            return Err(format!("it is {}, and has no nodes before it is RUNNING", found.state));
        }
        let slots = self.ask.slots.map_or(found.cpus_per_node, |slots| slots.clamp(1, found.cpus_per_node));
        found.hosts(job, slots).map_err(|flaw| format!("its nodes are not known: {flaw}"))
    }

    async fn look_up(&self, job: &str) -> Result<SlurmJob, String> {
        let answer = command::run(&question(job), &self.dir).await?;
        SlurmJob::parse(&answer).map_err(|flaw| format!("what squeue says of job {job} is not understood: {flaw}"))
    }

    /// Returns the nodes of a granted job and sets its time limit.
    async fn settle(&self, job: &str, salloc: &Salloc, began: Instant) -> Result<Vec<HostEntry>, String> {
        let granted = self.look_up(job).await?;
        if began.elapsed() > SOON
            && let Ok(parent) = self.look_up(&self.ask.parent).await
            && let Some(trim) = extend::trimmed(job, salloc, &parent)
            && let Err(cause) = command::run(&trim, &self.dir).await
        {
            // Without the limit the job lasts longer unless it is ended: that is no reason to refuse it.
            tracing::warn!(job, cause, "the time limit of a job cannot be trimmed");
        }
        let slots = salloc.slots.unwrap_or(granted.cpus_per_node);
        granted.hosts(job, slots).map_err(|flaw| format!("the nodes of job {job} are not known: {flaw}"))
    }

    fn say(&self, words: String) {
        self.shared.send(Input::Head(HeadInput::NodesAwaited { extension: self.extension, says: words }));
    }
}

/// A waiting `salloc`.
struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
    pending: Option<String>,
    granted: Option<String>,
    said: String,
}

impl Running {
    fn start(salloc: &Salloc, dir: &Path) -> Result<Running, String> {
        tracing::info!(command = salloc.command.join(" "), "nodes are asked for");
        let mut child = command::spawn(&salloc.command, dir)?;
        let stderr = child.stderr.take().ok_or("the words of salloc cannot be read")?;
        let lines = BufReader::new(stderr).lines();
        Ok(Running { child, lines, pending: None, granted: None, said: String::new() })
    }

    /// Listens until the command ends. Callers may drop this at any time and call it again.
    async fn listen(&mut self, say: impl Fn(String)) {
        while let Ok(Some(line)) = self.lines.next_line().await {
            match Line::of(&line) {
                Line::Pending(job) => self.pending = Some(job),
                Line::Granted(job) => self.granted = Some(job),
                Line::Other(words) if self.pending.is_some() => say(words),
                Line::Other(_) => {}
            }
            if self.said.len() < MOST_WORDS {
                self.said.push_str(&line);
                self.said.push('\n');
            }
        }
        let _ = self.child.wait().await;
    }

    /// Stops the command, which takes its request back when it is told to end.
    async fn stop(&mut self) {
        let pid = self.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        if tokio::time::timeout(WITHDRAW_LIMIT, self.listen(|_| ())).await.is_err() {
            let _ = self.child.kill().await;
        }
    }

    fn complaint(&self) -> String {
        let words = complaint(&self.said);
        if words.is_empty() { "salloc has ended without a word".to_owned() } else { words }
    }
}
