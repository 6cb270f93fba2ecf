//! Sample answers of a DVM, for the tests of all verbs.

use std::time::Duration;

use ferrite_types::{
    CampaignId, CampaignKind, CampaignStep, DaemonRank, JobId, JobState, ProcId, ProcState, Rank, SessionId,
    SizeChangeStep, SizeRange, StdinTarget,
};
use ferrite_wire::control::{
    AppRecord, CampaignStatus, DvmStatus, Ending, Event, EventKind, Histogram, JobDetail, JobRecord, JobStatus,
    Metrics, NodeStatus, ProcStatus, ResourceStatus, SessionStatus, SizeStep,
};
use ferrite_wire::{Resize, ResizeOutcome};

use super::moment::Moment;

const NOW_US: u64 = 125_250_000;

pub(crate) fn moment() -> Moment {
    Moment {
        dvm: "prte-n0-4711".to_owned(),
        dvm_us: NOW_US,
        asked: Duration::from_millis(1_795_302_121_250),
        zone_s: 3_600,
    }
}

pub(crate) fn status() -> DvmStatus {
    DvmStatus {
        dvm: moment().dvm,
        version: "0.1.0".to_owned(),
        now_us: NOW_US,
        state: Some(JobState::VmReady),
        waiting_for: String::new(),
        nodes: 4,
        daemons: 3,
        slots: 12,
        slots_in_use: 8,
        jobs_running: 1,
        jobs_queued: 1,
        jobs_held: 0,
        campaigns: Vec::new(),
        jobs_ended: 40,
        jobs_failed: 3,
        procs_running: 7,
        resources: vec![ResourceStatus { name: "licence".to_owned(), amount: 8, in_use: 3 }],
    }
}

/// The DVM grows by two nodes, and loses one after that.
pub(crate) fn changing() -> DvmStatus {
    let grow = CampaignStatus {
        campaign: CampaignId(3),
        kind: CampaignKind::Grow,
        step: CampaignStep::Launching,
        pushed: false,
        alloc_id: "a2".into(),
        nodes: vec!["n5".to_owned(), "n6".to_owned()],
        waiting_for: "the daemons of n6 to report".to_owned(),
        began_us: 123_250_000,
    };
    let shrink = CampaignStatus {
        campaign: CampaignId(4),
        kind: CampaignKind::Shrink,
        step: CampaignStep::Behind,
        pushed: true,
        nodes: vec!["n6".to_owned()],
        waiting_for: "campaign 3 to end".to_owned(),
        began_us: 125_000_000,
        ..grow.clone()
    };
    let waiting_for = "grow 3: the daemons of n6 to report; shrink 4: campaign 3 to end".to_owned();
    DvmStatus { waiting_for, jobs_held: 1, campaigns: vec![grow, shrink], ..status() }
}

/// A job that waits for these changes.
pub(crate) fn held() -> JobStatus {
    JobStatus {
        job: JobId(43),
        state: JobState::WaitingForDaemons,
        waiting_for: "the DVM's new size (grow 3: the daemons of n6 to report; shrink 4: campaign 3 to end)".to_owned(),
        ..queued().status
    }
}

/// The answer to a request to grow.
pub(crate) fn resize() -> Resize {
    Resize {
        alloc_id: Some("a2".into()),
        req_id: Some("weekend".into()),
        session: Some(SessionId(2)),
        nodes: vec!["n5".to_owned(), "n6".to_owned()],
        outcome: ResizeOutcome::Begun,
    }
}

pub(crate) fn nodes() -> Vec<NodeStatus> {
    let node = |name: &str, daemon: Option<u32>, state: &str, slots_in_use| NodeStatus {
        name: name.to_owned(),
        daemon: daemon.map(DaemonRank),
        state: state.to_owned(),
        slots: 4,
        slots_in_use,
        max_slots: 0,
        cores: 4,
        resources: Vec::new(),
        jobs: Vec::new(),
    };
    let resource = |name: &str, amount, in_use| ResourceStatus { name: name.to_owned(), amount, in_use };
    vec![
        NodeStatus {
            slots: 16,
            max_slots: 32,
            cores: 16,
            resources: vec![resource("gpu", 4, 1), resource("mem", 16 << 30, 3 << 29)],
            jobs: vec![(JobId(41), 8)],
            ..node("n0", Some(0), "up", 8)
        },
        node("n1", Some(1), "starting", 0),
        node("n2", None, "down", 0),
        node("n3", None, "leaving", 2),
    ]
}

/// A session with every field set, and one without.
pub(crate) fn sessions() -> Vec<SessionStatus> {
    let full = SessionStatus {
        session: SessionId(2),
        alloc_id: "a2".into(),
        req_id: Some("week\x1bend".into()),
        nodes: vec!["n5".to_owned(), "n6".to_owned()],
        slots: 8,
        slots_in_use: 5,
        children: vec![SessionId(3), SessionId(4)],
        jobs: vec![JobId(41), JobId(42)],
        reserved: true,
        paused: true,
        parent: Some(SessionId(1)),
        owner: Some(JobId(40)),
        seconds_left: Some(3_900),
        warns_s: Some(600),
        warned: false,
    };
    let bare = SessionStatus {
        session: SessionId(3),
        alloc_id: "a3".into(),
        req_id: None,
        nodes: Vec::new(),
        slots: 0,
        slots_in_use: 0,
        children: Vec::new(),
        jobs: Vec::new(),
        reserved: false,
        paused: false,
        parent: None,
        owner: None,
        seconds_left: None,
        warns_s: None,
        warned: false,
    };
    vec![full, bare]
}

fn running_line() -> JobStatus {
    JobStatus {
        job: JobId(41),
        parent: None,
        name: "./solver".to_owned(),
        task: String::new(),
        priority: 0,
        command: "./solver -n 'a b'".to_owned(),
        wdir: Some("/home/u/run".to_owned()),
        procs: 8,
        nodes: 2,
        first_node: "n0".to_owned(),
        state: JobState::Running,
        exit_code: None,
        ending: None,
        waiting_for: "7 of 8 processes to end (ranks 1, 2, 3, 4 and 3 more)".to_owned(),
        submitted_us: 120_000_000,
        running_us: Some(120_003_250),
        ended_us: None,
        tree: None,
    }
}

pub(crate) fn jobs() -> Vec<JobStatus> {
    vec![failed().status, running_line(), queued().status]
}

fn solver() -> AppRecord {
    let argv = ["./solver", "-x", "a b\x1b"].map(str::to_owned).to_vec();
    AppRecord { argv, left_out: 2, procs: 8, wdir: Some("/home/u/run".to_owned()) }
}

/// A change that was made, one that was refused, and one that is under way.
fn changes() -> Vec<SizeStep> {
    let step = |is_offer, procs, begun_us, ended_us, done, size, cause: &str| {
        let cause = cause.to_owned();
        SizeStep { is_offer, procs, begun_us, ended_us, done, size, cause }
    };
    vec![
        step(true, 4, 121_000_000, Some(122_200_000), 2, 8, ""),
        step(false, 2, 123_000_000, Some(123_004_000), 0, 8, "Rank 0 of job 41 refuses that 2 processes end."),
        step(false, 1, 124_000_000, None, 0, 7, ""),
    ]
}

fn record() -> JobRecord {
    JobRecord {
        session: SessionId(2),
        personality: "ompi".to_owned(),
        launcher: "prun.n0.812".to_owned(),
        parent: None,
        children: vec![JobId(43)],
        apps: vec![solver()],
        session_dir: "/tmp/prte.4711.0123456789ab/41".to_owned(),
        sets: vec![("atmosphere".to_owned(), 8)],
        stdin: Some(StdinTarget::Rank(Rank(0))),
        elastic: Some((SizeRange { min: 4, max: 16 }, 8)),
        changes: changes(),
        slots: 12,
        bookmark: "n1".to_owned(),
        daemons: 2,
        daemons_reported: 2,
        mapped: 8,
        local: 4,
        launched: 8,
        registered: 4,
        ready_for_debug: 0,
        terminated: 1,
        traces: 0,
        restarts: 0,
    }
}

pub(crate) fn detail() -> JobDetail {
    let process = |rank, node: &str, pid, state| ProcStatus {
        rank: Rank(rank),
        app: 0,
        node: node.to_owned(),
        bound_to: format!("package[0][core:L{rank}]"),
        devices: Vec::new(),
        pid,
        state,
    };
    JobDetail {
        status: running_line(),
        nspace: "prte-n0-4711@41".to_owned(),
        states: vec![
            (JobState::Init, 120_000_000),
            (JobState::Map, 120_000_100),
            (JobState::LaunchApps, 120_000_600),
            (JobState::Running, 120_003_250),
        ],
        procs: vec![
            process(0, "n0", Some(900), ProcState::Terminated),
            process(1, "n0", Some(901), ProcState::Registered),
            ProcStatus {
                bound_to: String::new(),
                devices: vec!["cuda\x1b0".to_owned()],
                ..process(2, "n1", None, ProcState::Init)
            },
        ],
        places: vec!["n0  [0 1 . .] [. . . .]".to_owned(), "n1  [. . . .] not bound: 2\x1b".to_owned()],
        cause: String::new(),
        lost_ranks: Vec::new(),
        record: record(),
    }
}

pub(crate) fn failed() -> JobDetail {
    JobDetail {
        status: JobStatus {
            job: JobId(40),
            parent: Some(JobId(39)),
            name: "./a\x1b[2Jb : /opt/a/very/long/path/to/a/program".to_owned(),
            task: String::new(),
            priority: 0,
            command: "'./a\x1b[2Jb' -v : /opt/a/very/long/path/to/a/program --with many arguments".to_owned(),
            wdir: Some("/home/u/run".to_owned()),
            procs: 2,
            nodes: 1,
            first_node: "n1".to_owned(),
            state: JobState::AbortedBySig,
            exit_code: Some(139),
            ending: Some(Ending::Failed),
            waiting_for: String::new(),
            submitted_us: 2_000_000,
            running_us: Some(2_004_000),
            ended_us: Some(4_004_000),
            tree: None,
        },
        nspace: "prte-n0-4711@40".to_owned(),
        states: vec![
            (JobState::Init, 2_000_000),
            (JobState::Running, 2_004_000),
            (JobState::AbortedBySig, 3_504_000),
            (JobState::Terminated, 4_004_000),
        ],
        procs: Vec::new(),
        places: Vec::new(),
        cause: "Rank 1 died of signal 11.\nJob 40 was ended.".to_owned(),
        lost_ranks: vec![Rank(1)],
        record: JobRecord {
            parent: Some(ProcId { job: JobId(39), rank: Rank(3) }),
            terminated: 2,
            launcher: "pru\x1bn".to_owned(),
            ..record()
        },
    }
}

pub(crate) fn queued() -> JobDetail {
    JobDetail {
        status: JobStatus {
            job: JobId(42),
            command: "./solver -n 'a b'".to_owned(),
            wdir: Some("/home/u/run".to_owned()),
            procs: 0,
            nodes: 0,
            first_node: String::new(),
            state: JobState::Allocate,
            waiting_for: "16 slots (4 of 12 are free, 0 jobs are before it)".to_owned(),
            submitted_us: 125_000_000,
            running_us: None,
            ..running_line()
        },
        nspace: "prte-n0-4711@42".to_owned(),
        states: vec![(JobState::Init, 125_000_000), (JobState::Allocate, 125_000_050)],
        procs: Vec::new(),
        places: Vec::new(),
        cause: String::new(),
        lost_ranks: Vec::new(),
        record: JobRecord { personality: "prte".to_owned(), slots: 12, apps: vec![solver()], ..JobRecord::default() },
    }
}

pub(crate) fn events() -> Vec<Event> {
    vec![
        Event { at_us: 250, what: EventKind::Job { job: JobId::DAEMONS, state: JobState::VmReady } },
        Event { at_us: 120_000_000, what: EventKind::Job { job: JobId(41), state: JobState::Init } },
        Event {
            at_us: 120_001_000,
            what: EventKind::Proc { job: JobId(41), rank: Rank(1), state: ProcState::Registered },
        },
        Event {
            at_us: 123_250_000,
            what: EventKind::Campaign {
                campaign: CampaignId(3),
                kind: CampaignKind::Grow,
                step: CampaignStep::Launching,
            },
        },
        Event {
            at_us: 124_000_000,
            what: EventKind::Size { job: JobId(41), is_offer: true, procs: 2, step: SizeChangeStep::Offered },
        },
    ]
}

pub(crate) fn metrics() -> Metrics {
    Metrics {
        status: status(),
        jobs_submitted: 42,
        jobs_started: 38,
        procs_started: 160,
        launch: Histogram {
            buckets: vec![(500, 0), (1_000, 3), (2_000, 30), (3_000, 0), (5_000, 4), (10_000, 0)],
            above: 1,
            sum_us: 99_000,
        },
        output_bytes: 1_234_567,
        stdin_bytes: 0,
        xcasts: 90,
        daemons_lost: 1,
        repairs: 1,
        rejoins: 2,
        late_messages: vec![("launch".to_owned(), 1), ("output".to_owned(), 4)],
        grows: 4,
        grows_failed: 1,
        shrinks: 3,
    }
}
