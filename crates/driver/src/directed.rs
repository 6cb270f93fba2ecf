//! A client of a running DVM that a PMIx tool has started to direct it (spec L139): `prun` under a debugger. A thread
//! beside the client runs libpmix (`ferrite-pmixd`), which calls the tool; what the tool asks for goes to the DVM over
//! connections of its own. The client itself submits its job as ever, when the tool has said how. No machine runs here:
//! a call that is not a request of a client is refused.

use std::cell::RefCell;
use std::io::{self, PipeReader, PipeWriter};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ferrite_core::{DaemonInput, Input, PmixCall, PmixEffect, PmixToken};
use ferrite_types::pmix_status::{PMIX_ERR_NOT_FOUND, PMIX_ERR_NOT_SUPPORTED};
use ferrite_types::{DaemonRank, JobId, PmixStatus, Topology};
use ferrite_wire::ControlOrder;
use ferrite_wire::control::{Reply, Request, Submission, Watch};
use rustix::process::{Signal, getpid, kill_process};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep_until};

use crate::children::Holders;
use crate::control::{Dial, Dials, Requests};
use crate::head::{Caller, Keepalive};
use crate::pmix::{self, PmixBridge};
use crate::session_dir::{self, SessionDir};
use crate::{Inbox, host_name, notice, params, signals, start_log};

/// Time for the tool's last events to be written.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Time for jobs of the tool after that of its client, as under `prterun` (spec L35).
const GRACE: Duration = Duration::from_secs(5);

/// What is to be known of a tool and of the DVM that it shall use.
pub struct ToolCall {
    /// The tool.
    pub caller: Caller,
    /// What keeps the client alive, if the tool has said so.
    pub keepalive: Option<Keepalive>,
    /// The name of the DVM.
    pub dvm: String,
    /// Connects to the DVM.
    pub dial: Dial,
    /// The parameters of the client.
    pub params: Vec<(String, String)>,
}

/// A tool that directs this process, and its answer.
pub struct Directed {
    words: UnboundedSender<Word>,
    answer: Receiver<Answer>,
    thread: JoinHandle<()>,
}

/// The job as the tool wants it, or the reason in words why it cannot be launched.
type Answer = Result<Box<Submission>, String>;

/// Gives the answer to the client, and then wakes it.
struct Teller {
    tell: Sender<Answer>,
    /// Its end wakes the client.
    _ringer: PipeWriter,
}

impl Teller {
    fn say(self, answer: Answer) {
        // The client waits for it, or is about to end.
        let _ = self.tell.send(answer);
    }
}

/// What the client has to say of its job.
enum Word {
    Accepted(JobId),
    Runs,
    Waits,
    Over(u8),
}

impl Directed {
    /// Calls the tool, which is to say how this job is launched. Signals are to be caught before. The other end of the
    /// pipe is closed when the answer is there.
    ///
    /// # Errors
    /// There is no thread or no pipe to be had.
    pub fn call(call: ToolCall, submission: Submission) -> io::Result<(Directed, PipeReader)> {
        let (words, said) = unbounded_channel();
        let (tell, answer) = channel();
        let (bell, ringer) = io::pipe()?;
        let tell = Teller { tell, _ringer: ringer };
        let thread = thread::Builder::new().name("tool".to_owned()).spawn(move || {
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return tell.say(Err(format!("The tool cannot be called: {error}."))),
            };
            start_log(&call.params);
            LocalSet::new().block_on(&runtime, attend(call, submission, tell, said));
        })?;
        Ok((Directed { words, answer, thread }, bell))
    }

    /// Returns the tool's answer once it is there.
    #[must_use]
    pub fn answer(&self) -> Option<Answer> {
        match self.answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err("The part that serves the tool has ended.".to_owned())),
        }
    }

    /// The DVM has accepted the job.
    pub fn accepted(&self, job: JobId) {
        self.say(Word::Accepted(job));
    }

    /// The processes of the job run.
    pub fn runs(&self) {
        self.say(Word::Runs);
    }

    /// The processes of the job wait for a debugger.
    pub fn waits(&self) {
        self.say(Word::Waits);
    }

    /// Tells the tool that the job is over, and lets go of it. A job that never began has no code.
    pub fn end(self, exit_code: Option<u8>) {
        exit_code.into_iter().for_each(|code| self.say(Word::Over(code)));
        drop(self.words);
        // A thread that has failed has said so.
        let _ = self.thread.join();
    }

    fn say(&self, word: Word) {
        // The thread ends before its client only when it has failed.
        let _ = self.words.send(word);
    }
}

/// Serves the tool until the client has nothing more to say (spec L139).
async fn attend(call: ToolCall, submission: Submission, tell: Teller, said: UnboundedReceiver<Word>) {
    let ToolCall { caller, keepalive, dvm, dial, params } = call;
    let session_dir = SessionDir::below(
        &session_dir::base(&params, session_dir::LOCAL_BASE),
        session_dir::RUN_PREFIX,
        std::process::id(),
    );
    let (inbox, inputs) = unbounded_channel();
    if let Some(keepalive) = keepalive
        && let Err(error) = signals::watch_lifeline(&inbox, keepalive)
    {
        return tell.say(Err(error.to_string()));
    }
    let dials = Rc::new(Dials::new(dial));
    let bridge = bridge(&inbox, &dvm, &session_dir, &params, &caller);
    bridge.dial_for_tool(dials.clone());
    let called = bridge.call(Box::new(submission));
    let proxy = Proxy { bridge: Rc::new(RefCell::new(bridge)), dials, requests: None };
    let bridge = proxy.bridge.clone();
    proxy.serve(called, tell, said, inputs).await;
    let settled = bridge.borrow().settle(LAST_WORDS);
    settled.await;
    bridge.borrow_mut().shutdown();
    session_dir.remove();
}

fn bridge(
    inbox: &Inbox,
    dvm: &str,
    session_dir: &SessionDir,
    parameters: &[(String, String)],
    caller: &Caller,
) -> PmixBridge {
    let host = pmix::Host {
        dvm,
        daemon: DaemonRank::HEAD,
        hostname: &host_name(),
        session_dir,
        // No job runs here that would be told of it.
        topology: &Topology::uniform(1, 1, 1),
        keep_fqdn: params::is_on(parameters, "prte_keep_fqdn_hostnames"),
        runner: pmix::Runner::of(parameters),
        size_events: params::value(parameters, "prte_dvm_events"),
        caller: Some(caller),
    };
    PmixBridge::new(inbox.clone(), host, None, Holders::none())
}

/// Stands between the library and the DVM.
struct Proxy {
    bridge: Rc<RefCell<PmixBridge>>,
    dials: Rc<Dials>,
    /// For calls that do not say which tool makes them; opened by the first of them.
    requests: Option<Requests>,
}

impl Proxy {
    async fn serve(
        mut self,
        called: impl Future<Output = Answer>,
        tell: Teller,
        mut said: UnboundedReceiver<Word>,
        mut inputs: UnboundedReceiver<Input>,
    ) {
        tokio::pin!(called);
        let (mut tell, mut watches, mut is_over) = (Some(tell), false, false);
        loop {
            tokio::select! {
                answer = &mut called, if tell.is_some() => {
                    let answer = answer.and_then(|job| directed(job, &mut watches));
                    if let Some(tell) = tell.take() {
                        tell.say(answer);
                    }
                }
                word = said.recv() => match word {
                    Some(word) => {
                        is_over |= matches!(word, Word::Over(_));
                        self.hear(word, watches);
                    }
                    None => break,
                },
                input = inputs.recv() => self.take(input),
            }
        }
        if is_over {
            self.wait_for_jobs(&mut inputs).await;
        }
    }

    fn take(&mut self, input: Option<Input>) {
        match input {
            Some(Input::Terminate { cause }) => {
                notice::print(&format!("This job is ended: {cause}."));
                // The client ends its job as for every SIGTERM.
                let _ = kill_process(getpid(), Signal::TERM);
            }
            Some(Input::Daemon(DaemonInput::Pmix(call))) => self.answer(call),
            // Nothing else makes inputs here.
            Some(_) | None => {}
        }
    }

    /// The daemons of a debugger hear of the end of their target, and end then. Others are ended with the client.
    async fn wait_for_jobs(&mut self, inputs: &mut UnboundedReceiver<Input>) {
        let until = Instant::now() + GRACE;
        loop {
            let left = self.bridge.borrow().jobs_of_tools();
            if left.is_empty() {
                return;
            }
            if Instant::now() >= until {
                let left = left.join(", ");
                return notice::print(&format!("What the tool has started in this DVM ends with its job: {left}."));
            }
            let ends = self.bridge.borrow().ends_of_jobs();
            tokio::select! {
                input = inputs.recv() => self.take(input),
                () = ends.notified() => {}
                () = sleep_until(until) => {}
            }
        }
    }

    fn hear(&self, word: Word, watches: bool) {
        let bridge = self.bridge.borrow();
        match word {
            Word::Accepted(job) => bridge.know_own_job(job),
            Word::Runs if watches => bridge.own_job_runs(),
            Word::Runs => {}
            Word::Waits => bridge.own_job_waits(),
            Word::Over(code) => bridge.own_job_is_over(code),
        }
    }

    /// Answers a call of the tool, by a request if there is one that does it. An event goes to the DVM (spec L143).
    fn answer(&mut self, call: PmixCall) {
        match call {
            PmixCall::Query { about, token } => {
                let bridge = self.bridge.clone();
                self.requests().ask(Request::Facts(about), move |reply| {
                    bridge.borrow_mut().apply(match reply {
                        Reply::Facts(facts) => PmixEffect::QueryReply { token, facts },
                        _ => PmixEffect::Reply { token, result: Err(PMIX_ERR_NOT_FOUND) },
                    });
                });
            }
            PmixCall::Control { order, token, .. } => match requests_of(&order) {
                Some(all) => self.carry_out(all, token),
                None => self.refuse(token, "An order of the tool for processes"),
            },
            PmixCall::Release { job, ranks } => {
                self.requests().ask(Request::Release { job, ranks }, |reply| match reply {
                    Reply::Refused(cause) => notice::print(&format!("The tool's release has no effect.\n{cause}")),
                    _ => tracing::debug!("the tool lets processes go on"),
                });
            }
            PmixCall::Session { token, .. } => self.refuse(token, "An order of the tool for sessions"),
            PmixCall::Log { token, .. } => self.refuse(token, "A text of the tool for a log"),
            PmixCall::Event { event, range } => {
                self.requests().ask(Request::Raise { event, range }, |reply| {
                    if let Reply::Refused(cause) = reply {
                        notice::print(&format!("The tool's event reaches nobody.\n{cause}"));
                    }
                });
            }
            // Calls of processes, of which there are none here: the bridge has refused those of a tool already.
            PmixCall::Abort { token, .. }
            | PmixCall::AbortOthers { token, .. }
            | PmixCall::Fence { token, .. }
            | PmixCall::Resize { token, .. }
            | PmixCall::Connect { token, .. }
            | PmixCall::Disconnect { token, .. }
            | PmixCall::GroupConstruct { token, .. }
            | PmixCall::GroupDestruct { token, .. }
            | PmixCall::GiveUp { token, .. }
            | PmixCall::GroupEntry { token, .. }
            | PmixCall::Data { token, .. }
            | PmixCall::Modex { token, .. }
            | PmixCall::Spawn { token, .. } => self.reply(token, PMIX_ERR_NOT_SUPPORTED),
            PmixCall::ClientConnected(_)
            | PmixCall::ClientFinalized(_)
            | PmixCall::HeardOut(_)
            | PmixCall::ReadyForDebug(_)
            | PmixCall::AllReadyForDebug(_)
            | PmixCall::GroupLeft { .. }
            | PmixCall::Alert { .. }
            | PmixCall::Limit { .. }
            | PmixCall::ModexFetched { .. }
            | PmixCall::Pmi1 { .. } => {}
        }
    }

    /// Makes these requests; the call is answered by the first refusal, or when all have been carried out.
    fn carry_out(&mut self, all: Vec<Request>, token: PmixToken) {
        let left = Rc::new(RefCell::new(all.len()));
        for request in all {
            let (bridge, left) = (self.bridge.clone(), left.clone());
            self.requests().ask(request, move |reply| {
                *left.borrow_mut() -= 1;
                match reply {
                    // A second reply for this token finds nobody.
                    Reply::Refused(_) => {
                        bridge.borrow_mut().apply(PmixEffect::Reply { token, result: Err(PMIX_ERR_NOT_FOUND) });
                    }
                    _ if *left.borrow() == 0 => {
                        bridge.borrow_mut().apply(PmixEffect::Reply { token, result: Ok(bytes::Bytes::new()) });
                    }
                    _ => {}
                }
            });
        }
    }

    fn requests(&mut self) -> Requests {
        let open = || Requests::Relayed(self.dials.open(unbounded_channel().0));
        self.requests.get_or_insert_with(open).clone()
    }

    fn refuse(&self, token: PmixToken, what: &str) {
        notice::print(&format!("{what} is not passed on.\n{ATTACH}"));
        self.reply(token, PMIX_ERR_NOT_SUPPORTED);
    }

    fn reply(&self, token: PmixToken, status: PmixStatus) {
        self.bridge.borrow_mut().apply(PmixEffect::Reply { token, result: Err(status) });
    }
}

const ATTACH: &str = "Attach the tool to the DVM for that, or let it start prterun.";

/// What the tool has made of the job; `watches` = it wants to hear that the job runs, which its launcher tells it.
fn directed(mut job: Box<Submission>, watches: &mut bool) -> Answer {
    if pmix::is_beyond(&job.watch) {
        return Err(pmix::BEYOND.to_owned());
    }
    *watches = job.watch.job;
    job.watch = Watch::default();
    Ok(job)
}

/// The requests of a client that do the same; `None` = there are none.
fn requests_of(order: &ControlOrder) -> Option<Vec<Request>> {
    match order {
        ControlOrder::End(jobs) => Some(jobs.iter().map(|job| Request::Kill(*job)).collect()),
        ControlOrder::Signal { targets, signal } if targets.iter().all(|(_, ranks)| ranks.is_empty()) => {
            let request = |(job, _): &(JobId, Vec<_>)| Request::Signal { job: *job, signal: *signal };
            Some(targets.iter().map(request).collect())
        }
        ControlOrder::Signal { .. }
        | ControlOrder::DefineSet(_)
        | ControlOrder::AnswerWithdrawal(_)
        | ControlOrder::RefuseGrowth => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use ferrite_types::{JobSpec, Rank, Signal as Number};

    /// (spec L139)
    #[test]
    fn orders_for_whole_jobs_are_requests_of_a_client_and_others_are_refused() {
        let whole = |job| (JobId(job), Vec::new());
        let stop = ControlOrder::Signal { targets: vec![whole(1), whole(2)], signal: Number::STOP };
        let request = |job| Request::Signal { job: JobId(job), signal: Number::STOP };
        assert_eq!(requests_of(&stop), Some(vec![request(1), request(2)]));
        assert_eq!(requests_of(&ControlOrder::End(vec![JobId(3)])), Some(vec![Request::Kill(JobId(3))]));
        let some = ControlOrder::Signal { targets: vec![(JobId(1), vec![Rank(0)])], signal: Number::STOP };
        assert_eq!(requests_of(&some), None);
    }

    /// The DVM knows no tool by whose name it could address an event (spec L139).
    #[test]
    fn a_tool_hears_of_the_begin_of_its_job_by_its_launcher_and_not_of_processes() {
        let job = |watch| Box::new(Submission { watch, ..Submission::of(JobSpec::new(Vec::new())) });
        let mut watches = false;
        let answer = directed(job(Watch { job: true, ..Watch::default() }), &mut watches);
        assert!(answer.is_ok_and(|job| job.watch == Watch::default()) && watches);
        for watch in [Watch { ends: true, ..Watch::default() }, Watch { failures: true, ..Watch::default() }] {
            let cause = directed(job(watch), &mut watches).err().unwrap_or_default();
            assert!(cause.contains("PMIX_NOTIFY_PROC_TERMINATION"), "{cause}");
        }
    }
}
