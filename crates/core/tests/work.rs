//! The head's work for one job does not grow with the number of the others. The tests count the jobs that the head
//! meets on its walks over all jobs or over the queue, in a DVM with a hundred jobs and in one with a thousand.

mod common;

use common::{Cluster, dvm_with, job};
use ferrite_core::{HeadInput, Input, RequestId};
use ferrite_types::{DaemonRank, Duration, HostEntry, HostRef, JobId, MapBy, SessionId};
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective, Submission};
use ferrite_wire::{AddedHost, GrowRequest, ResizeRequest, SessionTerms, SlotChange};

const FEW: u64 = 100;
const MANY: u64 = 1_000;
/// The first request of a test; those of the jobs come before it.
const OTHERS: u64 = 100_000;

/// A DVM of one node with a job on each of its four slots, and this many that wait. The first job is over.
fn busy(waiting: u64) -> Cluster {
    busy_with(waiting, &[])
}

fn busy_with(waiting: u64, params: &[(&str, &str)]) -> Cluster {
    let elastic = [("prte_elastic_mode", "1")];
    let mut dvm = dvm_with(1, &[&elastic, params].concat());
    for id in 1..=5 + waiting {
        dvm.submit(id, Submission { wait_for_slots: true, ..Submission::of(job("a.out", 1)) });
    }
    dvm.exit_job(1);
    dvm
}

/// The jobs that the head meets during an act.
fn looks(dvm: &mut Cluster, act: impl FnOnce(&mut Cluster)) -> u64 {
    let so_far = |dvm: &Cluster| dvm.nodes[&DaemonRank::HEAD].as_head().expect("the head").looks();
    let before = so_far(dvm);
    act(dvm);
    so_far(dvm) - before
}

/// The tries to place a job during an act; each may look at every node.
fn placements(dvm: &mut Cluster, act: impl FnOnce(&mut Cluster)) -> u64 {
    let so_far = |dvm: &Cluster| dvm.nodes[&DaemonRank::HEAD].as_head().expect("the head").placements();
    let before = so_far(dvm);
    act(dvm);
    so_far(dvm) - before
}

/// The nodes that these tries have looked at.
fn nodes_tried(dvm: &mut Cluster, act: impl FnOnce(&mut Cluster)) -> u64 {
    let so_far = |dvm: &Cluster| dvm.nodes[&DaemonRank::HEAD].as_head().expect("the head").nodes_tried();
    let before = so_far(dvm);
    act(dvm);
    so_far(dvm) - before
}

fn does_not_grow(act: impl Fn(&mut Cluster)) {
    let [few, many] = [FEW, MANY].map(|waiting| looks(&mut busy(waiting), &act));
    assert_eq!(few, many, "the work grows with the jobs that wait");
}

fn grow(id: u64, name: &str, terms: SessionTerms, dvm: &mut Cluster) {
    let host = AddedHost { host: HostEntry::named(name), slots: SlotChange::Unstated };
    let request = GrowRequest { hosts: vec![host], wait: true, terms, ..GrowRequest::default() };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(request))));
}

fn cancel(dvm: &mut Cluster, request: u64) {
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Cancel(RequestId(request))));
    dvm.run();
}

/// The end of a job has the next one begin (spec L128).
#[test]
fn the_end_of_a_job_costs_the_same_however_many_wait() {
    does_not_grow(|dvm| {
        dvm.exit_job(2);
        assert!(dvm.running.keys().any(|proc| proc.job == JobId(6)), "the first that waits is next");
    });
}

/// Nobody tries to place a job that needs a slot where none is free (spec L128).
#[test]
fn a_full_dvm_places_one_job_for_each_that_ends() {
    let mut dvm = busy(FEW);
    assert_eq!(placements(&mut dvm, |dvm| dvm.exit_job(2)), 1);
    assert!(dvm.running.keys().any(|proc| proc.job == JobId(6)), "the first that waits is next");
    let more = Submission { wait_for_slots: true, ..Submission::of(job("a.out", 1)) };
    assert_eq!(placements(&mut dvm, |dvm| dvm.submit(OTHERS, more)), 0, "others wait before it");
    cancel(&mut dvm, 50);
    let end = |dvm: &mut Cluster| dvm.exit_job(3);
    assert_eq!(placements(&mut dvm, end), 1);
}

/// A job that finds no free slot may fit later: a few nodes show it. Nobody looks at the others, neither when it comes
/// nor when the slots of another are free for it (spec L145).
#[test]
fn a_job_that_waits_costs_the_same_however_many_nodes_are_full() {
    let wait = |nodes: u32| {
        let mut dvm = dvm_with(nodes, &[("prte_elastic_mode", "1")]);
        dvm.submit(1, Submission::of(job("wide", 4 * nodes - 1)));
        dvm.submit(2, Submission::of(job("a.out", 1)));
        let mut spec = job("a.out", 1);
        // To place a job by nodes, all of them are compared.
        spec.map.by = Some(MapBy::Slot);
        let one = || Submission { wait_for_slots: true, ..Submission::of(spec.clone()) };
        let coming = nodes_tried(&mut dvm, |dvm| dvm.submit(3, one()));
        assert!(!dvm.running.keys().any(|proc| proc.job == JobId(3)), "it waits");
        let beginning = nodes_tried(&mut dvm, |dvm| dvm.exit_job(2));
        assert!(dvm.running.keys().any(|proc| proc.job == JobId(3)), "it has begun");
        (coming, beginning)
    };
    let [few, many] = [5, 50].map(wait);
    assert_eq!(few, many, "the work grows with the nodes");
}

/// A job that names its nodes costs the same however many others there are: when it begins, when it waits, and when its
/// turn comes (spec L158).
#[test]
fn a_job_that_names_its_node_costs_the_same_however_many_others_there_are() {
    let begin = |nodes: u32| {
        let mut dvm = dvm_with(nodes, &[("prte_elastic_mode", "1")]);
        let mut spec = job("a.out", 4);
        spec.apps[0].hosts.hosts = ["n1", "n2"].map(|name| HostRef::Host(HostEntry::named(name))).into();
        let four = || Submission { wait_for_slots: true, ..Submission::of(spec.clone()) };
        let acts: [&dyn Fn(&mut Cluster); 5] = [
            &|dvm| dvm.submit(1, four()),
            &|dvm| dvm.submit(2, four()),
            &|dvm| dvm.submit(3, four()),
            &|dvm| dvm.submit(4, four()),
            &|dvm| dvm.exit_job(1),
        ];
        let tried = acts.map(|act| nodes_tried(&mut dvm, act));
        let of_job = |id| dvm.running.keys().filter(|proc| proc.job == JobId(id)).count();
        assert_eq!([1, 2, 3, 4].map(of_job), [0, 4, 4, 0], "two wait, and one of them begins");
        tried
    };
    let [few, many] = [4, 40].map(begin);
    assert_eq!(few, many, "the work grows with the nodes");
    assert!(few.iter().all(|tried| *tried <= 4), "{few:?}: it names two");
}

/// A job in a session costs the same however many nodes belong to others (spec L159).
#[test]
fn a_job_in_a_session_costs_the_same_however_many_nodes_it_may_not_use() {
    let begin = |nodes: u32| {
        let mut dvm = dvm_with(nodes, &[("prte_elastic_mode", "1")]);
        grow(OTHERS, "m0", SessionTerms { reserve: true, ..SessionTerms::default() }, &mut dvm);
        let session = SessionChoice::Id(SessionId(1));
        let mut spec = job("a.out", 2);
        spec.map.by = Some(MapBy::Slot);
        let inside = || Submission { session: session.clone(), ..Submission::of(spec.clone()) };
        let tried = nodes_tried(&mut dvm, |dvm| dvm.submit(1, inside()));
        let record = nodes_tried(&mut dvm, |dvm| dvm.exit_job(1));
        dvm.submit(2, inside());
        let at: Vec<DaemonRank> = dvm.running.values().map(|(at, _)| *at).collect();
        assert_eq!(at, [DaemonRank(nodes); 2], "on the node that came");
        dvm.ask(OTHERS + 1, Request::Job(JobId(2)));
        let Reply::Job(detail) = dvm.reply(OTHERS + 1) else { panic!("a job that runs has its details") };
        assert_eq!(detail.record.slots, 4, "those of the session");
        (tried, record)
    };
    let [few, many] = [2, 20].map(begin);
    assert_eq!((few, many), ((1, 0), (1, 0)), "the work grows with the nodes");
}

/// Without the launch fence a job may come while nodes do: they may be those that it needs (spec L15).
#[test]
fn a_job_behind_others_is_not_refused_while_nodes_come() {
    let mut dvm = dvm_with(1, &[]);
    for id in 1..=5 {
        dvm.submit(id, Submission { wait_for_slots: true, ..Submission::of(job("a.out", 1)) });
    }
    dvm.silent_nodes.insert("m0".to_owned());
    grow(OTHERS, "m0", SessionTerms::default(), &mut dvm);
    let wide = || Submission { wait_for_slots: true, ..Submission::of(job("wide", 6)) };
    dvm.submit(6, wide());
    dvm.ask(OTHERS + 1, Request::Job(JobId(6)));
    let Reply::Job(detail) = dvm.reply(OTHERS + 1) else { panic!("a queued job has its details") };
    assert_eq!(detail.status.exit_code, None, "{}", detail.status.waiting_for);
}

/// After a loss the head looks whether those that wait can ever run. Most want the same (spec L15, L128).
#[test]
fn a_loss_places_one_job_of_each_kind_that_waits() {
    let lose = |waiting: u64| {
        let mut dvm = dvm_with(3, &[("prte_elastic_mode", "1")]);
        for id in 1..=12 + waiting {
            let np = if id <= 12 { 1 } else { 1 + (id % 2) as u32 };
            dvm.submit(id, Submission { wait_for_slots: true, ..Submission::of(job("a.out", np)) });
        }
        dvm.exit_job(1);
        placements(&mut dvm, |dvm| dvm.crash(2))
    };
    let [few, many] = [FEW, MANY].map(lose);
    assert_eq!(few, many, "the work grows with the jobs that wait");
}

/// When the next one does not fit, a limited number of others is considered (spec L124, L128).
#[test]
fn the_end_of_a_job_before_one_that_does_not_fit_costs_the_same_however_many_wait() {
    does_not_grow(|dvm| {
        dvm.submit(OTHERS, Submission { wait_for_slots: true, priority: 1, ..Submission::of(job("wide", 4)) });
        dvm.exit_job(2);
        assert!(dvm.running.keys().any(|proc| proc.job == JobId(6)), "another passes it");
        dvm.pass(Duration::from_secs(30));
        dvm.exit_job(3);
        assert_eq!(dvm.running.len(), 3, "and no other later");
    });
}

/// Each job is that of another client (spec L123, L128).
#[test]
fn the_end_of_a_job_costs_the_same_however_many_clients_wait() {
    let [few, many] = [FEW, MANY].map(|waiting| {
        let mut dvm = busy(0);
        for id in OTHERS..=OTHERS + waiting {
            let (launcher, np) = (format!("prun.n0.{id}"), if id == OTHERS { 4 } else { 1 });
            dvm.submit(id, Submission { wait_for_slots: true, launcher, ..Submission::of(job("a.out", np)) });
        }
        looks(&mut dvm, |dvm| {
            dvm.exit_job(2);
            assert_eq!(dvm.running.len(), 4, "the first one does not fit, and another has the slot");
        })
    });
    assert_eq!(few, many, "the work grows with the clients that wait");
}

/// A job that waits is taken out of the queue (spec L128).
#[test]
fn the_cancel_of_a_job_that_waits_costs_the_same_however_many_wait() {
    does_not_grow(|dvm| {
        cancel(dvm, 6);
        assert_eq!(dvm.code_of(6), 125);
    });
    // Nothing changes for the others.
    let behind_others = looks(&mut busy(FEW), |dvm| cancel(dvm, 50));
    assert_eq!(behind_others, 0);
}

/// A job that left before it had slots may have held up others (spec L15).
#[test]
fn the_cancel_of_a_large_job_lets_smaller_ones_behind_it_begin() {
    let mut dvm = busy_with(0, &[("ferrite_backfill", "0")]);
    dvm.exit_job(2);
    for (id, np) in [(10, 2), (11, 2), (12, 1)] {
        dvm.submit(id, Submission { wait_for_slots: true, ..Submission::of(job("a.out", np)) });
    }
    cancel(&mut dvm, 11);
    assert_eq!(dvm.running.len(), 3);
    cancel(&mut dvm, 10);
    assert_eq!(dvm.running.len(), 4, "the small one has its turn");
}

/// A client's end is that of its job (spec L128).
#[test]
fn the_end_of_a_client_costs_the_same_however_many_wait() {
    does_not_grow(|dvm| {
        dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(50))));
        dvm.run();
    });
}

/// A submission has its place behind the others (spec L128).
#[test]
fn a_submission_costs_the_same_however_many_wait() {
    does_not_grow(|dvm| {
        dvm.submit(OTHERS, Submission { wait_for_slots: true, ..Submission::of(job("a.out", 1)) });
    });
}

/// While the DVM changes its size, each end looks who is next (spec L128, E18).
#[test]
fn the_end_of_a_job_during_a_grow_costs_the_same_however_many_wait() {
    let [few, many] = [FEW, MANY].map(|waiting| {
        let mut dvm = busy(waiting);
        dvm.silent_nodes.insert("m0".to_owned());
        grow(OTHERS, "m0", SessionTerms::default(), &mut dvm);
        looks(&mut dvm, |dvm| dvm.exit_job(2))
    });
    assert_eq!(few, many, "the work grows with the jobs that wait");
}

/// A list of all jobs meets each job a few times, not each for each (spec L128).
#[test]
fn a_list_of_all_jobs_grows_with_their_number_and_no_faster() {
    let [few, many] = [FEW, MANY].map(|waiting| looks(&mut busy(waiting), |dvm| dvm.ask(OTHERS, Request::Jobs)));
    assert!(many <= few * MANY / FEW, "{few} and {many}");
}

/// The status says for each job how many are before it (spec L128).
#[test]
fn a_list_says_the_same_as_the_status_of_each_job() {
    let mut dvm = busy(6);
    grow(OTHERS, "m0", SessionTerms { reserve: true, ..SessionTerms::default() }, &mut dvm);
    let session = SessionChoice::Id(ferrite_types::SessionId(1));
    for id in 20..26 {
        let session = session.clone();
        dvm.submit(id, Submission { wait_for_slots: true, session, ..Submission::of(job("b.out", 3)) });
    }
    dvm.submit(26, Submission { wait_for_slots: true, ..Submission::of(job("a.out", 1)) });
    for step in 0..3 {
        dvm.ask(OTHERS + 100 * step + 1, Request::Jobs);
        let Reply::Jobs(all) = dvm.reply(OTHERS + 100 * step + 1).clone() else { panic!("a list") };
        assert!(all.iter().filter(|status| status.waiting_for.contains("jobs are before it")).count() > 3, "{all:?}");
        for (at, status) in (0..).zip(&all) {
            dvm.ask(OTHERS + 100 * step + 2 + at, Request::Job(status.job));
            let Reply::Job(detail) = dvm.reply(OTHERS + 100 * step + 2 + at) else { panic!("a job") };
            assert_eq!(detail.status.waiting_for, status.waiting_for);
        }
        if step == 0 {
            let directive = SessionDirective::Pause;
            dvm.ask(OTHERS + 90, Request::Session { session: session.clone(), directive });
        } else {
            dvm.exit_job(2);
        }
    }
}

/// Jobs begin in the order of their submission, across sessions that share nodes (spec L128).
#[test]
fn the_order_is_that_of_the_submissions() {
    let mut dvm = busy(40);
    for (ended, next) in (2..=36).zip(6..) {
        dvm.exit_job(ended);
        let running: Vec<u32> = dvm.running.keys().map(|proc| proc.job.0).collect();
        assert_eq!(running, (next - 3..=next).collect::<Vec<u32>>());
    }
}
