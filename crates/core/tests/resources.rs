//! Devices and resources that are counted across jobs: who gets them, who waits for them, and when they are free again.

mod common;

use common::elastic::{ELASTIC, on};
use common::{Cluster, dvm_with, job};
use ferrite_core::{DaemonInput, HeadTimer, Input, PmixCall, PmixToken, Timer};
use ferrite_map::directive::parse_map_by;
use ferrite_types::resources::parse_takes;
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, Submission};
use ferrite_wire::{JobResize, JobResizeOutcome, SizeChange};

/// A job of which each process takes this.
fn taking(np: u32, takes: &str) -> Submission {
    let mut spec = job("a.out", np);
    let takes = parse_takes(takes).expect("amounts");
    (spec.apps[0].takes, spec.apps[0].takes_once) = (takes.each, takes.once);
    Submission::of(spec)
}

fn patient(submission: Submission) -> Submission {
    Submission { wait_for_slots: true, ..submission }
}

/// An elastic job of one process on n0.
fn elastic() -> Submission {
    let mut submission = on("solver", &["n0"]);
    submission.spec.options.elastic = Some(SizeRange { min: 1, max: 8 });
    submission.spec.options.grace = Some(Grace { time: Duration::from_secs(10), signal: None });
    submission
}

/// The same, of which each process takes a unit.
fn elastic_taking(takes: &str) -> Submission {
    let mut submission = elastic();
    submission.spec.apps[0].takes = parse_takes(takes).expect("amounts").each;
    submission
}

fn running(dvm: &Cluster, job: u32) -> usize {
    dvm.running.keys().filter(|proc| proc.job == JobId(job)).count()
}

fn text_of(dvm: &Cluster, id: u64) -> String {
    match dvm.reply(id) {
        Reply::JobResized(resized) => format!("{:?}", resized.outcome),
        other => format!("{other:?}"),
    }
}

fn waits_for(dvm: &mut Cluster, id: u64, job: u32) -> String {
    dvm.ask(id, Request::Job(JobId(job)));
    match dvm.reply(id) {
        Reply::Job(detail) => detail.status.waiting_for.clone(),
        other => panic!("{other:?}"),
    }
}

/// `n0 fpga 1/1, n1 fpga 0/1`: what is in use of each resource.
fn in_use(dvm: &mut Cluster, id: u64) -> String {
    dvm.ask(id, Request::Nodes);
    let Reply::Nodes(nodes) = dvm.reply(id) else { panic!("nodes") };
    let one = |node: &ferrite_wire::control::NodeStatus| {
        let all = node.resources.iter().map(|r| format!("{} {} {}/{}", node.name, r.name, r.in_use, r.amount));
        all.collect::<Vec<_>>().join(", ")
    };
    nodes.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn order(size: SizeChange) -> Request {
    Request::ResizeJob(JobResize { job: JobId(1), size, time_s: None, force: false, wait: true, nodes: None })
}

fn spawn(dvm: &mut Cluster, by: ProcId, count: u32) {
    // It says nothing about its placement.
    let spec = JobSpec { map: MapRequest::default(), ..job("world", count) };
    let submission = Box::new(Submission::of(spec));
    let at = dvm.running[&by].0;
    let call = PmixCall::Spawn { proc: by, submission, token: PmixToken(7) };
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
}

fn rank(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

/// A job waits until others have given back what it takes; one that takes nothing waits for nobody's (spec L149).
#[test]
fn a_job_waits_for_the_resources_of_another() {
    let mut dvm = dvm_with(2, &[("ferrite_resources", "fpga=1")]);
    dvm.submit(1, taking(2, "fpga=1"));
    assert_eq!(in_use(&mut dvm, 90), "n0 fpga 1/1, n1 fpga 1/1");
    dvm.submit(2, taking(1, "fpga=1"));
    assert_ne!(dvm.code_of(2), 0, "who does not wait is refused");
    dvm.submit(3, patient(taking(2, "fpga=1")));
    let why = "room for 2 processes with fpga=1 each as they are to be placed (6 of 8 are free, 0 jobs are before it)";
    assert_eq!(waits_for(&mut dvm, 91, 3), why);
    dvm.submit(4, Submission::of(job("a.out", 1)));
    assert_eq!((running(&dvm, 1), running(&dvm, 3), running(&dvm, 4)), (2, 0, 1));
    dvm.exit_job(1);
    assert_eq!(running(&dvm, 3), 2);
    dvm.exit_job(3);
    assert_eq!(in_use(&mut dvm, 92), "n0 fpga 0/1, n1 fpga 0/1");
}

/// What no node can ever give is refused at once, also to a job that would wait (spec L149).
#[test]
fn what_no_node_has_is_refused_at_once() {
    let mut dvm = dvm_with(2, &[("ferrite_resources", "fpga=1")]);
    for (id, takes) in [(1, "fpga=2"), (2, "gpu=1"), (3, "mem=1G")] {
        dvm.submit(id, patient(taking(1, takes)));
        assert_ne!(dvm.code_of(id), 0, "{takes}");
    }
}

/// The limit of memory is the daemon's; the failure message names it (spec L163).
#[test]
fn who_uses_more_memory_than_it_may_is_told_so() {
    let mut dvm = dvm_with(2, &[("ferrite_resources", "mem=4G")]);
    dvm.submit(1, taking(2, "mem=1G"));
    let (at, request) = dvm.running[&rank(1, 1)].clone();
    assert_eq!(request.memory, Some(1 << 30));
    dvm.input(at, Input::Daemon(DaemonInput::OverMemory(rank(1, 1))));
    dvm.exit(rank(1, 1), ExitStatus::Signaled(Signal::KILL));
    let said = dvm.notices.concat();
    assert!(
        said.contains("was ended by signal 9 (SIGKILL). It, or a process that it had started, used more"),
        "{said}"
    );
    assert!(said.contains("more than its 1 GiB of memory (--mem)"), "{said}");
    assert_eq!(dvm.code_of(1), 137);
    dvm.submit(2, Submission::of(job("a.out", 1)));
    let unlimited = dvm.running.iter().filter(|(proc, (_, request))| proc.job == JobId(2) && request.memory.is_none());
    assert_eq!(unlimited.count(), 1);
}

/// A thousand nodes of a kind would say the same. Who submits a detached job hears no more of it (spec L163).
#[test]
fn that_memory_is_not_limited_is_said_once() {
    let mut dvm = dvm_with(2, &[("ferrite_resources", "mem=8G")]);
    let say = |dvm: &mut Cluster, node| {
        let obstacle = "the control group /x has no memory controller".to_owned();
        let input = DaemonInput::MemoryNotLimited { job: JobId(1), obstacle };
        dvm.input(DaemonRank(node), Input::Daemon(input));
        dvm.run();
        dvm.notices.iter().filter(|text| text.contains("not limited on node n0: the control group /x has")).count()
    };
    dvm.submit(1, Submission { detach: true, ..taking(2, "mem=1G") });
    assert_eq!((say(&mut dvm, 0), say(&mut dvm, 1)), (0, 0));
    dvm.submit(2, Submission::of(job("a.out", 1)));
    assert_eq!(dvm.notices, Vec::<String>::new(), "it takes no memory");
    for id in [3, 4] {
        dvm.submit(id, taking(1, "mem=1G"));
        assert_eq!(say(&mut dvm, 1), 1);
    }
}

/// Nodes of four cores, of which the first one has so many GPUs.
fn dvm_of_machines(nodes: u32, gpus: u32, params: &[(&str, &str)]) -> Cluster {
    let gpu = |index: u32| Device {
        kind: DeviceKind::Gpu,
        name: format!("cuda{index}"),
        vendor: DeviceVendor::Nvidia,
        index,
        uuid: Some(format!("GPU-{index}")),
        cpus: (0..4).collect(),
    };
    let mut config = Cluster::config(nodes, params, true);
    config.topology = Some(Topology { devices: (0..gpus).map(gpu).collect(), ..Topology::uniform(1, 4, 1) });
    let mut dvm = Cluster::of(config);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm
}

/// Devices belong to one job at a time, unless it shares them (spec L148).
#[test]
fn a_job_waits_for_the_devices_of_another() {
    let mut dvm = dvm_of_machines(1, 2, &[]);
    let by_device = |np| {
        let mut spec = job("a.out", np);
        parse_map_by("device=gpu").expect("a directive").apply(&mut spec.map);
        patient(Submission::of(spec))
    };
    dvm.submit(1, by_device(1));
    dvm.submit(2, by_device(2));
    dvm.submit(3, by_device(1));
    assert_eq!((running(&dvm, 1), running(&dvm, 2), running(&dvm, 3)), (1, 0, 1), "a later job may pass for a while");
    assert!(waits_for(&mut dvm, 90, 2).starts_with("room for 2 processes with their devices each"));
    assert_eq!(in_use(&mut dvm, 91), "n0 gpu 2/2");
    dvm.exit_job(1);
    assert_eq!((running(&dvm, 2), in_use(&mut dvm, 92)), (0, "n0 gpu 1/2".to_owned()));
    dvm.exit_job(3);
    assert_eq!((running(&dvm, 2), in_use(&mut dvm, 93)), (2, "n0 gpu 2/2".to_owned()));
}

/// More processes of an elastic job take what its first ones take, and an offer keeps it for them (spec L149).
#[test]
fn an_elastic_job_is_offered_only_what_it_can_use() {
    let mut params = ELASTIC.to_vec();
    params.push(("ferrite_resources", "fpga=2,fpga=1@n1"));
    let mut dvm = dvm_with(2, &params);
    dvm.submit(1, elastic_taking("fpga=1"));
    dvm.ask(2, order(SizeChange::More(3)));
    assert!(text_of(&dvm, 2).contains("2 slots with fpga=1 each are free"), "{}", text_of(&dvm, 2));
    dvm.ask(3, order(SizeChange::More(2)));
    assert_eq!(in_use(&mut dvm, 90), "n0 fpga 2/2, n1 fpga 1/1");
    dvm.submit(4, taking(1, "fpga=1"));
    assert_ne!(dvm.code_of(4), 0, "it is kept for the job");
    spawn(&mut dvm, rank(1, 0), 2);
    assert!(text_of(&dvm, 3).contains("Done"), "{}", text_of(&dvm, 3));
    assert_eq!(in_use(&mut dvm, 91), "n0 fpga 2/2, n1 fpga 1/1");
    // One more than there is for it.
    spawn(&mut dvm, rank(1, 0), 1);
    let spawned = dvm.running.keys().filter(|proc| proc.job > JobId(1)).count();
    assert_eq!(spawned, 2, "the third has no unit");
    dvm.exit_all();
    assert_eq!(in_use(&mut dvm, 92), "n0 fpga 0/2, n1 fpga 0/1");
}

/// The slots that are in use, or are kept, on each node.
fn slots_in_use(dvm: &Cluster) -> Vec<u32> {
    dvm.nodes[&DaemonRank::HEAD].as_head().expect("the head").nodes().iter().map(|node| node.slots_inuse).collect()
}

fn by(submission: Submission, directive: &str) -> Submission {
    let mut submission = submission;
    submission.spec.map = MapRequest::default();
    parse_map_by(directive).expect("a directive").apply(&mut submission.spec.map);
    submission
}

/// An offer keeps slots with the processors that each process takes, and others are not bound to these (spec E74).
#[test]
fn an_offer_has_processors_for_each_process() {
    let mut dvm = dvm_of_machines(2, 0, ELASTIC);
    dvm.submit(1, by(elastic(), "slot:pe=2"));
    dvm.ask(2, order(SizeChange::More(4)));
    assert!(text_of(&dvm, 2).contains("3 slots with 2 cores each are free"), "{}", text_of(&dvm, 2));
    dvm.ask(3, order(SizeChange::More(3)));
    assert_eq!(slots_in_use(&dvm), [2, 2]);
    dvm.submit(4, by(Submission::of(job("a.out", 1)), "slot:pe=2"));
    assert_ne!(dvm.code_of(4), 0, "the cores are kept for the job");
    spawn(&mut dvm, rank(1, 0), 3);
    assert!(text_of(&dvm, 3).contains("Done"), "{}", text_of(&dvm, 3));
    assert_eq!(slots_in_use(&dvm), [2, 2]);
    dvm.exit_all();
    dvm.submit(5, by(Submission::of(job("a.out", 4)), "slot:pe=2"));
    assert_eq!(running(&dvm, 4), 4, "all cores are free again");
}

/// A spawn that asks for more than the offer leaves it as it was, with its processors (spec E55, E74).
#[test]
fn a_spawn_that_finds_no_processors_leaves_the_offer() {
    let mut dvm = dvm_of_machines(2, 0, ELASTIC);
    dvm.submit(1, by(elastic(), "slot:pe=2"));
    dvm.ask(2, order(SizeChange::More(2)));
    spawn(&mut dvm, rank(1, 0), 4);
    assert_eq!((running(&dvm, 2), slots_in_use(&dvm)), (0, vec![2, 1]));
    dvm.submit(3, by(Submission::of(job("a.out", 2)), "slot:pe=2"));
    assert_ne!(dvm.code_of(3), 0, "cores for one are free");
    spawn(&mut dvm, rank(1, 0), 2);
    assert!(text_of(&dvm, 2).contains("Done"), "{}", text_of(&dvm, 2));
}

/// An offer keeps slots with the devices that each process gets (spec E74).
#[test]
fn an_offer_has_devices_for_each_process() {
    let mut dvm = dvm_of_machines(1, 2, ELASTIC);
    let submission = by(elastic(), "device=gpu");
    dvm.submit(1, submission);
    assert_eq!(in_use(&mut dvm, 90), "n0 gpu 1/2");
    dvm.ask(2, order(SizeChange::More(2)));
    assert!(text_of(&dvm, 2).contains("1 slot with its devices is free"), "{}", text_of(&dvm, 2));
    dvm.ask(3, order(SizeChange::More(1)));
    assert_eq!(in_use(&mut dvm, 91), "n0 gpu 2/2");
    spawn(&mut dvm, rank(1, 0), 1);
    assert!(text_of(&dvm, 3).contains("Done"), "{}", text_of(&dvm, 3));
    assert_eq!(in_use(&mut dvm, 92), "n0 gpu 2/2");
    dvm.exit_all();
    assert_eq!(in_use(&mut dvm, 93), "n0 gpu 0/2");
}

/// An offer has no slot of a node that the job does not use (`:nolocal`, spec E74).
#[test]
fn an_offer_names_no_node_that_the_job_avoids() {
    let mut dvm = dvm_with(2, ELASTIC);
    let mut submission = by(elastic(), "slot:nolocal");
    submission.spec.apps[0].hosts.hosts.clear();
    dvm.submit(1, submission);
    assert_eq!(slots_in_use(&dvm), [0, 1]);
    dvm.ask(2, order(SizeChange::More(4)));
    assert!(text_of(&dvm, 2).contains("3 slots are free"), "{}", text_of(&dvm, 2));
    dvm.ask(3, order(SizeChange::More(3)));
    assert_eq!(slots_in_use(&dvm), [0, 4]);
}

/// What an offer keeps is free again when its time is over (spec L149).
#[test]
fn an_offer_that_is_not_taken_gives_its_resources_back() {
    let mut params = ELASTIC.to_vec();
    params.push(("ferrite_resources", "fpga=2"));
    let mut dvm = dvm_with(1, &params);
    dvm.submit(1, elastic_taking("fpga=1"));
    dvm.ask(2, order(SizeChange::More(1)));
    assert_eq!(in_use(&mut dvm, 90), "n0 fpga 2/2");
    dvm.pass(Duration::from_secs(40));
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
    assert!(
        matches!(dvm.reply(2), Reply::JobResized(resized) if matches!(resized.outcome, JobResizeOutcome::Failed(_)))
    );
    assert_eq!(in_use(&mut dvm, 91), "n0 fpga 1/2");
}

/// `licence 1/8`: what is in use of what all nodes share.
fn shared(dvm: &mut Cluster, id: u64) -> String {
    dvm.ask(id, Request::Status);
    let Reply::Status(status) = dvm.reply(id) else { panic!("a status") };
    let all = status.resources.iter().map(|r| format!("{} {}/{}", r.name, r.in_use, r.amount));
    all.collect::<Vec<_>>().join(", ")
}

/// A job waits for what all nodes share, on whichever node others have it, and is told for what (spec L151).
#[test]
fn a_job_waits_for_what_all_nodes_share() {
    let mut dvm = dvm_with(3, &[("ferrite_resources", "dvm:licence=3")]);
    let at = |host: &str, takes: &str| {
        let mut submission = on("a.out", &[host]);
        let takes = parse_takes(takes).expect("amounts");
        (submission.spec.apps[0].takes, submission.spec.apps[0].takes_once) = (takes.each, takes.once);
        patient(submission)
    };
    dvm.submit(1, at("n0", "licence=1"));
    dvm.submit(9, patient(taking(1, "fpga=1/job")));
    assert_ne!(dvm.code_of(9), 0, "the nodes share no such thing");
    dvm.submit(2, at("n1", "licence=1/job"));
    assert_eq!(shared(&mut dvm, 90), "licence 2/3");
    dvm.submit(3, taking(2, "licence=1"));
    assert_ne!(dvm.code_of(3), 0, "who does not wait is refused");
    dvm.submit(4, at("n2", "licence=2"));
    let why = "licence=2 of the DVM, which has 1 of 3 free (10 of 12 slots are free, 0 jobs are before it)";
    assert_eq!(waits_for(&mut dvm, 91, 5), why);
    for (id, takes) in [(5, "licence=4"), (6, "licence=4/job")] {
        dvm.submit(id, patient(taking(1, takes)));
        assert_ne!(dvm.code_of(id), 0, "{takes} can never be had");
    }
    dvm.exit_job(3);
    assert_eq!((running(&dvm, 5), shared(&mut dvm, 92)), (1, "licence 3/3".to_owned()));
    dvm.exit_all();
    assert_eq!(shared(&mut dvm, 93), "licence 0/3");
}

/// A lost node gives back what its processes had of what all nodes share (spec L151).
#[test]
fn a_lost_node_gives_back_what_all_nodes_share() {
    let mut dvm = dvm_with(3, &[("ferrite_resources", "dvm:licence=2")]);
    let mut submission = on("a.out", &["n2"]);
    submission.spec.apps[0].takes = parse_takes("licence=2").expect("amounts").each;
    dvm.submit(1, submission);
    dvm.submit(2, patient(taking(2, "licence=1")));
    assert_eq!((running(&dvm, 2), shared(&mut dvm, 90)), (0, "licence 2/2".to_owned()));
    dvm.crash(2);
    assert_eq!((running(&dvm, 2), shared(&mut dvm, 91)), (2, "licence 2/2".to_owned()));
    dvm.exit_all();
    assert_eq!(shared(&mut dvm, 92), "licence 0/2");
}

/// An offer keeps what all nodes share, and more nodes are not fetched where they would not help (spec L151).
#[test]
fn an_offer_keeps_what_all_nodes_share() {
    let mut params = ELASTIC.to_vec();
    params.push(("ferrite_resources", "dvm:licence=3"));
    let mut dvm = dvm_with(2, &params);
    dvm.submit(1, elastic_taking("licence=1"));
    dvm.ask(2, order(SizeChange::More(3)));
    assert!(text_of(&dvm, 2).contains("2 slots with licence=1 each are free"), "{}", text_of(&dvm, 2));
    let nodes = Some(Box::new(ferrite_wire::GrowRequest { count: 1, ..Default::default() }));
    let with_nodes =
        JobResize { job: JobId(1), size: SizeChange::More(3), time_s: None, force: false, wait: true, nodes };
    dvm.ask(3, Request::ResizeJob(with_nodes));
    assert!(text_of(&dvm, 3).contains("More nodes bring no more of it"), "{}", text_of(&dvm, 3));
    dvm.ask(4, order(SizeChange::More(2)));
    assert_eq!(shared(&mut dvm, 90), "licence 3/3");
    spawn(&mut dvm, rank(1, 0), 2);
    assert!(text_of(&dvm, 4).contains("Done"), "{}", text_of(&dvm, 4));
    assert_eq!(shared(&mut dvm, 91), "licence 3/3");
    dvm.exit_all();
    assert_eq!(shared(&mut dvm, 92), "licence 0/3");
}

/// An elastic job keeps its share of the DVM's resources until the last of its worlds is over (spec E73).
#[test]
fn what_a_job_takes_as_a_whole_follows_it() {
    let mut params = ELASTIC.to_vec();
    params.push(("ferrite_resources", "dvm:licence=3"));
    let mut dvm = dvm_with(2, &params);
    let mut submission = elastic_taking("licence=1");
    submission.spec.apps[0].takes_once = parse_takes("licence=1").expect("amounts").each;
    submission.spec.apps[0].takes.clear();
    dvm.submit(1, submission);
    spawn(&mut dvm, rank(1, 0), 2);
    assert_eq!(shared(&mut dvm, 90), "licence 1/3");
    dvm.exit_job(1);
    assert_eq!(shared(&mut dvm, 91), "licence 1/3", "the job goes on in its second world");
    spawn(&mut dvm, rank(2, 0), 1);
    dvm.exit_job(2);
    assert_eq!(shared(&mut dvm, 92), "licence 1/3");
    dvm.exit_all();
    assert_eq!(shared(&mut dvm, 93), "licence 0/3");
}

/// What an offer keeps of what all nodes share is free again when its time is over (spec L151).
#[test]
fn an_offer_that_is_not_taken_gives_back_what_all_nodes_share() {
    let mut params = ELASTIC.to_vec();
    params.push(("ferrite_resources", "dvm:licence=3"));
    let mut dvm = dvm_with(1, &params);
    dvm.submit(1, elastic_taking("licence=1"));
    dvm.ask(2, order(SizeChange::More(2)));
    assert_eq!(shared(&mut dvm, 90), "licence 3/3");
    dvm.pass(Duration::from_secs(40));
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
    assert_eq!(shared(&mut dvm, 91), "licence 1/3");
}
