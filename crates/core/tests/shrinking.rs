//! A DVM that shrinks (docs/spec/elastic.md): each guarantee of a shrink that one can stage by hand.

mod common;

use bytes::Bytes;
use common::Cluster;
use common::elastic::*;
use ferrite_core::{DaemonInput, DaemonTimer, HeadTimer, Input, LinkInput, LinkTimer, Timer};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request};
use ferrite_wire::{ResizeOutcome, Stream};

/// One order names all that leave (spec E28, E29).
#[test]
fn a_branch_leaves_as_one_and_is_gone_when_the_requester_hears_it() {
    let mut dvm = dvm(10);
    dvm.received.clear();
    ask_shrink(&mut dvm, 1, &["n1", "n3", "n7", "n8"]);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(links(&dvm), [(0, 2), (0, 4), (2, 5), (2, 6), (4, 9)]);
    for rank in [1, 3, 7, 8] {
        assert_eq!(dvm.exits.get(&DaemonRank(rank)), Some(&0));
    }
    assert_eq!(dvm.offered, ["n1", "n3", "n7", "n8"]);
    let kinds = &dvm.received[&DaemonRank::HEAD];
    assert!(kinds.iter().all(|kind| *kind == "ack" || *kind == "renewed"), "no report of losses: {kinds:?}");
    assert!(dvm.notices.is_empty(), "{:?}", dvm.notices);
    assert_eq!(states(&mut dvm, 2), "n0 up, n1 down, n2 up, n3 down, n4 up, n5 up, n6 up, n7 down, n8 down, n9 up");
    dvm.submit(3, on("a.out", &["n4", "n9", "n6"]));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(3), 0);
}

/// A node that has left can come again at once (spec E26).
#[test]
fn everything_but_the_head_may_leave_and_come_again() {
    let mut dvm = dvm(10);
    let all = ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"];
    for round in 0..3 {
        ask_shrink(&mut dvm, 2 * round + 1, &all);
        assert_eq!(*outcome(&dvm, 2 * round + 1), ResizeOutcome::Done);
        assert_eq!(links(&dvm), []);
        ask_grow(&mut dvm, 2 * round + 2, &all);
        assert_eq!(*outcome(&dvm, 2 * round + 2), ResizeOutcome::Done, "round {round}");
        assert_eq!(links(&dvm).len(), 9);
    }
    dvm.submit(100, on("a.out", &all));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(100), 0);
}

fn lost_ranks(dvm: &mut Cluster, id: u64, job: u32) -> Vec<u32> {
    dvm.ask(id, Request::Job(JobId(job)));
    let Reply::Job(detail) = dvm.reply(id) else { panic!("a job") };
    detail.lost_ranks.iter().map(|rank| rank.0).collect()
}

/// A job that loses processes to a shrink (spec E34).
#[test]
fn a_job_that_loses_ranks_to_a_shrink_is_ended_with_a_code_and_a_cause_of_its_own() {
    for crashes in [false, true] {
        let mut dvm = dvm(4);
        dvm.submit(1, on("a.out", &["n1", "n3", "n1", "n3"]));
        ask_shrink(&mut dvm, 2, &["n3"]);
        assert_eq!(dvm.running.len(), 4, "they may be about to end");
        if crashes {
            dvm.crash(3)
        } else {
            dvm.fire(3, Timer::Daemon(DaemonTimer::Grace))
        }
        assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
        assert!(dvm.running.is_empty(), "what is left of it would wait for them");
        assert_eq!(dvm.code_of(1), LEFT);
        assert_eq!(
            dvm.notices,
            ["Node n3 leaves the DVM: ranks 1, 3 of job 1, which still ran there, were ended.\n\
                 The job was ended because of it."]
        );
        assert_eq!(lost_ranks(&mut dvm, 3, 1), [1, 3]);
    }
}

/// A job that loses processes to a shrink (spec E34).
#[test]
fn a_job_that_survives_failures_goes_on_without_the_ranks_that_a_shrink_has_taken() {
    let mut dvm = dvm(4);
    let mut survives = on("a.out", &["n1", "n3"]);
    survives.spec.options.recoverable = true;
    dvm.submit(1, survives);
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.fire(3, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    assert_eq!(dvm.running.len(), 1);
    assert_eq!(
        dvm.notices,
        [
            "Node n3 leaves the DVM: rank 1 of job 1, which still ran there, was ended, and the job goes on with what is left of it."
        ]
    );
    assert_eq!(lost_ranks(&mut dvm, 3, 1), [1]);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0, "it has not failed because of it");
    assert_eq!(lost_ranks(&mut dvm, 4, 1), [1], "and that is kept");
}

#[test]
fn a_job_whose_nodes_all_leave_is_ended_and_told() {
    for survives in [false, true] {
        let mut dvm = dvm(4);
        let mut submission = on("a.out", &["n3"]);
        submission.spec.options.recoverable = survives;
        dvm.submit(1, submission);
        ask_shrink(&mut dvm, 2, &["n3"]);
        dvm.fire(3, Timer::Daemon(DaemonTimer::Grace));
        assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
        assert_eq!(dvm.code_of(1), LEFT);
        assert!(dvm.notices.iter().any(|text| text.contains("n3")), "{:?}", dvm.notices);
    }
}

/// A leaving node lets its processes end (spec E30).
#[test]
fn what_ranks_had_written_before_their_node_left_arrives_however_slow_the_reader_is() {
    let mut dvm = dvm(4);
    (dvm.flowing, dvm.pipes_stay_open) = (false, true);
    dvm.submit(1, on("a.out", &["n1", "n3"]));
    for rank in [0, 1] {
        dvm.output(rank, &"0123456789abcde\n".repeat(1 << 19));
    }
    dvm.reads.clear();
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.fire(3, Timer::Daemon(DaemonTimer::Grace));
    dvm.fire(3, Timer::Daemon(DaemonTimer::KillStep(JobId(1))));
    let rest = |rank| (common::proc(rank), Stream::Stdout);
    assert_eq!(dvm.reads, [rest(1)], "nobody reads, and it is read all the same");
    let end = |dvm: &mut Cluster, at: u32, rank: u32, text: &'static str| {
        let proc = common::proc(rank);
        let data = Bytes::from_static(text.as_bytes());
        dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Output { proc, stream: Stream::Stdout, data }));
        for stream in [Stream::Stdout, Stream::Stderr] {
            dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::OutputClosed { proc, stream }));
        }
        dvm.run();
    };
    end(&mut dvm, 3, 1, "the last of it\n");
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    assert_eq!(dvm.reads, [rest(1), rest(1), rest(0)], "nor is anything lost of those who end for it");
    end(&mut dvm, 1, 0, "and of it\n");
    assert_eq!(dvm.code_of(1), LEFT);
    assert!(dvm.stdout_of(1).ends_with("the last of it\nand of it\n"));
}

#[test]
fn a_rank_that_ends_well_while_its_node_leaves_is_not_lost() {
    let mut dvm = dvm(4);
    dvm.submit(1, on("a.out", &["n1", "n3"]));
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    dvm.exit_job(1);
    assert_eq!((dvm.code_of(1), lost_ranks(&mut dvm, 3, 1)), (0, Vec::new()));
}

/// A leaving node lets its processes end (spec E30).
#[test]
fn a_short_job_on_a_leaving_node_ends_well() {
    let mut dvm = dvm(4);
    dvm.submit(1, on("hostname", &["n3"]));
    ask_shrink(&mut dvm, 2, &["n3"]);
    assert!(unanswered(&dvm, 2));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
}

/// A shrink is done when its daemons are gone (spec G6).
#[test]
fn a_leaving_daemon_that_crashes_has_left() {
    let mut dvm = dvm(10);
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 1, &["n1", "n3", "n9"]);
    assert!(unanswered(&dvm, 1), "one of them is still there");
    dvm.kill(frozen);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(links(&dvm), [(0, 2), (0, 4), (0, 7), (0, 8), (2, 5), (2, 6)]);
    assert!(dvm.notices.is_empty(), "nobody was lost: {:?}", dvm.notices);
}

/// A leaving daemon that hangs is given up (spec E32).
#[test]
fn a_leaving_daemon_that_hangs_is_given_up_in_the_end() {
    let mut dvm = dvm(4);
    let _frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 1, &["n3"]);
    assert!(unanswered(&dvm, 1));
    for _ in 0..12 {
        if dvm.timers.contains(&(DaemonRank(1), Timer::Link(LinkTimer::Leavers))) {
            dvm.fire(1, Timer::Link(LinkTimer::Leavers));
        }
    }
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
}

/// A shrink is done when its daemons are gone (spec G6).
#[test]
fn the_last_link_of_a_daemon_that_counts_as_gone_may_break_and_fails_nothing() {
    let mut dvm = dvm(4);
    let _hanging = [1, 3].map(|rank| dvm.freeze_quietly(rank));
    ask_shrink(&mut dvm, 1, &["n1", "n3"]);
    dvm.submit(2, on("a.out", &["n2"]));
    // It has found its way past its parent, which is lost with all that hung there. The nodes are being offered.
    let refused = |peer| Input::Link(LinkInput::ConnectFailed { peer, cause: "refused".to_owned(), refused: true });
    let lost = |peer| Input::Link(LinkInput::LinkLost { peer, cause: "closed".to_owned() });
    let (one, three) = (DaemonRank(1), DaemonRank(3));
    for input in [Input::Link(LinkInput::LinkUp { peer: three }), lost(one), refused(one), lost(three)] {
        dvm.input(DaemonRank::HEAD, input);
    }
    dvm.run();
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(dvm.running.len(), 1, "who waited for it goes on");
}

/// A node that leaves is not lost (spec E33).
#[test]
fn a_daemon_whose_loss_was_reported_before_the_order_to_leave_is_not_declared_lost_after_it() {
    let mut dvm = dvm(4);
    dvm.crash(3);
    dvm.crash(2);
    ask_shrink(&mut dvm, 1, &["n2"]);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    let notices = dvm.notices.len();
    dvm.fire(0, Timer::Head(HeadTimer::Deaths));
    assert_eq!(dvm.notices.len(), notices, "{:?}", dvm.notices);
    assert_eq!(dvm.received[&DaemonRank(1)].iter().filter(|kind| **kind == "died").count(), 1, "of the first");
    assert_eq!(states(&mut dvm, 2), "n0 up, n1 up, n2 down, n3 lost");
}

/// The order is acknowledged when the leaving neighbours are gone (spec E31).
#[test]
fn a_child_whose_link_breaks_before_it_has_acknowledged_its_order_to_leave_is_called_and_hears_it() {
    let mut dvm = dvm(4);
    dvm.losing(0, 2);
    ask_shrink(&mut dvm, 1, &["n2"]);
    dvm.keep_nothing_back();
    assert!(unanswered(&dvm, 1) && dvm.exits.is_empty());
    // The other end has not seen it: that daemon is well.
    dvm.input(DaemonRank::HEAD, Input::Link(LinkInput::LinkLost { peer: DaemonRank(2), cause: "closed".to_owned() }));
    dvm.run();
    assert_eq!(dvm.exits.get(&DaemonRank(2)), Some(&0), "it has left when the requester hears it");
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
}

#[test]
fn a_daemon_that_was_adopted_in_a_shrink_is_called_when_its_link_breaks() {
    let mut dvm = dvm(10);
    ask_shrink(&mut dvm, 1, &["n1", "n3"]);
    assert!(links(&dvm).contains(&(0, 7)));
    dvm.cut(0, 7);
    assert!(links(&dvm).contains(&(0, 7)), "the new parent knows where it listens");
    assert!(dvm.notices.is_empty(), "{:?}", dvm.notices);
}

#[test]
fn a_survivor_that_is_lost_in_mid_shrink_costs_itself() {
    let mut dvm = dvm(10);
    let held = dvm.freeze_quietly(7);
    ask_shrink(&mut dvm, 1, &["n7", "n8"]);
    assert!(unanswered(&dvm, 1));
    dvm.crash(3);
    dvm.kill(held);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(links(&dvm), [(0, 1), (0, 2), (1, 4), (2, 5), (2, 6), (4, 9)]);
}

/// The frames that the head gets when every second of `daemons` daemons leaves a tree of radix 2.
fn frames_of_a_scattered_shrink(daemons: u32) -> usize {
    let mut dvm = dvm(daemons);
    let names: Vec<String> = (1..daemons).step_by(2).map(|node| format!("n{node}")).collect();
    dvm.received.clear();
    ask_shrink(&mut dvm, 1, &names.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    dvm.received[&DaemonRank::HEAD].len()
}

/// Each new link makes the head ask those behind it, and not all below the same child: else the frames grow with the
/// square of the daemons.
#[test]
fn the_head_hears_of_a_scattered_shrink_in_proportion_to_those_who_leave() {
    let (small, large) = (frames_of_a_scattered_shrink(100), frames_of_a_scattered_shrink(400));
    assert!(large < 5 * small, "{small} frames with 100 daemons, {large} with 400");
}
