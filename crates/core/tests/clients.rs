//! A DVM that stays up, and its clients: one reply each, their own output, slots that are never taken twice.

mod common;

use common::{Cluster, dvm_with, job};
use ferrite_core::{DaemonInput, HeadInput, HeadTimer, Input, RequestId, Timer};
use ferrite_types::*;
use ferrite_wire::Stream;
use ferrite_wire::control::{Reply, Request, Submission};

fn patient(spec: JobSpec) -> Submission {
    Submission { wait_for_slots: true, ..Submission::of(spec) }
}

fn rank(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

fn refusal(reply: &Reply) -> &str {
    match reply {
        Reply::Refused(text) => text,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn pictures_of_the_map_go_to_the_submitter_whether_the_job_is_launched_or_not() {
    for do_not_launch in [false, true] {
        let mut cluster = Cluster::persistent(2);
        let mut spec = job("a", 2);
        spec.display.pictures = vec![PictureFormat::Svg, PictureFormat::Html];
        spec.options.do_not_launch = do_not_launch;
        cluster.submit(7, Submission::of(spec));
        let formats: Vec<_> = cluster.pictures.iter().map(|(to, format, _)| (to.0, *format)).collect();
        assert_eq!(formats, [(7, PictureFormat::Svg), (7, PictureFormat::Html)]);
        assert!(cluster.pictures.iter().all(|(_, _, text)| text.contains(": 2 ranks on ")));
    }
}

#[test]
fn a_client_hears_the_defaults_of_jobs() {
    let params = [("output", "tag"), ("rtos", "recoverable"), ("mapby", "node")];
    let mut dvm = Cluster::of(Cluster::config(2, &params, true));
    dvm.ask(3, Request::Defaults);
    let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert!(
        matches!(dvm.reply(3), Reply::Defaults(all) if *all == [named("output", "tag"), named("rtos", "recoverable")])
    );
}

#[test]
fn the_table_of_processes_comes_once_when_all_have_started() {
    for (to, stdout, files) in [(TableTo::Stdout, 3, 0), (TableTo::File, 0, 1)] {
        let mut dvm = Cluster::persistent(2);
        let mut spec = job("a.out", 2);
        spec.map.by = Some(MapBy::Node);
        spec.display.processes = Some(to);
        dvm.submit(7, Submission::of(spec));
        assert_eq!((dvm.stdout_of(7).lines().count(), dvm.pictures.len()), (stdout, files));
        let table = dvm.pictures.first().map_or_else(|| dvm.stdout_of(7), |(_, _, text)| text.clone());
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["rank", "node", "pid", "program"]);
        assert_eq!((lines[1][..2].to_vec(), lines[2][..2].to_vec()), (vec!["0", "n0"], vec!["1", "n1"]));
        assert!(lines[1..].iter().all(|line| line[2].parse::<u32>().is_ok() && line[3] == "a.out"), "{table}");
        dvm.exit_job(1);
        assert_eq!((dvm.stdout_of(7).lines().count(), dvm.pictures.len()), (stdout, files));
    }
}

/// TERMINATED, then the reply (spec L34).
#[test]
fn two_clients_get_each_its_own_output_and_exit_code() {
    let mut dvm = Cluster::persistent(2);
    dvm.submit(1, Submission::of(job("a", 1)));
    dvm.submit(2, Submission::of(job("b", 1)));
    for (id, text) in [(1, "one\n"), (2, "two\n")] {
        let proc = rank(id, 0);
        let at = dvm.running[&proc].0;
        dvm.input(at, Input::Daemon(DaemonInput::Output { proc, stream: Stream::Stdout, data: text.into() }));
        dvm.run();
    }
    dvm.exit(rank(2, 0), ExitStatus::Exited(3));
    assert_eq!((dvm.replies.len(), dvm.code_of(2)), (1, 3));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
    assert_eq!((dvm.stdout_of(1), dvm.stdout_of(2)), ("one\n".into(), "two\n".into()));
}

#[test]
fn a_client_that_does_not_read_stops_its_own_job_alone() {
    let mut dvm = Cluster::persistent(1);
    dvm.submit(1, Submission::of(job("loud", 1)));
    dvm.submit(2, Submission::of(job("other", 1)));
    dvm.flowing = false;
    let data = bytes::Bytes::from(vec![b'\n'; 8 << 20]);
    dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::Output { proc: rank(1, 0), stream: Stream::Stdout, data }));
    dvm.run();
    let mut asks = |job| {
        let mut fx = ferrite_core::Effects::new();
        let output =
            Input::Daemon(DaemonInput::Output { proc: rank(job, 0), stream: Stream::Stdout, data: "x\n".into() });
        dvm.nodes.get_mut(&DaemonRank::HEAD).unwrap().handle(Timestamp(2), output, &mut fx);
        fx.as_slice().iter().any(|e| matches!(e, ferrite_core::Effect::ReadOutput { .. }))
    };
    assert!(!asks(1), "its window is full");
    assert!(asks(2), "the other job goes on");
}

/// A job without room is refused (spec L14).
#[test]
fn a_job_without_slots_is_refused_with_the_arithmetic_unless_it_waits() {
    let mut dvm = Cluster::persistent(1);
    dvm.submit(1, Submission::of(job("a", 4)));
    dvm.submit(2, Submission::of(job("b", 1)));
    assert_eq!(dvm.code_of(2), 1);
    assert!(dvm.notices[0].contains('4'), "{}", dvm.notices[0]);
    dvm.submit(3, patient(job("c", 2)));
    dvm.submit(4, patient(job("d", 1)));
    assert_eq!(dvm.running.len(), 4, "they wait");
    dvm.exit_job(1);
    assert_eq!(dvm.running.len(), 3, "both have their slots");
    dvm.exit_all();
    assert_eq!((dvm.code_of(3), dvm.code_of(4)), (0, 0));
}

/// Jobs that wait for slots are served in their order (spec L15), and none passes another without backfill (spec L124).
#[test]
fn the_queue_keeps_its_order_and_one_that_can_never_run_is_refused_at_once() {
    let mut dvm = dvm_with(1, &[("ferrite_backfill", "0")]);
    dvm.submit(1, Submission::of(job("a", 3)));
    dvm.submit(2, patient(job("wide", 4)));
    dvm.submit(3, patient(job("narrow", 1)));
    dvm.submit(4, patient(job("too wide", 5)));
    assert!(dvm.accepted.len() == 4 && dvm.running.len() == 3, "nobody overtakes");
    assert_eq!(dvm.code_of(4), 1, "it does not wait for its turn");
    dvm.ask(9, Request::Job(JobId(3)));
    let Reply::Job(detail) = dvm.reply(9) else { panic!() };
    assert_eq!(detail.status.waiting_for, "1 slots (1 of 4 are free, 1 jobs are before it)");
    dvm.exit_job(1);
    assert_eq!(dvm.running.len(), 4, "the wide one runs");
    dvm.exit_job(2);
    dvm.exit_job(3);
    assert_eq!((dvm.code_of(2), dvm.code_of(3)), (0, 0));
}

#[test]
fn a_queued_job_that_is_cancelled_lets_those_behind_it_go_on() {
    let mut dvm = dvm_with(1, &[("ferrite_backfill", "0")]);
    dvm.submit(1, Submission::of(job("a", 3)));
    dvm.submit(2, patient(job("wide", 4)));
    dvm.submit(3, patient(job("narrow", 1)));
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Cancel(RequestId(2))));
    dvm.run();
    assert_eq!((dvm.code_of(2), dvm.running.len()), (125, 4));
}

/// Time limits count from the map (spec L16).
#[test]
fn the_time_limit_of_a_job_that_waits_begins_when_it_gets_its_slots() {
    let mut dvm = Cluster::persistent(1);
    dvm.submit(1, Submission::of(job("a", 4)));
    let mut spec = job("b", 1);
    spec.options.timeout = Some(Duration::from_secs(1));
    dvm.submit(2, patient(spec));
    let limit = (DaemonRank::HEAD, Timer::Head(HeadTimer::JobTimeout(JobId(2))));
    assert!(!dvm.timers.contains(&limit));
    dvm.exit_job(1);
    assert!(dvm.timers.contains(&limit));
}

#[test]
fn the_job_of_a_client_that_is_gone_ends_and_a_detached_one_lives() {
    let mut dvm = Cluster::persistent(2);
    dvm.submit(1, Submission::of(job("a", 2)));
    dvm.submit(2, Submission { detach: true, ..Submission::of(job("b", 1)) });
    assert_eq!(dvm.reply(2), &Reply::Detached(JobId(2)));
    for id in [1, 2] {
        dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(id))));
    }
    dvm.run();
    assert_eq!(dvm.running.keys().map(|p| p.job).collect::<Vec<_>>(), [JobId(2)]);
    assert_eq!(dvm.replies.len(), 1, "nobody is there to hear of job 1");
    let data = "nowhere\n".into();
    let at = dvm.running[&rank(2, 0)].0;
    dvm.input(at, Input::Daemon(DaemonInput::Output { proc: rank(2, 0), stream: Stream::Stdout, data }));
    dvm.run();
    assert!(dvm.written.is_empty(), "it has no reader");
    dvm.exit_job(2);
    dvm.ask(9, Request::Jobs);
    let Reply::Jobs(jobs) = dvm.reply(9) else { panic!() };
    assert_eq!(jobs.iter().map(|j| (j.job.0, j.exit_code)).collect::<Vec<_>>(), [(1, Some(1)), (2, Some(0))]);
}

/// Submissions that come before VM_READY are kept until then (spec L9).
#[test]
fn a_submission_that_is_cancelled_before_the_dvm_is_ready_is_answered_and_never_runs() {
    let mut dvm = Cluster::new(2, &[]);
    dvm.submit(1, Submission::of(job("a", 1)));
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Cancel(RequestId(1))));
    dvm.run();
    assert_eq!(dvm.code_of(1), 125);
}

/// Every accepted request gets exactly one reply (spec L39).
#[test]
fn pterm_is_acknowledged_and_everybody_who_waits_is_answered() {
    let mut dvm = Cluster::persistent(3);
    dvm.submit(1, Submission::of(job("a", 3)));
    dvm.submit(2, patient(job("b", 12)));
    dvm.ask(3, Request::Terminate);
    assert_eq!(dvm.reply(3), &Reply::Ordered);
    assert_eq!((dvm.code_of(1), dvm.code_of(2)), (1, 1));
    assert_eq!(dvm.exits[&DaemonRank::HEAD], 0, "it was asked to");
    dvm.assert_gone();
}

#[test]
fn files_of_a_job_are_closed_when_it_is_over_and_no_others() {
    let mut dvm = Cluster::persistent(1);
    for id in [1, 2] {
        let mut spec = job("a", 1);
        spec.output.file = Some(format!("/out/{id}"));
        dvm.submit(id, Submission::of(spec));
        let data = "x\n".into();
        dvm.input(
            DaemonRank::HEAD,
            Input::Daemon(DaemonInput::Output { proc: rank(id as u32, 0), stream: Stream::Stdout, data }),
        );
        dvm.run();
    }
    dvm.exit_job(1);
    let file = |id: u32| format!("/out/{id}.{}.0.out", JobId(id).nspace("prterun-n0-1"));
    assert_eq!(dvm.closed_files, [file(1)]);
    assert_eq!(dvm.files[&file(2)], b"x\n");
}

#[test]
fn what_cannot_be_done_is_refused_with_a_reason() {
    let mut dvm = Cluster::persistent(1);
    dvm.submit(1, Submission::of(JobSpec::new(vec![])));
    dvm.ask(2, Request::Kill(JobId(7)));
    dvm.ask(3, Request::Job(JobId(7)));
    assert!(refusal(dvm.reply(1)).contains("no program"));
    assert!(refusal(dvm.reply(2)).contains("no job 7"));
    assert!(refusal(dvm.reply(3)).contains("no job 7"));
    dvm.submit(4, Submission::of(job("a", 1)));
    dvm.exit_job(1);
    dvm.ask(5, Request::Signal { job: JobId(1), signal: Signal(10) });
    assert_eq!(refusal(dvm.reply(5)), "Job 1 is over.");
}

#[test]
fn status_counts_what_is_there_and_a_job_tells_its_story() {
    let mut dvm = Cluster::persistent(2);
    dvm.submit(1, Submission::of(job("a", 3)));
    dvm.submit(2, patient(job("b", 6)));
    dvm.ask(3, Request::Status);
    let Reply::Status(status) = dvm.reply(3) else { panic!() };
    let counts = (status.nodes, status.daemons, status.slots, status.slots_in_use, status.jobs_running);
    assert_eq!((counts, status.jobs_queued, status.procs_running), ((2, 2, 8, 3, 1), 1, 3));
    dvm.ask(4, Request::Nodes);
    let Reply::Nodes(nodes) = dvm.reply(4) else { panic!() };
    assert_eq!(nodes.iter().map(|n| (n.state.as_str(), n.slots_in_use)).collect::<Vec<_>>(), [("up", 2), ("up", 1)]);
    dvm.ask(5, Request::Job(JobId(1)));
    let Reply::Job(detail) = dvm.reply(5) else { panic!() };
    assert_eq!(detail.status.waiting_for, "3 of 3 processes to end (ranks 0, 1, 2)");
    assert_eq!(detail.procs.len(), 3);
    let states: Vec<_> = detail.states.iter().map(|(state, _)| *state).collect();
    assert_eq!((states[0], states.last()), (JobState::Init, Some(&JobState::Running)));
    dvm.ask(6, Request::Kill(JobId(1)));
    assert_eq!((dvm.reply(6), dvm.code_of(1)), (&Reply::Ordered, 125));
    dvm.ask(7, Request::Job(JobId(1)));
    let Reply::Job(detail) = dvm.reply(7) else { panic!() };
    assert!(detail.cause.contains("pdvm kill") && detail.status.waiting_for.is_empty());
}

#[test]
fn what_is_counted_grows_with_what_happens() {
    let mut dvm = Cluster::persistent(2);
    dvm.submit(1, Submission::of(job("a", 2)));
    dvm.submit(2, Submission::of(job("b", 100)));
    dvm.input(
        DaemonRank::HEAD,
        Input::Daemon(DaemonInput::Output { proc: rank(1, 0), stream: Stream::Stdout, data: "four".into() }),
    );
    dvm.run();
    dvm.exit_job(1);
    dvm.ask(3, Request::Metrics);
    let Reply::Metrics(metrics) = dvm.reply(3) else { panic!() };
    // The second job was refused: it wants more slots than there are.
    assert_eq!((metrics.jobs_submitted, metrics.jobs_started, metrics.procs_started), (2, 1, 2));
    assert_eq!((metrics.output_bytes, metrics.xcasts), (4, 1));
    let launches = metrics.launch.buckets.iter().map(|(_, count)| count).sum::<u64>() + metrics.launch.above;
    assert_eq!((launches, metrics.status.jobs_ended, metrics.status.jobs_failed), (1, 2, 1));
}
