//! A DVM of real daemons that grows and shrinks while jobs run: ten virtual nodes, a tree of radix 2.
//!
//! `pdvm grow --wait` and `pdvm shrink --wait` are checked at the moment when they print: a grown node runs a job at
//! once, a node after a shrink has no daemon and no process left.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, finish};
use super::dvm::stop_dvm;
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::runner::{Outcome, Running};
use crate::testbed::NodeProcess;

const NODES: usize = 10;
pub(super) const GONE_LIMIT: Duration = Duration::from_secs(10);

pub(super) fn all() -> Vec<Scenario> {
    let all = scenarios![
        elastic_a_node_runs_jobs_when_it_was_grown_and_is_empty_when_it_was_shrunk,
        elastic_a_branch_and_scattered_nodes_leave_and_the_rest_goes_on,
        elastic_everything_but_the_head_leaves_and_comes_again,
        elastic_a_leaving_daemon_that_is_killed_has_left,
        elastic_a_leaving_daemon_that_stands_still_is_waited_for_and_given_up,
        elastic_a_grow_with_a_node_out_of_reach_is_undone_and_can_be_made_again,
        elastic_a_daemon_that_comes_too_late_is_sent_away,
        elastic_a_grow_and_a_shrink_at_once_hold_jobs_and_fail_none,
        elastic_a_job_held_at_its_launch_is_mapped_again_when_its_nodes_leave,
        elastic_what_runs_on_a_leaving_node_is_ended_and_its_job_is_told,
        elastic_processes_are_told_before_their_node_leaves_and_end_by_themselves,
        elastic_a_program_without_pmix_is_told_by_a_signal_and_one_that_stays_is_ended,
        elastic_an_idle_node_leaves_while_another_of_its_shrink_has_time,
        elastic_a_job_brings_its_nodes_along,
        elastic_the_nodes_are_offered_back_before_anybody_is_told,
        elastic_rapid_jobs_across_overlapping_changes_all_succeed,
        elastic_the_end_of_the_dvm_ends_changes_under_way,
    ];
    all.into_iter().map(|scenario| scenario.on_nodes(NODES)).collect()
}

/// Runs `body` in a DVM on the first nodes, with a tree of radix 2; an error includes the head's messages.
pub(super) fn in_dvm(c: &Context, nodes: usize, options: &[&str], body: impl FnOnce() -> Result<()>) -> Result<()> {
    let head = start_dvm(c, nodes, options)?;
    let result = body().and_then(|()| stop_dvm(c));
    if let Err(error) = result {
        let _ = c.tool("pterm", "")?.start();
        let said = head.finish(GONE_LIMIT)?.stderr.trim().replace('\n', "\n      ");
        return Err(error.context(format!("the head said\n      {said}\n   ")));
    }
    finish(head)?.code(0)?;
    Ok(())
}

fn start_dvm(c: &Context, nodes: usize, options: &[&str]) -> Result<Running> {
    let hosts = named(0..nodes);
    let prte = c.tool("prte", "--no-ready-msg --prtemca rml_base_radix 2 --prtemca prte_elastic_mode 1 --host")?;
    let head = prte.words([hosts])?.words(options)?.start()?;
    c.tool("prun", "--wait-to-connect 10 -n 1 true")?.run()?.code(0)?;
    Ok(head)
}

/// `n1:8,n2:8`.
fn named(nodes: impl IntoIterator<Item = usize>) -> String {
    nodes.into_iter().map(|node| format!("n{node}:8")).collect::<Vec<_>>().join(",")
}

/// `n1,n2`.
fn plain(nodes: &[usize]) -> String {
    nodes.iter().map(|node| format!("n{node}")).collect::<Vec<_>>().join(",")
}

fn start_grow(c: &Context, nodes: &[usize]) -> Result<Running> {
    c.tool("pdvm", "grow --wait --host")?.words([named(nodes.iter().copied())])?.start()
}

fn start_shrink(c: &Context, nodes: &[usize]) -> Result<Running> {
    c.tool("pdvm", "shrink --wait --host")?.words([plain(nodes)])?.start()
}

fn grow(c: &Context, nodes: &[usize]) -> Result<()> {
    finish(start_grow(c, nodes)?)?.code(0)?;
    Ok(())
}

/// Shrinks the DVM, and checks that the daemons are gone when the command ends.
fn shrink(c: &Context, nodes: &[usize]) -> Result<()> {
    let outcome = finish(start_shrink(c, nodes)?)?;
    let left = left_on(c, nodes);
    outcome.code(0)?;
    ensure!(left.is_empty(), "the nodes were said to be given back, and there is left:\n    {}", left.join("\n    "));
    Ok(())
}

/// Returns the daemons and other processes on nodes.
fn left_on(c: &Context, nodes: &[usize]) -> Vec<String> {
    let of = |node: &usize| {
        let node = *node;
        let ours = |name: &str| matches!(name, "prted" | "ferrite-guard" | "sleep" | "hostname");
        // A process without memory has ended and waits to be reaped.
        let runs = |process: &NodeProcess| !process.is_zombie && !process.command.is_empty();
        let all = c.bed().processes(node).into_iter().filter(move |process| ours(&process.name) && runs(process));
        all.map(move |process| format!("n{node}: {} ({})", process.name, process.node_pid))
    };
    nodes.iter().flat_map(of).collect()
}

/// Runs a process on each of these nodes, which prints its node.
fn hostnames(c: &Context, nodes: &[usize]) -> Result<()> {
    let expected: Vec<String> = nodes.iter().map(|node| format!("n{node}")).collect();
    let prun = c.tool("prun", "--map-by node --host")?.words([plain(nodes)])?;
    prun.words(["-n", &nodes.len().to_string(), "hostname"])?.run()?.code(0)?.lines(&expected)?;
    Ok(())
}

/// The nodes that `pdvm nodes` calls `up`.
fn up(c: &Context) -> Result<BTreeSet<String>> {
    let listed = c.tool("pdvm", "nodes")?.run()?.code(0)?.stdout;
    let up =
        listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|words| words.contains(&"up"));
    Ok(up.filter_map(|words| words.first().map(|name| (*name).to_owned())).collect())
}

pub(super) fn expect_up(c: &Context, nodes: impl IntoIterator<Item = usize>) -> Result<()> {
    let expected: BTreeSet<String> = nodes.into_iter().map(|node| format!("n{node}")).collect();
    let found = up(c)?;
    ensure!(found == expected, "up are {found:?} instead of {expected:?}");
    Ok(())
}

fn elastic_a_node_runs_jobs_when_it_was_grown_and_is_empty_when_it_was_shrunk(c: &Context) -> Result<()> {
    in_dvm(c, 2, &[], || {
        for round in 0..3 {
            grow(c, &[2, 3, 4])?;
            hostnames(c, &[0, 1, 2, 3, 4])?;
            shrink(c, &[3])?;
            shrink(c, &[2, 4])?;
            expect_up(c, 0..2).with_context(|| format!("round {round}"))?;
        }
        c.tool("prun", "-n 1 --host n3 hostname")?.run()?.failure()?.complains_about(&["n3"])?;
        c.tool("pdvm", "shrink --wait --host n0")?.run()?.failure()?.complains_about(&["n0"])?;
        c.tool("pdvm", "shrink --wait --host n1,nowhere")?.run()?.failure()?.complains_about(&["nowhere"])?;
        expect_up(c, 0..2)
    })
}

fn elastic_a_branch_and_scattered_nodes_leave_and_the_rest_goes_on(c: &Context) -> Result<()> {
    in_dvm(c, NODES, &[], || {
        // In a tree of radix 2 these are below n1, to the last.
        shrink(c, &[1, 3, 4, 7, 8, 9])?;
        hostnames(c, &[0, 2, 5, 6])?;
        grow(c, &[1, 3, 4, 7, 8, 9])?;
        hostnames(c, &(0..NODES).collect::<Vec<_>>())?;
        shrink(c, &[2, 5, 8])?;
        hostnames(c, &[0, 1, 3, 4, 6, 7, 9])?;
        grow(c, &[8])?;
        hostnames(c, &[0, 8, 9])
    })
}

fn elastic_everything_but_the_head_leaves_and_comes_again(c: &Context) -> Result<()> {
    let all: Vec<usize> = (1..NODES).collect();
    in_dvm(c, NODES, &[], || {
        for _ in 0..2 {
            shrink(c, &all)?;
            expect_up(c, [0])?;
            c.tool("prun", "-n 1 hostname")?.run()?.code(0)?.lines(&["n0".to_owned()])?;
            grow(c, &all)?;
            hostnames(c, &(0..NODES).collect::<Vec<_>>())?;
        }
        Ok(())
    })
}

fn elastic_a_leaving_daemon_that_is_killed_has_left(c: &Context) -> Result<()> {
    in_dvm(c, NODES, &[], || {
        // The daemon is stopped, so that the shrink is under way when it dies.
        let victim = c.worker(3, "prted")?;
        victim.signal(Signal::STOP)?;
        let leaving = start_shrink(c, &[1, 3, 9])?;
        c.until("the shrink is under way", GONE_LIMIT, || Ok(status(c)?.contains("shrink")))?;
        c.worker(2, "prted")?.signal(Signal::KILL)?;
        victim.signal(Signal::KILL)?;
        finish(leaving)?.code(0)?;
        let left = left_on(c, &[1, 9]);
        ensure!(left.is_empty(), "left: {left:?}");
        hostnames(c, &[0, 4, 5, 6, 7, 8])
    })
}

fn status(c: &Context) -> Result<String> {
    Ok(c.tool("pdvm", "status")?.run()?.code(0)?.stdout)
}

fn elastic_a_leaving_daemon_that_stands_still_is_waited_for_and_given_up(c: &Context) -> Result<()> {
    in_dvm(c, 4, &["--prtemca", "ferrite_heartbeat_ms", "400"], || {
        let victim = c.worker(3, "prted")?;
        victim.signal(Signal::STOP)?;
        let asked = Instant::now();
        let leaving = start_shrink(c, &[3])?;
        let job = c.tool("prun", "-n 1 hostname")?.start()?;
        finish(leaving)?.code(0)?;
        c.note(format!("given up after {:.1?}", asked.elapsed()));
        finish(job)?.code(0)?;
        victim.signal(Signal::CONT)?;
        let left = c.bed().residue_on(&[3], GONE_LIMIT);
        ensure!(left.is_empty(), "it does not leave when it is awake again: {left:?}");
        expect_up(c, 0..3)
    })
}

fn elastic_a_grow_with_a_node_out_of_reach_is_undone_and_can_be_made_again(c: &Context) -> Result<()> {
    in_dvm(c, 3, &["--prtemca", "ferrite_launch_timeout", "5"], || {
        c.bed().link(5, false)?;
        let asked = Instant::now();
        let growing = start_grow(c, &[4, 5])?;
        c.until("it is under way", GONE_LIMIT, || Ok(status(c)?.contains("grow")))?;
        let waits = c.tool("prun", "-n 1 hostname")?.start()?;
        let outcome = finish(growing)?;
        c.note(format!("undone after {:.1?}", asked.elapsed()));
        let left = left_on(c, &[4]);
        c.bed().link(5, true)?;
        outcome.failure()?.complains_about(&["n5"])?;
        ensure!(left.is_empty(), "the campaign was said to be undone, and there is left: {left:?}");
        finish(waits)?.failure()?.complains_about(&["n5"])?;
        expect_up(c, 0..3)?;
        grow(c, &[4, 5])?;
        hostnames(c, &[0, 1, 2, 4, 5])
    })
}

fn elastic_a_daemon_that_comes_too_late_is_sent_away(c: &Context) -> Result<()> {
    // This daemon starts later than the time limit of the grow allows.
    let slow = c.file("slow-prted", "#!/bin/sh\n[ \"$(hostname)\" != n3 ] || sleep 4\nexec \"$PRTED\" \"$@\"\n")?;
    let text = std::fs::read_to_string(&slow)?.replace("$PRTED", &crate::workspace::product("prted").to_string_lossy());
    std::fs::write(&slow, text)?;
    std::fs::set_permissions(&slow, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let agent = slow.to_string_lossy().into_owned();
    let options = ["--prtemca", "ferrite_launch_timeout", "2", "--prtemca", "prte_launch_agent", &agent];
    in_dvm(c, 2, &options, || {
        finish(start_grow(c, &[2, 3])?)?.failure()?.complains_about(&["n3"])?;
        let left = c.bed().residue_on(&[2, 3], GONE_LIMIT);
        ensure!(left.is_empty(), "left: {left:?}");
        expect_up(c, 0..2)?;
        hostnames(c, &[0, 1])
    })
}

fn elastic_a_grow_and_a_shrink_at_once_hold_jobs_and_fail_none(c: &Context) -> Result<()> {
    in_dvm(c, 5, &[], || {
        let growing = start_grow(c, &[5, 6])?;
        let leaving = start_shrink(c, &[1, 4])?;
        // A grow and a shrink of the same node, in both orders.
        let there = start_grow(c, &[7])?;
        c.until("n7 is on its way", GONE_LIMIT, || Ok(c.tool("pdvm", "nodes")?.run()?.stdout.contains("n7")))?;
        let back = start_shrink(c, &[7])?;
        let (away, again) = (start_shrink(c, &[2])?, start_grow(c, &[2])?);
        let jobs: Vec<Running> =
            (0..6).map(|_| c.tool("prun", "-n 2 --map-by node hostname")?.start()).collect::<Result<_>>()?;
        for change in [growing, leaving, there, back, away, again] {
            finish(change)?.code(0)?;
        }
        for job in jobs {
            finish(job)?.code(0)?;
        }
        // The last two requests may arrive in either order, so n2 may be in or out.
        let found = up(c)?;
        let sure: BTreeSet<String> = [0, 3, 5, 6].map(|node| format!("n{node}")).into();
        let gone = ["n1", "n4", "n7"].iter().all(|node| !found.contains(*node));
        ensure!(sure.is_subset(&found) && gone, "up are {found:?}");
        hostnames(c, &[0, 3, 5, 6])
    })
}

fn elastic_a_job_held_at_its_launch_is_mapped_again_when_its_nodes_leave(c: &Context) -> Result<()> {
    in_dvm(c, 5, &["--prtemca", "ferrite_debug_prep_ms", "700"], || {
        let moves = c.tool("prun", "-n 5 --map-by node hostname")?.start()?;
        let stays = c.tool("prun", "-n 1 --host n1 hostname")?.start()?;
        // Both are mapped and not launched; one node stands still, so that the shrink lasts until they are to be
        // launched.
        c.until("both are mapped", GONE_LIMIT, || {
            let jobs = c.tool("pdvm", "jobs")?.run()?.code(0)?.stdout;
            Ok(jobs.matches("SYSTEM_PREP").count() == 2)
        })?;
        let still = c.worker(4, "prted")?;
        still.signal(Signal::STOP)?;
        let leaving = start_shrink(c, &[3, 4])?;
        c.until("both are held", GONE_LIMIT, || {
            let jobs = c.tool("pdvm", "jobs")?.run()?.code(0)?.stdout;
            Ok(jobs.matches("WAITING_FOR_DAEMONS").count() == 2)
        })?;
        still.signal(Signal::CONT)?;
        finish(leaving)?.code(0)?;
        finish(stays)?.code(0)?.lines(&["n1".to_owned()])?;
        let outcome = finish(moves)?.code(0)?;
        let places: BTreeSet<&str> = outcome.stdout.lines().collect();
        ensure!(outcome.stdout.lines().count() == 5 && places.is_subset(&["n0", "n1", "n2"].into()), "{places:?}");
        Ok(())
    })
}

fn elastic_what_runs_on_a_leaving_node_is_ended_and_its_job_is_told(c: &Context) -> Result<()> {
    in_dvm(c, 4, &[], || {
        let script = "[ \"$(hostname)\" = n3 ] && exec sleep 1000; sleep 2; hostname";
        let job = |options: &str| {
            let line = format!("-n 2 --map-by node --host n2,n3 {options} sh -c");
            c.tool("prun", &line)?.words([script])?.start()
        };
        let (plain, survivor) = (job("")?, job("--runtime-options recoverable")?);
        let whole = c.tool("prun", "-n 2 --host n3:2 sleep 1000")?.start()?;
        c.wait_for(6, "sleep")?;
        shrink(c, &[3])?;
        finish(whole)?.code(75)?.complains_about(&["n3"])?;
        finish(plain)?.code(75)?.lines(&[])?.complains_about(&["n3", "rank 1"])?;
        // Processes that chose to continue do so.
        finish(survivor)?.code(0)?.lines(&["n2".to_owned()])?.complains_about(&["n3"])?;
        Ok(())
    })
}

fn elastic_a_job_brings_its_nodes_along(c: &Context) -> Result<()> {
    in_dvm(c, 1, &[], || {
        let prun = c.tool("prun", "--add-host n5:2,n6:1 --map-by node -n 3 hostname")?;
        prun.run()?.code(0)?.lines(&["n0", "n5", "n6"].map(str::to_owned))?;
        c.bed().link(7, false)?;
        let outcome = c.tool("prun", "--add-host nosuchnode -n 1 hostname")?.run();
        c.bed().link(7, true)?;
        outcome?.failure()?.complains_about(&["nosuchnode"])?.lines(&[])?;
        expect_up(c, [0, 5, 6])
    })
}

/// Nodes are offered back before the requester gets its answer (spec E35).
fn elastic_the_nodes_are_offered_back_before_anybody_is_told(c: &Context) -> Result<()> {
    let offered = c.bed().shared().join("offered");
    let hook = c.file("release", &format!("#!/bin/sh\nsleep 0.3\nsort > {}\n", offered.display()))?;
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let command = hook.to_string_lossy().into_owned();
    in_dvm(c, 4, &["--prtemca", "ferrite_release_command", &command], || {
        shrink(c, &[3, 1])?;
        let text = std::fs::read_to_string(&offered).context("the command has not run")?;
        ensure!(text == "n1\nn3\n", "offered were {text:?}");
        Ok(())
    })
}

/// The time for which a node was out of the DVM.
struct Absence {
    node: usize,
    from: Instant,
    to: Instant,
}

fn elastic_rapid_jobs_across_overlapping_changes_all_succeed(c: &Context) -> Result<()> {
    let jobs = if c.is_quick() { 40 } else { 400 };
    in_dvm(c, 4, &[], || {
        let ended = AtomicUsize::new(0);
        let absences = Mutex::new(Vec::new());
        let (mut done, mut slowest) = (Vec::new(), Duration::ZERO);
        std::thread::scope(|scope| -> Result<()> {
            // Two at a time, so that they overlap; each has nodes of its own.
            let changing = [[4, 5, 6], [7, 8, 9]].map(|nodes| {
                let (ended, absences) = (&ended, &absences);
                scope.spawn(move || {
                    come_and_go(c, &nodes, |part| ended.load(Ordering::Relaxed) * 4 >= part * jobs, absences)
                })
            });
            let running: Result<()> = (0..jobs).try_for_each(|_| {
                let began = Instant::now();
                let outcome = c.tool("prun", "-n 3 --map-by node:oversubscribe hostname")?.run()?.code(0)?;
                slowest = slowest.max(began.elapsed());
                done.push((began, Instant::now(), outcome));
                ended.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
            // No job comes any more that a thread could wait for.
            ended.store(jobs, Ordering::Relaxed);
            let changes: Vec<Result<usize>> =
                changing.into_iter().map(|thread| thread.join().expect("no panic")).collect();
            running?;
            let changes = changes.into_iter().sum::<Result<usize>>()?;
            c.note(format!("{jobs} jobs across {changes} changes of size; the slowest took {slowest:.0?}"));
            Ok(())
        })?;
        let absences = absences.into_inner().expect("no panic");
        done.iter().try_for_each(|(from, to, outcome)| nowhere_wrong(*from, *to, outcome, &absences))
    })
}

/// Every process wrote its line, and none of them on a node that was away all the time.
fn nowhere_wrong(from: Instant, to: Instant, outcome: &Outcome, absences: &[Absence]) -> Result<()> {
    ensure!(outcome.stdout.lines().count() == 3, "lines are missing: {:?}", outcome.stdout);
    for absence in absences.iter().filter(|absence| absence.from <= from && to <= absence.to) {
        let node = format!("n{}", absence.node);
        ensure!(outcome.stdout.lines().all(|line| line != node), "a process ran on {node}, which had left");
    }
    Ok(())
}

/// Grows and shrinks by some nodes three times, each time when another part of the jobs is done.
fn come_and_go(
    c: &Context,
    nodes: &[usize],
    is_done: impl Fn(usize) -> bool,
    absences: &Mutex<Vec<Absence>>,
) -> Result<usize> {
    let mut out = Instant::now();
    for part in 0..3 {
        c.until("some of the jobs are done", GONE_LIMIT * 6, || Ok(is_done(part)))?;
        let asked = Instant::now();
        let away = nodes.iter().map(|node| Absence { node: *node, from: out, to: asked });
        absences.lock().expect("no panic").extend(away);
        grow(c, nodes)?;
        shrink(c, nodes)?;
        out = Instant::now();
    }
    Ok(6)
}

fn elastic_the_end_of_the_dvm_ends_changes_under_way(c: &Context) -> Result<()> {
    let head = start_dvm(c, 3, &[])?;
    c.bed().link(5, false)?;
    let growing = start_grow(c, &[4, 5])?;
    c.until("it is under way", GONE_LIMIT, || Ok(status(c)?.contains("grow")))?;
    let waits = c.tool("prun", "-n 1 hostname")?.start()?;
    c.until("the job waits", GONE_LIMIT, || Ok(status(c)?.contains("held")))?;
    let stopped = stop_dvm(c);
    let outcomes = (finish(growing)?, finish(waits)?);
    c.bed().link(5, true)?;
    stopped?;
    outcomes.0.failure()?;
    outcomes.1.failure()?;
    finish(head)?.code(0)?;
    Ok(())
}

/// The lines that `job` has written to its file, once there are so many.
pub(super) fn lines_of(c: &Context, file: &Path, count: usize) -> Result<Vec<String>> {
    let read = || -> Result<Vec<String>> {
        Ok(std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect())
    };
    c.until(&format!("{count} lines in {}", file.display()), GONE_LIMIT, || Ok(read()?.len() >= count))?;
    let mut lines = read()?;
    lines.sort();
    Ok(lines)
}

/// The node leaves when its processes have ended (spec E45).
fn elastic_processes_are_told_before_their_node_leaves_and_end_by_themselves(c: &Context) -> Result<()> {
    in_dvm(c, 4, &[], || {
        let heard = c.file("heard", "")?;
        let script = format!("exec \"$0\" >> {}", heard.display());
        let job = c.tool("prun", "-n 2 --map-by node --host n2,n3 --grace 600 sh -c")?;
        let job = job.words([script])?.program(&pmix_program("withdrawn")?)?.start()?;
        ensure!(lines_of(c, &heard, 2)? == ["rank 0: up", "rank 1: up"], "{:?}", lines_of(c, &heard, 2)?);
        // Ten minutes are not waited out.
        shrink(c, &[3])?;
        let expected =
            ["rank 0: n3 leaves in 600 s", "rank 0: up", "rank 1: n3 leaves in 600 s, with me", "rank 1: up"];
        let lines = lines_of(c, &heard, 4)?;
        ensure!(lines == expected, "{lines:?}");
        finish(job)?.code(0)?.complains_about(&["Node n3 leaves the DVM: rank 1 of job 2 has 600 seconds to end."])?;
        Ok(())
    })
}

fn elastic_a_program_without_pmix_is_told_by_a_signal_and_one_that_stays_is_ended(c: &Context) -> Result<()> {
    in_dvm(c, 4, &[], || {
        let heard = c.file("heard", "")?;
        let script = "trap 'echo bye; exit 0' USR1; echo up >> \"$0\"; while :; do sleep 0.05; done";
        let told = c.tool("prun", "--host n3:2 -n 1 --grace 600 --grace-signal USR1 sh -c")?.words([script])?;
        let told = told.words([heard.display().to_string()])?.start()?;
        let stays =
            c.tool("prun", "--host n3:2 -n 1 --grace 2 sh -c")?.words(["echo up >> \"$0\"; exec sleep 1000"])?;
        let stays = stays.words([heard.display().to_string()])?.start()?;
        lines_of(c, &heard, 2)?;
        let began = Instant::now();
        shrink(c, &[3])?;
        ensure!(began.elapsed() >= Duration::from_secs(2), "two seconds were promised");
        finish(told)?.code(0)?.lines(&["bye".to_owned()])?;
        finish(stays)?.code(75)?.complains_about(&["has 2 seconds to end", "n3"])?;
        Ok(())
    })
}

/// A node leaves when its last process has ended, and its shrink ends with the last node (spec E48, E49).
fn elastic_an_idle_node_leaves_while_another_of_its_shrink_has_time(c: &Context) -> Result<()> {
    in_dvm(c, 4, &[], || {
        let go = c.bed().shared().join("go-").display().to_string();
        let end_on = |node: usize| c.file(&format!("go-n{node}"), "");
        let heard = c.file("heard", "")?;
        let script = "echo up >> \"$0\"; until [ -e \"$1$(hostname)\" ]; do sleep 0.05; done";
        let job = c.tool("prun", "-n 2 --map-by node --host n2,n3 --grace 600 sh -c")?;
        let job = job.words([script, &heard.display().to_string(), &go])?.start()?;
        lines_of(c, &heard, 2)?;
        let shrink = start_shrink(c, &[2, 3])?;
        let status = || -> Result<String> { Ok(c.tool("pdvm", "status")?.run()?.code(0)?.stdout) };
        c.until("the drain", GONE_LIMIT, || Ok(status()?.contains("before n2, n3 leave")))?;
        end_on(3)?;
        c.until("n3 to leave", GONE_LIMIT, || Ok(!up(c)?.contains("n3") && left_on(c, &[3]).is_empty()))?;
        expect_up(c, [0, 1, 2])?;
        let waits = status()?;
        ensure!(waits.contains("before n2 leaves"), "n2 has time:\n{waits}");
        // A node that has left may come again, and stays.
        grow(c, &[3])?;
        hostnames(c, &[1, 3])?;
        end_on(2)?;
        finish(shrink)?.code(0)?;
        finish(job)?.code(0)?;
        ensure!(left_on(c, &[2]).is_empty(), "n2 was said to be given back");
        expect_up(c, [0, 1, 3])
    })
}
