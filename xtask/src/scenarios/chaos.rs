//! Faults of daemons whose jobs run: they are killed, stopped, cut off and slowed down.
//!
//! Plays [`CHAOS`], the list of the simulator, with real daemons on ten virtual nodes in a tree of radix 2, where
//! daemon *i* is on node *i*. Around each deed two jobs do fence after fence: one that has processes with the victims,
//! and one that has none there but whose way to the head leads through them. The scenario measures the other jobs
//! meanwhile.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ferrite_sim::fault::{CHAOS, Chaos, Deed};
use rustix::process::Signal;

use super::context::{Context, Expect, finish};
use super::dvm::stop_dvm;
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::runner::{Outcome, Running};

const NODES: usize = Chaos::DAEMONS as usize;
/// Nodes that are never victims; n4 and n8 are below all victims that have daemons below them.
const BYSTANDERS: [usize; 3] = [2, 4, 8];
/// The partner of the victims in the job that is struck.
const PARTNER: usize = 9;
/// A daemon is called after three of these without a sign of life (milliseconds).
const HEARTBEAT_MS: u64 = 400;
/// A pause that is shorter than the heartbeat limit of a neighbour.
const SHORT_STOP: Duration = Duration::from_millis(600);
/// The first job of the others comes through within this time after a loss is known.
const RECOVERY_LIMIT: Duration = Duration::from_secs(1);
/// Time limit for detection: silence, then calls without an answer. A daemon below two victims takes longest.
const DETECTION_LIMIT: Duration = Duration::from_secs(15);
const GONE_LIMIT: Duration = Duration::from_secs(10);
/// Time limit for a daemon without any link, which leaves after half a minute.
const ALONE_LIMIT: Duration = Duration::from_secs(45);

pub(super) fn all() -> Vec<Scenario> {
    let of_list = CHAOS.iter().enumerate().map(|(i, chaos)| {
        let name = format!("chaos {}: {}", chaos.name, chaos.sentence);
        // A quick run plays each deed once, each at another depth.
        Scenario::new(name, move |c| play(c, chaos)).extra(i % 4 != i / 4)
    });
    let own = scenarios![
        chaos_partition_a_node_that_is_out_of_reach_for_too_long_leaves_when_it_is_back,
        chaos_interface_a_node_whose_own_interface_is_down_is_given_up_and_its_daemon_leaves,
        chaos_load_daemons_of_each_depth_are_killed_in_turn_under_a_stream_of_jobs,
        chaos_head_the_death_of_the_head_ends_everything_on_all_nodes,
    ];
    of_list.chain(own).map(|scenario| scenario.on_nodes(NODES)).collect()
}

fn play(c: &Context, chaos: &Chaos) -> Result<()> {
    let victims: Vec<usize> = chaos.victims().iter().map(|rank| rank.0 as usize).collect();
    in_dvm(c, || {
        let untouched = Fences::start(c, "untouched", &BYSTANDERS)?;
        let touched = Fences::start(c, "touched", &[victims.as_slice(), &[PARTNER]].concat())?;
        match chaos.deed {
            Deed::Kill => kill(c, &victims, touched)?,
            Deed::Stop => stop(c, &victims, touched)?,
            Deed::CutLink => cut(c, &victims, touched)?,
            Deed::SlowLink => slow(c, &victims, touched)?,
        }
        c.note(format!("the other job: {}", untouched.end_well()?));
        Ok(())
    })
}

fn kill(c: &Context, victims: &[usize], touched: Fences) -> Result<()> {
    let struck = Instant::now();
    signal_daemons(c, victims, Signal::KILL)?;
    let below = first_prun(c, 8, struck)?;
    let beside = first_prun(c, 2, struck)?;
    c.note(format!("from the kill to the first job on n8: {below:.0?}; then on n2: {beside:.0?}"));
    ensure!(below < RECOVERY_LIMIT, "the first job on n8 had ended {below:?} after the kill");
    touched.end_by_loss_of(victims)?;
    expect_down(c, victims)?;
    nothing_left_on(c, victims)
}

fn stop(c: &Context, victims: &[usize], touched: Fences) -> Result<()> {
    signal_daemons(c, victims, Signal::STOP)?;
    std::thread::sleep(SHORT_STOP);
    signal_daemons(c, victims, Signal::CONT)?;
    for victim in victims {
        prun_true(c, *victim)?.code(0)?;
    }
    expect_down(c, &[])?;
    let struck = Instant::now();
    signal_daemons(c, victims, Signal::STOP)?;
    touched.end_by_loss_of(victims)?;
    let detected = struck.elapsed();
    c.note(format!("from the stop to the end of the job there: {detected:.2?}"));
    recovers_after_detection(c, victims)?;
    signal_daemons(c, victims, Signal::CONT)?;
    nothing_left_on(c, victims)
}

fn cut(c: &Context, victims: &[usize], touched: Fences) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..5 {
        // All of them must be linked again, or there is nothing to cut.
        for victim in victims {
            let parent = (victim - 1) / Chaos::RADIX as usize;
            let is_cut = || Ok(c.bed().reset(*victim, parent)? > 0);
            c.until("the victim is linked to its parent", GONE_LIMIT, is_cut)?;
        }
        let struck = Instant::now();
        for victim in victims {
            times.push(first_prun(c, *victim, struck)?);
        }
    }
    c.note(format!("from the cut to the first job with the victim: {}", spread(&mut times)));
    touched.end_well()?;
    expect_down(c, &[])
}

fn slow(c: &Context, victims: &[usize], touched: Fences) -> Result<()> {
    let mut how = "";
    for victim in victims {
        how = c.bed().slow_link(*victim, true)?;
    }
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        for node in victims.iter().copied().chain([8]) {
            times.push(prun_true(c, node)?.code(0)?.elapsed);
        }
    }
    c.note(format!("jobs on the victim's node and on n8, {how}: {}", spread(&mut times)));
    let fences = touched.end_well()?;
    c.note(format!("the job with the victim: {fences}"));
    for victim in victims {
        c.bed().slow_link(*victim, false)?;
    }
    expect_down(c, &[])
}

fn chaos_partition_a_node_that_is_out_of_reach_for_too_long_leaves_when_it_is_back(c: &Context) -> Result<()> {
    let victim = 3;
    in_dvm(c, || {
        let untouched = Fences::start(c, "untouched", &BYSTANDERS)?;
        let touched = Fences::start(c, "touched", &[victim, PARTNER])?;
        let struck = Instant::now();
        c.bed().link(victim, false)?;
        touched.end_by_loss_of(&[victim])?;
        c.note(format!("from the cut to the end of the job there: {:.2?}", struck.elapsed()));
        recovers_after_detection(c, &[victim])?;
        ensure!(
            c.worker(victim, "prted").is_ok(),
            "the daemon left although it could not know that it was declared dead"
        );
        c.bed().link(victim, true)?;
        let back = Instant::now();
        nothing_left_on(c, &[victim])?;
        c.note(format!("from the mending to nothing left there: {:.2?}", back.elapsed()));
        c.note(format!("the other job: {}", untouched.end_well()?));
        Ok(())
    })
}

fn chaos_interface_a_node_whose_own_interface_is_down_is_given_up_and_its_daemon_leaves(c: &Context) -> Result<()> {
    let victim = 3;
    in_dvm(c, || {
        let untouched = Fences::start(c, "untouched", &BYSTANDERS)?;
        let touched = Fences::start(c, "touched", &[victim, PARTNER])?;
        let struck = Instant::now();
        c.bed().interface(victim, false)?;
        touched.end_by_loss_of(&[victim])?;
        c.note(format!("from the cut to the end of the job there: {:.2?}", struck.elapsed()));
        recovers_after_detection(c, &[victim])?;
        // The daemon cannot be told: it finds out by itself.
        let left = c.bed().residue_on(&[victim], ALONE_LIMIT);
        c.note(format!("from the cut to nothing left there: {:.2?}", struck.elapsed()));
        c.bed().interface(victim, true)?;
        ensure!(left.is_empty(), "left behind:\n    {}", left.join("\n    "));
        c.note(format!("the other job: {}", untouched.end_well()?));
        Ok(())
    })
}

fn chaos_load_daemons_of_each_depth_are_killed_in_turn_under_a_stream_of_jobs(c: &Context) -> Result<()> {
    const CLIENTS: usize = 3;
    let victims: &[usize] = if c.is_quick() { &[7, 3, 1] } else { &[7, 9, 3, 5, 1] };
    in_dvm(c, || {
        let untouched = Fences::start(c, "untouched", &BYSTANDERS)?;
        let is_over = AtomicBool::new(false);
        let (kills, streams) = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| stream(c, victims, &is_over))).collect();
            let kills = victims.iter().map(|victim| kill_under_load(c, *victim)).collect::<Result<Vec<_>>>();
            is_over.store(true, Ordering::Relaxed);
            (kills, clients.into_iter().map(|client| client.join()).collect::<Vec<_>>())
        });
        let mut times = kills?;
        let (mut good, mut lost) = (0, 0);
        for stream in streams {
            let (g, l) = stream.ok().context("a client panicked")??;
            (good, lost) = (good + g, lost + l);
        }
        c.note(format!("{CLIENTS} clients: {good} jobs ended well, {lost} had a process with a victim"));
        ensure!(good > 0, "no job of the stream ended well");
        let each: Vec<String> = victims.iter().zip(&times).map(|(n, time)| format!("n{n} {time:.0?}")).collect();
        c.note(format!("from the kill to the first job on n8: {}: {}", each.join(", "), spread(&mut times)));
        c.note(format!("the other job: {}", untouched.end_well()?));
        let worst = times.last().context("no times")?;
        ensure!(*worst < RECOVERY_LIMIT, "the first job on n8 had ended {worst:?} after a kill");
        expect_down(c, victims)
    })
}

/// Kills one daemon; returns the time until a job on n8 has ended well.
fn kill_under_load(c: &Context, victim: usize) -> Result<Duration> {
    let struck = Instant::now();
    c.worker(victim, "prted")?.signal(Signal::KILL)?;
    let time = first_prun(c, 8, struck)?;
    nothing_left_on(c, &[victim])?;
    Ok(time)
}

/// Runs one job after another; returns how many ended well, and how many had a process with a victim.
fn stream(c: &Context, victims: &[usize], is_over: &AtomicBool) -> Result<(usize, usize)> {
    let (mut good, mut lost) = (0, 0);
    while !is_over.load(Ordering::Relaxed) {
        let outcome = c.tool("prun", "-n 4 --map-by node hostname")?.run()?;
        if outcome.is_success() {
            good += 1;
        } else {
            names_one_of(&outcome, victims)?;
            lost += 1;
        }
    }
    Ok((good, lost))
}

fn chaos_head_the_death_of_the_head_ends_everything_on_all_nodes(c: &Context) -> Result<()> {
    let head = start_dvm(c)?;
    let job = c.tool("prun", "-n 20 --map-by node sleep 1000")?.start()?;
    c.wait_for(20, "sleep")?;
    let struck = Instant::now();
    c.worker(0, "prte")?.signal(Signal::KILL)?;
    let is_over = || Ok(c.named("prted").is_empty() && c.named("sleep").is_empty() && c.named("prte").is_empty());
    c.until("no daemon and no process is left", GONE_LIMIT, is_over)?;
    c.note(format!("from the kill to the end of the last daemon and process: {:.0?}", struck.elapsed()));
    finish(job)?.failure()?;
    finish(head)?.failure()?;
    nothing_left_on(c, &(0..NODES).collect::<Vec<_>>())
}

/// Runs `body` in a DVM; an error includes the head's messages.
fn in_dvm(c: &Context, body: impl FnOnce() -> Result<()>) -> Result<()> {
    let head = start_dvm(c)?;
    let result = body().and_then(|()| stop_dvm(c));
    if let Err(error) = result {
        // The DVM may be unable to end; then the nodes are removed.
        let _ = c.tool("pterm", "")?.start();
        let said = head.finish(GONE_LIMIT)?.stderr.trim().replace('\n', "\n      ");
        return Err(error.context(format!("the head said\n      {said}\n   ")));
    }
    finish(head)?.code(0)?;
    Ok(())
}

fn start_dvm(c: &Context) -> Result<Running> {
    let hostfile = c.hostfile(8)?;
    let prte = c.tool("prte", "--no-ready-msg --prtemca rml_base_radix")?.words([Chaos::RADIX.to_string()])?;
    let prte = prte.words(["--prtemca", "ferrite_heartbeat_ms", &HEARTBEAT_MS.to_string(), "--hostfile"])?;
    let head = prte.words([hostfile])?.start()?;
    c.tool("prun", "--wait-to-connect 10 -n 1 true")?.run()?.code(0)?;
    Ok(head)
}

/// A job that does fence after fence, one process on each of some nodes.
struct Fences {
    job: Running,
    /// The job ends when this file exists.
    end: PathBuf,
}

impl Fences {
    fn start(c: &Context, name: &str, nodes: &[usize]) -> Result<Self> {
        let dir = c.bed().shared().join(name);
        // This directory belongs to the scenario before.
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir)?;
        let end = dir.join("end");
        let hosts: Vec<String> = nodes.iter().map(|node| format!("n{node}")).collect();
        let prun = c.tool("prun", "--map-by node --host")?.words([hosts.join(",")])?;
        let prun = prun.words(["-n", &nodes.len().to_string()])?.program(&pmix_program("fences")?)?;
        let job = prun.words([&end])?.start()?;
        let going = end.with_extension("going");
        c.until("the first fence is over", GONE_LIMIT, || Ok(going.exists()))?;
        Ok(Self { job, end })
    }

    /// Lets it end; returns what it says.
    fn end_well(self) -> Result<String> {
        std::fs::write(&self.end, "")?;
        Ok(finish(self.job)?.code(0)?.stdout.trim().to_owned())
    }

    fn end_by_loss_of(self, victims: &[usize]) -> Result<()> {
        let outcome = self.job.finish(DETECTION_LIMIT)?;
        ensure!(outcome.status.is_some(), "it goes on after {DETECTION_LIMIT:?} although a process is lost");
        names_one_of(&outcome.failure()?, victims)
    }
}

fn names_one_of(outcome: &Outcome, victims: &[usize]) -> Result<()> {
    let is_named = victims.iter().any(|victim| outcome.stderr.contains(&format!("n{victim}")));
    ensure!(is_named, "stderr names none of the nodes {victims:?}\n    {}", outcome.tail());
    Ok(())
}

fn signal_daemons(c: &Context, nodes: &[usize], signal: Signal) -> Result<()> {
    let daemons = nodes.iter().map(|node| c.worker(*node, "prted")).collect::<Result<Vec<_>>>()?;
    daemons.iter().try_for_each(|daemon| daemon.signal(signal))
}

fn prun_true(c: &Context, node: usize) -> Result<Outcome> {
    c.tool("prun", "-n 1 --host")?.words([format!("n{node}")])?.words(["true"])?.run()
}

/// Runs jobs on a node until one ends well; returns how long after `since` that was.
fn first_prun(c: &Context, node: usize, since: Instant) -> Result<Duration> {
    let deadline = Instant::now() + GONE_LIMIT;
    loop {
        let outcome = prun_true(c, node)?;
        if outcome.is_success() {
            return Ok(since.elapsed());
        }
        ensure!(Instant::now() < deadline, "no job on n{node} ends well\n    {}", outcome.tail());
    }
}

/// Checks that jobs of other daemons run at once after the loss is known, near the head and below the victims.
fn recovers_after_detection(c: &Context, victims: &[usize]) -> Result<()> {
    let known = Instant::now();
    let (beside, below) = (first_prun(c, 2, known)?, first_prun(c, 8, known)?);
    c.note(format!("from then on to the first job on n2: {beside:.0?}; then on n8: {below:.0?}"));
    ensure!(below < RECOVERY_LIMIT, "the first jobs had ended {below:?} after the loss was known");
    expect_down(c, victims)
}

/// Waits until exactly these nodes are listed as down.
fn expect_down(c: &Context, nodes: &[usize]) -> Result<()> {
    let mut expected: Vec<String> = nodes.iter().map(|node| format!("n{node}")).collect();
    expected.sort();
    let is_so = || {
        let listed = c.tool("pdvm", "nodes")?.run()?.code(0)?.stdout;
        let down = listed.lines().filter(|line| line.contains("lost"));
        let mut down: Vec<&str> = down.filter_map(|line| line.split_whitespace().next()).collect();
        down.sort_unstable();
        Ok(down == expected)
    };
    c.until(&format!("the lost nodes are {expected:?}"), GONE_LIMIT, is_so)?;
    Ok(())
}

fn nothing_left_on(c: &Context, nodes: &[usize]) -> Result<()> {
    let left = c.bed().residue_on(nodes, GONE_LIMIT);
    ensure!(left.is_empty(), "left behind:\n    {}", left.join("\n    "));
    Ok(())
}

/// The median and the worst of some times, which are sorted.
fn spread(times: &mut [Duration]) -> String {
    times.sort_unstable();
    match (times.get(times.len() / 2), times.last()) {
        (Some(median), Some(worst)) => format!("median {median:.0?}, worst {worst:.0?} of {}", times.len()),
        _ => "never".to_owned(),
    }
}
