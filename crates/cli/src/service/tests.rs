//! Conversations with clients; the DVM behind them is played by the test.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use ferrite_driver::{Interpreter, Said, Service};
use ferrite_types::{JobId, JobState, Rank, StdinTarget};
use ferrite_wire::control::{
    ClientMessage, Dependency, Done, DvmMessage, Ending, Event, EventKind, JobDetail, JobRef, JobStatus, Reply,
    Request, Submission,
};
use ferrite_wire::{JobResize, JobResizeOutcome, JobResized, SizeChange, Stream};
use serde_json::{Value, json};

use super::JsonService;
use super::talk::{LONGEST, MOST_ASKED, MOST_TASKS, MOST_WAITED};
use crate::pdvm::samples;

const NOW: Duration = Duration::from_secs(1_795_302_121);

/// A client of the service.
struct Client(Box<dyn Interpreter>);

/// The lines that were said, parsed.
#[derive(Debug, Default)]
struct Heard {
    lines: Vec<Value>,
    messages: Vec<ClientMessage>,
    is_over: bool,
}

impl From<Said> for Heard {
    fn from(said: Said) -> Heard {
        let text = String::from_utf8(said.lines).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Heard { lines, messages: said.messages, is_over: said.is_over }
    }
}

impl Heard {
    fn only_line(&self) -> &Value {
        assert!(self.lines.len() == 1 && self.messages.is_empty(), "{self:?}");
        &self.lines[0]
    }

    fn only_message(self) -> ClientMessage {
        assert!(self.lines.is_empty() && self.messages.len() == 1, "{self:?}");
        self.messages.into_iter().next().unwrap()
    }

    /// The requests to the DVM, with their numbers.
    fn requests(self) -> Vec<(u32, Request)> {
        let request = |message| match message {
            ClientMessage::Open { id, request } => Some((id, request)),
            _ => None,
        };
        self.messages.into_iter().filter_map(request).collect()
    }
}

impl Client {
    fn new() -> Client {
        Client::of(&JsonService::plain())
    }

    fn of(service: &JsonService) -> Client {
        Client(service.interpreter("dvm", NOW - Duration::from_secs(100)))
    }

    fn say(&mut self, line: &Value) -> Heard {
        self.say_text(&line.to_string())
    }

    fn say_text(&mut self, line: &str) -> Heard {
        self.0.hear(line.as_bytes());
        self.0.hear(b"\n");
        self.0.next(NOW).expect("a whole line").into()
    }

    fn tell(&mut self, message: DvmMessage) -> Heard {
        self.0.tell(message, NOW).into()
    }

    fn reply(&mut self, id: u32, reply: Reply) -> Heard {
        self.tell(DvmMessage::Reply { id, reply })
    }

    fn accept(&mut self, id: u32, job: u32) -> Heard {
        self.tell(DvmMessage::Accepted { id, job: JobId(job), nspace: format!("dvm@{job}") })
    }

    fn step(&mut self, job: u32, state: JobState) -> Heard {
        let what = EventKind::Job { job: JobId(job), state };
        self.tell(DvmMessage::Event { id: 0, event: Event { at_us: 1, what } })
    }

    /// Submits a task that becomes this job; returns the number of its submission.
    fn task(&mut self, name: &str, job: u32) -> u32 {
        let asked = self.say(&submit(json!([{"task": name, "argv": ["true"]}])));
        let number = asked.requests()[0].0;
        self.accept(number, job);
        number
    }
}

fn submit(tasks: Value) -> Value {
    json!({"schema": 1, "kind": "submit", "id": "s", "tasks": tasks})
}

fn submission(request: &Request) -> &Submission {
    let Request::Submit(submission) = request else { panic!("{request:?} is no submission") };
    submission
}

fn status(job: u32, code: Option<u8>) -> JobStatus {
    let ending = code.map(|code| if code == 0 { Ending::Done } else { Ending::Failed });
    JobStatus { job: JobId(job), exit_code: code, ending, ..samples::jobs()[0].clone() }
}

fn detail(job: u32, code: Option<u8>) -> JobDetail {
    JobDetail { status: status(job, code), ..samples::failed() }
}

fn done(job: u32, code: u8) -> Reply {
    Reply::Done(Done { exit_code: code, job: Some(status(job, Some(code))) })
}

/// A task has a priority, and each client is one of its own (spec L122, L123).
#[test]
fn tasks_have_priorities_and_clients_have_names() {
    let service = JsonService::plain();
    let mut clients = [(); 2].map(|()| Client::of(&service));
    let tasks = json!([{"argv": ["a"], "priority": -7}, {"argv": ["a"]}, {"argv": ["a"], "priority": 1001}]);
    let requests = clients.each_mut().map(|client| client.say(&submit(tasks.clone())).requests());
    let submissions: Vec<&Submission> = requests.iter().flatten().map(|(_, request)| submission(request)).collect();
    assert_eq!(submissions.iter().map(|s| s.priority).collect::<Vec<_>>(), [-7, 0, -7, 0], "one is refused");
    let names: Vec<&str> = submissions.iter().map(|s| s.launcher.as_str()).collect();
    assert!(names[0] == names[1] && names[2] == names[3] && names[1] != names[2], "{names:?}");
}

/// A task depends on jobs by number and by name, in its fields and in its options (spec L152).
#[test]
fn tasks_depend_on_jobs_and_on_tasks_of_any_client() {
    let mut client = Client::new();
    let asked = client.say(&submit(json!([
        {"argv": ["a"], "after": [7, "fit"], "after_any": ["8"], "options": ["--after-any", "9,x"]},
        {"argv": ["a"], "after": [-1]},
        {"argv": ["a"], "options": ["--after", "1,,2"]},
    ])));
    let requests = asked.requests();
    let number = |id, well| Dependency { job: JobRef::Number(JobId(id)), well };
    let name = |name: &str, well| Dependency { job: JobRef::Name(name.to_owned()), well };
    let all = [number(9, false), name("x", false), number(7, true), name("fit", true), name("8", false)];
    assert_eq!(submission(&requests[0].1).after, all);
    let heard = client.accept(requests[0].0, 10);
    let errors = [1, 2].map(|at| heard.only_line()["jobs"][at]["error"].as_str().unwrap().to_owned());
    assert!(errors[0].contains("-1 is no number of a job"), "{errors:?}");
    assert!(errors[1].contains("names an empty job"), "{errors:?}");
}

/// Clients of the service (spec L90).
#[test]
fn tasks_are_answered_together_with_their_jobs_and_each_end_is_told() {
    let mut client = Client::new();
    let asked = client.say(&submit(json!([
        {"task": "a", "argv": ["echo", "-n", ":"], "np": 2, "env": {"A": "1"}, "cwd": "/d", "options": ["--pset", "x"]},
        {"argv": ["b"], "options": ["--nonsense"]},
        {"cmd": "a | b", "stdin": "text"},
    ])));
    let requests = asked.requests();
    let first = &submission(&requests[0].1).spec.apps[0];
    assert_eq!((first.argv.join(" "), first.np, first.wdir.as_deref()), ("echo -n :".into(), Some(2), Some("/d")));
    assert!(submission(&requests[0].1).wait_for_slots);
    let [(one, _), (other, _)] = requests[..] else { panic!("{requests:?}") };
    assert_eq!(client.accept(one, 7).lines, [] as [Value; 0], "the answer names all tasks");
    let heard = client.accept(other, 8);
    let answer = heard.only_line();
    assert_eq!((&answer["kind"], &answer["id"]), (&json!("submitted"), &json!("s")));
    assert_eq!(answer["jobs"][0], json!({"task": "a", "job": 7, "namespace": "dvm@7", "error": null}));
    assert_eq!((&answer["jobs"][1]["job"], &answer["jobs"][2]["job"]), (&Value::Null, &json!(8)));
    assert!(answer["jobs"][1]["error"].as_str().unwrap().contains("--nonsense"), "{answer}");
    let read = client.tell(DvmMessage::ReadStdin { id: other, limit: 3 });
    assert_eq!(read.only_message(), ClientMessage::Stdin { id: other, data: Bytes::from_static(b"tex") });
    let written =
        client.tell(DvmMessage::Output { id: one, rank: Rank(0), stream: Stream::Stdout, data: "é\n".into() });
    let output = json!({"schema": 1, "kind": "output", "id": "s", "task": "a", "job": 7, "stream": "stdout",
                        "encoding": "utf-8", "data": "é\n"});
    assert_eq!(written.only_line(), &output);
    let data = Bytes::from_static(b"\xff\x00");
    let raw = client.tell(DvmMessage::Output { id: one, rank: Rank(0), stream: Stream::Stderr, data });
    assert_eq!((&raw.lines[0]["encoding"], &raw.lines[0]["data"]), (&json!("base64"), &json!("/wA=")));
    let ended = client.reply(one, done(7, 0));
    assert_eq!((&ended.only_line()["kind"], &ended.lines[0]["exit_code"]), (&json!("ended"), &json!(0)));
    assert_eq!((&ended.lines[0]["task"], &ended.lines[0]["job"]), (&json!("a"), &json!(7)));
}

/// (spec L150)
#[test]
fn a_task_is_fed_while_it_runs_and_each_piece_is_answered_when_it_is_taken() {
    let mut client = Client::new();
    let asked = client.say(&submit(json!([{"task": "a", "argv": ["a"], "stdin": "0", "feed": true}])));
    let task = asked.requests()[0].0;
    client.accept(task, 7);
    let read = |client: &mut Client, limit| client.tell(DvmMessage::ReadStdin { id: task, limit });
    let piece = |data: &'static [u8]| ClientMessage::Stdin { id: task, data: Bytes::from_static(data) };
    let feed = |what: Value| {
        let mut line = json!({"schema": 1, "kind": "feed", "id": "f", "task": "a"});
        line.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        line
    };
    assert_eq!(read(&mut client, 9).only_message(), piece(b"0"));
    assert!(read(&mut client, 2).messages.is_empty(), "the client has to give more first");
    let heard = client.say(&feed(json!({"data": "AP8B", "encoding": "base64"})));
    assert_eq!((heard.lines.len(), heard.only_message()), (0, piece(b"\x00\xff")), "not all of it is taken");
    assert_eq!(client.say(&feed(json!({"data": "too soon"}))).only_line()["reason"], json!("refused"));
    let mut heard = read(&mut client, 2);
    let answer = heard.lines.remove(0);
    assert_eq!((&answer["id"], &answer["order"], &answer["job"]), (&json!("f"), &json!("feed"), &json!(7)));
    assert_eq!(heard.only_message(), piece(b"\x01"));
    assert!(client.say(&feed(json!({"data": "2", "end": true}))).lines.is_empty());
    assert_eq!(client.say(&feed(json!({"data": "3"}))).only_line()["reason"], json!("refused"));
    assert_eq!(read(&mut client, 9).messages, [piece(b"2")]);
    assert_eq!(read(&mut client, 9).only_message(), piece(b""));
    client.reply(task, done(7, 0));
    assert_eq!(client.say(&feed(json!({"data": "4"}))).only_line()["reason"], json!("refused"));
}

#[test]
fn a_task_says_which_of_its_processes_read_its_input() {
    let mut client = Client::new();
    let tasks = json!([
        {"argv": ["a"], "np": 2, "stdin": "x"},
        {"argv": ["a"], "np": 2, "feed": true, "options": ["--stdin", "all"]},
        {"argv": ["a"], "options": ["--stdin", "0"]},
    ]);
    let asked = client.say(&submit(tasks)).requests();
    let readers: Vec<_> = asked.iter().map(|(_, request)| submission(request).spec.stdin).collect();
    assert_eq!(readers, [Some(StdinTarget::Rank(Rank(0))), Some(StdinTarget::All)], "the last one is refused");
}

/// (spec L150)
#[test]
fn input_that_a_task_has_not_taken_at_its_end_is_refused() {
    let mut client = Client::new();
    let task = client.say(&submit(json!([{"task": "a", "argv": ["a"], "feed": true}]))).requests()[0].0;
    client.accept(task, 7);
    assert!(client.say(&json!({"schema": 1, "kind": "feed", "job": 7, "data": "x"})).lines.is_empty());
    let ended = client.reply(task, done(7, 0));
    assert_eq!((&ended.lines[0]["kind"], &ended.lines[1]["kind"]), (&json!("error"), &json!("ended")));
}

#[test]
fn a_failed_task_says_why() {
    let mut client = Client::new();
    let task = client.task("a", 7);
    let [(asked, Request::Job(JobId(7)))] = client.reply(task, done(7, 137)).requests()[..] else {
        panic!("no question")
    };
    let states = vec![(JobState::Init, 1), (JobState::AbortedBySig, 2), (JobState::Terminated, 3)];
    let killed = JobDetail { states, cause: "killed".to_owned(), ..detail(7, Some(137)) };
    let heard = client.reply(asked, Reply::Job(Box::new(killed)));
    let ended = heard.only_line();
    assert_eq!((&ended["signal"], &ended["cause"], &ended["exit_code"]), (&json!(9), &json!("killed"), &json!(137)));
    let task = client.task("b", 8);
    client.tell(DvmMessage::Notice { id: task, text: "no such file".to_owned() });
    let [(asked, _)] = client.reply(task, done(8, 1)).requests()[..] else { panic!("no question") };
    let heard = client.reply(asked, Reply::Refused("forgotten".to_owned()));
    assert_eq!(heard.only_line()["cause"], json!("no such file"));
}

#[test]
fn a_refused_task_is_an_error_in_the_answer_to_its_submission() {
    let mut client = Client::new();
    let [(task, _)] = client.say(&submit(json!([{"argv": ["a"]}]))).requests()[..] else { panic!("no task") };
    let heard = client.reply(task, Reply::Refused("the DVM is ending".to_owned()));
    assert_eq!(heard.only_line()["jobs"][0]["error"], json!("the DVM is ending"));
}

#[test]
fn a_client_that_follows_hears_what_its_tasks_wait_for_and_when_they_start() {
    let mut client = Client::new();
    let heard = client.say(&json!({"schema": 1, "kind": "follow"}));
    assert_eq!(heard.lines[0]["of"], json!("own"));
    assert_eq!(heard.messages, [ClientMessage::Follow { id: 0 }]);
    let [(task, _)] = client.say(&submit(json!([{"argv": ["a"]}]))).requests()[..] else { panic!("no task") };
    let [(asked, Request::Job(_))] = client.accept(task, 7).requests()[..] else { panic!("no question") };
    let waits = JobDetail { status: JobStatus { running_us: None, ..status(7, None) }, ..samples::queued() };
    let heard = client.reply(asked, Reply::Job(Box::new(waits)));
    assert_eq!(heard.only_line()["kind"], json!("waiting"));
    assert!(client.step(9, JobState::Running).messages.is_empty(), "not its task");
    let [(asked, Request::Job(_))] = client.step(7, JobState::Running).requests()[..] else { panic!("no question") };
    let heard = client.reply(asked, Reply::Job(Box::new(JobDetail { status: status(7, None), ..samples::detail() })));
    assert_eq!(heard.only_line()["kind"], json!("started"));
    assert!(heard.lines[0]["process_list"][0]["pid"].is_number(), "{heard:?}");
    client.say(&json!({"schema": 1, "kind": "follow", "of": "all"}));
    assert_eq!(client.step(9, JobState::Map).only_line()["kind"], json!("job_state"));
}

/// Clients of the service (spec L91).
#[test]
fn a_wait_is_answered_when_all_its_jobs_are_over() {
    let mut client = Client::new();
    let heard = client.say(&json!({"schema": 1, "kind": "wait", "id": 5, "jobs": [7, 8]}));
    assert_eq!(heard.messages[0], ClientMessage::Follow { id: 0 }, "no end is missed");
    let [(seven, _), (eight, _)] = heard.requests()[..] else { panic!("no questions") };
    assert!(client.reply(seven, Reply::Job(Box::new(detail(7, None)))).lines.is_empty());
    assert!(client.reply(eight, Reply::Refused("unknown".to_owned())).lines.is_empty());
    assert!(client.step(7, JobState::Running).messages.is_empty());
    let [(asked, _)] = client.step(7, JobState::Terminated).requests()[..] else { panic!("no question") };
    assert!(client.step(7, JobState::Notified).messages.is_empty(), "one question at a time");
    // The first answer is from before the end; the second step asks again.
    let [(asked, _)] = client.reply(asked, Reply::Job(Box::new(detail(7, None)))).requests()[..] else {
        panic!("none")
    };
    let heard = client.reply(asked, Reply::Job(Box::new(detail(7, Some(3)))));
    let answer = heard.only_line();
    assert_eq!((&answer["kind"], &answer["id"], &answer["unknown"]), (&json!("waited"), &json!(5), &json!([8])));
    assert_eq!((&answer["jobs"][0]["job"], &answer["jobs"][0]["exit_code"]), (&json!(7), &json!(3)));
    assert_eq!(client.say(&json!({"schema": 1, "kind": "wait"})).only_line()["kind"], json!("waited"));
}

#[test]
fn a_task_is_found_by_its_name_from_another_connection() {
    let service = JsonService::plain();
    let (mut one, mut other) = (Client(service.interpreter("d", NOW)), Client(service.interpreter("d", NOW)));
    let [(task, _)] = one.say(&submit(json!([{"task": "a", "argv": ["a"], "detach": true}]))).requests()[..] else {
        panic!("no task")
    };
    let heard = one.reply(task, Reply::Detached(JobId(7)));
    assert_eq!(heard.only_line()["jobs"][0]["namespace"], json!("d@7"));
    let heard = other.say(&json!({"schema": 1, "kind": "wait", "tasks": ["a"]}));
    assert!(matches!(heard.requests()[..], [(_, Request::Job(JobId(7)))]));
    let heard = other.say(&json!({"schema": 1, "kind": "wait", "tasks": ["b"]}));
    assert_eq!(heard.only_line()["reason"], json!("refused"));
}

/// Clients of the service (spec L91).
#[test]
fn cancelling_what_is_over_is_no_error() {
    let mut client = Client::new();
    let cancel = json!({"schema": 1, "kind": "cancel", "id": 1, "job": 7});
    let [(asked, Request::Kill(JobId(7)))] = client.say(&cancel).requests()[..] else { panic!("no order") };
    let over = Reply::Refused("Job 7 is over.".to_owned());
    let [(asked, Request::Job(_))] = client.reply(asked, over.clone()).requests()[..] else { panic!("no question") };
    let heard = client.reply(asked, Reply::Job(Box::new(detail(7, Some(0)))));
    let answer = json!({"schema": 1, "kind": "ordered", "id": 1, "order": "cancel", "job": 7, "signal": null,
                        "over": true});
    assert_eq!(heard.only_line(), &answer);
    let [(asked, _)] = client.say(&cancel).requests()[..] else { panic!("no order") };
    let [(asked, _)] = client.reply(asked, over).requests()[..] else { panic!("no question") };
    let heard = client.reply(asked, Reply::Refused("There is no job 7.".to_owned()));
    assert_eq!(heard.only_line()["error"], json!("There is no job 7."));
    let [(task, _)] = client.say(&submit(json!([{"task": "early", "argv": ["a"]}]))).requests()[..] else { panic!() };
    let heard = client.say(&json!({"schema": 1, "kind": "cancel", "task": "early"}));
    assert_eq!(heard.messages, [ClientMessage::Cancel { id: task }]);
}

/// Clients of the service (spec L130).
#[test]
fn a_whole_tree_is_cancelled_also_when_its_root_is_over() {
    let mut client = Client::new();
    let cancel = json!({"schema": 1, "kind": "cancel", "id": 1, "job": 7, "tree": true});
    let [(asked, Request::KillTree(JobId(7)))] = client.say(&cancel).requests()[..] else { panic!("no order") };
    let heard = client.reply(asked, Reply::Killed(vec![JobId(8), JobId(11)]));
    let answer = json!({"schema": 1, "kind": "ordered", "id": 1, "order": "cancel", "job": 7, "signal": null,
                        "over": true, "jobs": [8, 11]});
    assert_eq!(heard.only_line(), &answer);
    let [(asked, _)] = client.say(&cancel).requests()[..] else { panic!("no order") };
    let over = Reply::Refused("Job 7 is over.".to_owned());
    let [(asked, Request::Job(_))] = client.reply(asked, over).requests()[..] else { panic!("no question") };
    let heard = client.reply(asked, Reply::Job(Box::new(detail(7, Some(0)))));
    assert_eq!((&heard.only_line()["over"], &heard.only_line()["jobs"]), (&json!(true), &json!([])));
    let heard = client.say(&json!({"schema": 1, "kind": "job", "job": 7, "tree": true}));
    assert_eq!(heard.only_line()["reason"], json!("usage"));
}

/// Clients of the service (spec L90).
#[test]
fn a_bad_line_is_one_error_and_the_conversation_goes_on() {
    let mut client = Client::new();
    let bad = [
        "{",
        "[]",
        "{}",
        r#"{"schema":2,"kind":"status"}"#,
        r#"{"schema":1}"#,
        r#"{"schema":1,"kind":"no"}"#,
        r#"{"schema":1,"kind":"status","x":1}"#,
        r#"{"schema":1,"kind":"submit","tasks":[{"nope":1}]}"#,
        r#"{"schema":1,"kind":"cancel"}"#,
        r#"{"schema":1,"kind":"signal","job":1,"signal":"NO"}"#,
        r#"{"schema":1,"kind":"feed","job":1}"#,
        r#"{"schema":1,"kind":"feed","job":1,"data":"?","encoding":"base64"}"#,
        r#"{"schema":1,"kind":"grow"}"#,
        r#"{"schema":1,"kind":"grow","activate":["file=/x"]}"#,
        r#"{"schema":1,"kind":"shrink"}"#,
        r#"{"schema":1,"kind":"grow","nodes":0}"#,
        r#"{"schema":1,"kind":"resize","job":1,"size":"2"}"#,
        r#"{"schema":1,"kind":"resize","size":"+2"}"#,
        r#"{"schema":1,"kind":"status","id":[]}"#,
    ];
    for line in bad {
        let heard = client.say_text(line);
        let answer = heard.only_line();
        assert_eq!((&answer["kind"], &answer["reason"]), (&json!("error"), &json!("usage")), "{line}: {answer}");
    }
    let heard = client.say(&json!({"schema": 1, "kind": "nope", "id": "mine"}));
    assert_eq!(heard.only_line()["id"], json!("mine"));
    client.0.hear(&vec![b'x'; LONGEST + 1]);
    assert_eq!(Heard::from(client.0.next(NOW).unwrap()).only_line()["kind"], json!("error"));
    client.0.hear(b"x\n");
    assert!(client.0.next(NOW).is_none());
    assert!(matches!(client.say(&json!({"schema": 1, "kind": "nodes"})).requests()[..], [(_, Request::Nodes)]));
}

/// (spec E54, L90)
#[test]
fn a_client_asks_for_another_size_of_a_job() {
    let mut client = Client::new();
    let ask = json!({"schema": 1, "kind": "resize", "job": 3, "size": "+2", "grace": 9, "wait": true, "id": 5});
    let asked = |client: &mut Client| client.say(&ask).requests().remove(0);
    let resize =
        JobResize { job: JobId(3), size: SizeChange::More(2), time_s: Some(9), force: false, wait: true, nodes: None };
    let (number, request) = asked(&mut client);
    assert!(matches!(request, Request::ResizeJob(of) if of == resize));
    let end = |outcome| Reply::JobResized(JobResized { job: JobId(3), size: 6, is_offer: true, procs: 2, outcome });
    let heard = client.reply(number, end(JobResizeOutcome::Done));
    let answer = heard.only_line();
    assert_eq!(
        (&answer["kind"], &answer["id"], &answer["outcome"]),
        (&json!("job_resized"), &json!(5), &json!("done"))
    );
    assert_eq!((&answer["processes"], &answer["size"]), (&json!(2), &json!(6)));
    let (number, _) = asked(&mut client);
    let heard = client.reply(number, end(JobResizeOutcome::Failed("It refuses.".to_owned())));
    assert_eq!(heard.only_line()["kind"], json!("error"));
}

/// Clients of the service (spec L92).
#[test]
fn what_a_client_has_under_way_is_bounded() {
    let mut client = Client::new();
    let tasks: Vec<Value> = (0..=MOST_TASKS).map(|_| json!({"argv": ["a"]})).collect();
    assert_eq!(client.say(&submit(tasks.into())).requests().len(), MOST_TASKS);
    for _ in 0..MOST_ASKED {
        assert!(client.say(&json!({"schema": 1, "kind": "jobs"})).lines.is_empty());
    }
    let heard = client.say(&json!({"schema": 1, "kind": "jobs"}));
    assert_eq!(heard.only_line()["reason"], json!("refused"));
    let jobs: Vec<u32> = (0..=MOST_WAITED as u32).collect();
    let heard = client.say(&json!({"schema": 1, "kind": "wait", "jobs": jobs}));
    assert_eq!(heard.only_line()["reason"], json!("refused"));
}

/// Clients of the service (spec L92).
#[test]
fn files_of_the_heads_machine_are_not_read() {
    let mut client = Client::new();
    for options in [
        json!(["--hostfile", "/etc/passwd"]),
        json!(["--default-hostfile", "/etc/passwd"]),
        json!(["--map-by", "rankfile:FILE=/etc/passwd"]),
        json!(["--add-hostfile", "/etc/passwd"]),
        json!(["--activate", "file=/etc/passwd"]),
        json!(["--preload-files", "/etc/passwd"]),
        json!(["--app", "/etc/passwd"]),
        json!(["--tune", "/etc/passwd"]),
    ] {
        let heard = client.say(&submit(json!([{"argv": ["a"], "options": options}])));
        assert!(heard.only_line()["jobs"][0]["error"].is_string(), "{options}: {heard:?}");
    }
}

/// The end of a conversation that its client closes (spec L153).
#[test]
fn a_client_that_closes_loses_its_tasks_and_gets_every_answer_and_then_the_last_line() {
    let mut client = Client::new();
    let first = client.task("a", 7);
    let asked = client.say(&submit(json!([{"argv": ["b"]}, {"argv": ["c"], "detach": true}]))).requests();
    let [(second, _), (detached, _)] = asked[..] else { panic!("{asked:?}") };
    let (looked, _) = client.say(&json!({"schema": 1, "kind": "wait", "jobs": [7]})).requests().remove(0);
    client.reply(looked, Reply::Job(Box::new(detail(7, None))));
    let (question, _) = client.say(&json!({"schema": 1, "kind": "nodes"})).requests().remove(0);
    let closing = client.say(&json!({"schema": 1, "kind": "close", "id": "c"}));
    assert!(closing.lines.is_empty() && !closing.is_over);
    assert_eq!(closing.messages, [first, second].map(|id| ClientMessage::Cancel { id }), "the detached task goes on");
    // The DVM ignores lines of the client behind its last one.
    client.0.hear(b"{\"schema\":1,\"kind\":\"terminate\"}\n");
    assert_eq!(client.0.next(NOW), None);
    assert_eq!(client.reply(question, Reply::Nodes(Vec::new())).only_line()["kind"], "nodes");
    client.reply(second, Reply::Done(Done { exit_code: 125, job: None }));
    let answer = client.reply(detached, Reply::Detached(JobId(9)));
    let jobs = &answer.only_line()["jobs"];
    assert!(jobs[0]["error"].is_string() && jobs[1]["job"] == 9, "{jobs}");
    let (explained, _) = client.reply(first, done(7, 125)).requests().remove(0);
    let (looked, _) = client.step(7, JobState::Terminated).requests().remove(0);
    assert_eq!(client.reply(explained, Reply::Job(Box::new(detail(7, Some(125))))).only_line()["kind"], "ended");
    let last = client.reply(looked, Reply::Job(Box::new(detail(7, Some(125)))));
    let kinds: Vec<&Value> = last.lines.iter().map(|line| &line["kind"]).collect();
    assert!(last.is_over && kinds == ["waited", "closed"], "{last:?}");
    assert_eq!(last.lines[1], json!({"schema": 1, "kind": "closed", "id": "c"}));
    let late = client.step(8, JobState::Running);
    assert!(late.lines.is_empty() && late.messages.is_empty(), "{late:?}");
}

/// A client without tasks and questions is over at once (spec L153).
#[test]
fn a_client_that_has_nothing_open_is_over_when_it_closes() {
    let mut client = Client::new();
    client.say(&json!({"schema": 1, "kind": "follow", "of": "all"}));
    let last = client.say(&json!({"schema": 1, "kind": "close"}));
    assert!(last.is_over, "{last:?}");
    assert_eq!(last.only_line(), &json!({"schema": 1, "kind": "closed", "id": null}));
    let event = client.step(1, JobState::Running);
    assert!(event.lines.is_empty(), "{event:?}");
}

/// The rows of a section of the page: the texts between backticks in their first column.
fn rows(page: &str, title: &str) -> BTreeSet<String> {
    let from = page.find(&format!("\n### {title}\n")).unwrap_or_else(|| panic!("no section {title}"));
    let section = page[from + 5..].split("\n#").next().unwrap();
    let names = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    names.flat_map(|names| names.split('`').step_by(2)).map(str::to_owned).filter(|name| name != ", ").collect()
}

#[test]
fn the_page_about_the_service_has_each_field_of_each_request_and_no_other() {
    let page = include_str!("../../../../docs/service.md");
    let mut client = Client::new();
    let mut expected = |line: &str| -> BTreeSet<String> {
        let heard = client.say_text(line);
        let error = heard.only_line()["error"].as_str().unwrap().to_owned();
        error
            .split_once("expected")
            .unwrap_or_else(|| panic!("{error}"))
            .1
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    for kind in ["submit", "follow", "wait", "cancel", "signal", "feed", "grow", "shrink", "resize"] {
        let fields = expected(&format!(r#"{{"schema":1,"kind":"{kind}","~":1}}"#));
        assert_eq!(rows(page, &format!("`{kind}`")), fields, "{kind}");
    }
    let task = expected(r#"{"schema":1,"kind":"submit","tasks":[{"~":1}]}"#);
    assert_eq!(rows(page, "A task"), task);
}

#[test]
fn the_page_about_the_service_has_each_field_of_each_answer_and_no_other() {
    let page = include_str!("../../../../docs/service.md");
    let jobs = include_str!("../../../../docs/pdvm-json.md");
    let of_jobs = jobs.split("\n## `jobs`\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let of_jobs: BTreeSet<String> = of_jobs
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" |").next())
        .flat_map(|names| names.split('`').step_by(2))
        .map(str::to_owned)
        .collect();
    let every = ["schema", "kind", "id"].map(str::to_owned);
    for line in all_answers() {
        let kind = line["kind"].as_str().unwrap();
        let mut found: BTreeSet<String> = line.as_object().unwrap().keys().cloned().collect();
        every.iter().for_each(|field| assert!(found.remove(field), "{kind}: no {field}"));
        let documented = rows(page, &format!("`{kind}`"));
        let is_job = found.contains("command");
        let unknown: Vec<_> =
            found.iter().filter(|f| !(documented.contains(*f) || is_job && of_jobs.contains(*f))).collect();
        assert!(unknown.is_empty(), "{kind}: {unknown:?} is not on the page");
        let missing: Vec<_> = documented.difference(&found).collect();
        assert!(missing.is_empty(), "{kind}: there is no {missing:?}");
    }
}

/// One line of each kind that the service has and `pdvm` has not.
fn all_answers() -> Vec<Value> {
    let mut client = Client::new();
    let mut all = vec![client.say_text("{").lines.remove(0)];
    all.push(client.say(&json!({"schema": 1, "kind": "follow"})).lines.remove(0));
    let [(task, _)] = client.say(&submit(json!([{"argv": ["a"]}]))).requests()[..] else { panic!("no task") };
    let mut accepted = client.accept(task, 7);
    all.push(accepted.lines.remove(0));
    let (asked, _) = accepted.requests().remove(0);
    let waits = JobDetail { status: JobStatus { running_us: None, ..status(7, None) }, ..samples::queued() };
    all.push(client.reply(asked, Reply::Job(Box::new(waits))).lines.remove(0));
    let (asked, _) = client.step(7, JobState::Running).requests().remove(0);
    all.push(client.reply(asked, Reply::Job(Box::new(detail(7, None)))).lines.remove(0));
    let output = DvmMessage::Output { id: task, rank: Rank(0), stream: Stream::Stdout, data: "a".into() };
    all.push(client.tell(output).lines.remove(0));
    all.push(client.tell(DvmMessage::Notice { id: task, text: "a".to_owned() }).lines.remove(0));
    all.push(client.reply(task, done(7, 0)).lines.remove(0));
    all.push(client.say(&json!({"schema": 1, "kind": "wait"})).lines.remove(0));
    let cancel = json!({"schema": 1, "kind": "cancel", "job": 7, "tree": true});
    let (asked, _) = client.say(&cancel).requests().remove(0);
    all.push(client.reply(asked, Reply::Killed(vec![JobId(7)])).lines.remove(0));
    all.push(client.say(&json!({"schema": 1, "kind": "close"})).lines.remove(0));
    all
}
