//! Events that processes and tools raise for others, on their node, on other nodes, and in other jobs.

use std::io::{BufRead, BufReader};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::runner::Running;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        each_range_reaches_whom_it_names_once_on_two_and_on_four_nodes,
        events_come_in_the_order_of_their_source_to_all_nodes,
        who_registers_late_hears_each_event_once,
        events_pass_between_the_jobs_of_a_family,
        a_tool_hears_events_of_a_job_and_answers_with_one,
        the_loss_of_a_daemon_on_the_way_loses_no_event_and_repeats_none,
        a_process_that_floods_is_refused_and_disturbs_nobody,
    ]
}

/// Events that rank `me` of `size` hears of tests/programs/raise.c `ranges`; ranks are on nodes by slot, two on each.
fn of_ranges(me: u32, size: u32) -> Vec<String> {
    let is_named = me == 1 || me == size - 1;
    let hears = |which: u32| match which {
        3 => is_named,
        // The source's own library tells it of its other events, whatever their range is.
        _ if me == 0 => true,
        4 => me == 1,
        5 | 6 => false,
        _ => true,
    };
    let affected = |which: u32| if which == 7 { 1 } else { -1 };
    let line = |which: u32| format!("{me} heard {which} of 0@1 affected {}", affected(which));
    (0..9).filter(|which| hears(*which)).map(line).collect()
}

/// Checks who hears an event (spec L60).
fn each_range_reaches_whom_it_names_once_on_two_and_on_four_nodes(c: &Context) -> Result<()> {
    let raise = pmix_program("raise")?;
    for nodes in [2, 4] {
        let size = 2 * nodes;
        let expected: Vec<String> = (0..size).flat_map(|me| of_ranges(me, size)).collect();
        let hosts: Vec<String> = (0..nodes).map(|node| format!("n{node}:2")).collect();
        let job = c.prterun("--map-by slot --host")?.words([hosts.join(","), "-n".into(), size.to_string()])?;
        job.program(&raise)?.words(["ranges"])?.run()?.code(0)?.lines(&expected)?;
    }
    Ok(())
}

fn in_order(ranks: u32, count: u32) -> Vec<String> {
    (0..ranks).map(|me| format!("{me} heard {count}, 0 wrong")).collect()
}

fn events_come_in_the_order_of_their_source_to_all_nodes(c: &Context) -> Result<()> {
    let raise = pmix_program("raise")?;
    for radix in ["64", "2"] {
        let job = c.everywhere(2, "-n 8 --map-by slot")?.words(["--prtemca", "rml_base_radix", radix])?;
        let outcome = job.program(&raise)?.words(["order", "200"])?.run()?.code(0)?.lines(&in_order(8, 1600))?;
        c.note(format!("8 times 200 events for 8 processes at radix {radix}: {:.2} s", outcome.elapsed.as_secs_f64()));
    }
    Ok(())
}

fn who_registers_late_hears_each_event_once(c: &Context) -> Result<()> {
    let raise = pmix_program("raise")?;
    let expected = |ranks: std::ops::Range<u32>| -> Vec<String> {
        let of = |me: u32| (0..5).map(move |_| format!("{me} heard 0 of 0@1 affected -1"));
        ranks.flat_map(of).collect()
    };
    // One process on each node: the library of the source's own node keeps events in its own way.
    c.everywhere(1, "-n 4")?.program(&raise)?.words(["late", "5"])?.run()?.code(0)?.lines(&expected(1..4))?;
    let early = format!("{0} late 5 early", raise.display());
    let script = format!("[ $PMIX_RANK = 0 ] || sleep 2; exec {early}");
    c.everywhere(1, "-n 4 sh -c")?.words([&script])?.run()?.code(0)?.lines(&expected(1..4))?;
    Ok(())
}

fn events_pass_between_the_jobs_of_a_family(c: &Context) -> Result<()> {
    let raise = pmix_program("raise")?;
    // On the source's own node the library answers for those who come later, in its own way.
    for (node, when) in [("n0", "late"), ("n2", "late"), ("n2", "early")] {
        let job = c.prterun("--host n0:3,n1:1,n2:2 -n 2 --map-by node")?.program(&raise)?;
        let mut expected: Vec<String> = (0..2).map(|rank| format!("{rank} heard 1 of 0@1 affected -1")).collect();
        for child in 0..2 {
            expected.extend([0, 1].map(|which| format!("{child} heard {which} of 0@1 affected -1")));
            expected.push(format!("0 heard 2 of {child}@2 affected {child}"));
            expected.extend((when == "late").then(|| format!("0 heard 4 of {child}@2 affected -1")));
        }
        job.words(["family", node, when])?.run()?.code(0)?.lines(&expected)?;
    }
    Ok(())
}

fn a_tool_hears_events_of_a_job_and_answers_with_one(c: &Context) -> Result<()> {
    let raise = pmix_program("raise")?;
    start_dvm(c, 2)?;
    for node in [0, 3] {
        let mut tool = Running::start_unread(c.bed().command(node, &raise)?.args(["listen", "2"]))?;
        let mut said = BufReader::new(tool.child().stdout.take().context("no output")?);
        let mut line = String::new();
        said.read_line(&mut line)?;
        ensure!(line == "listening\n", "the tool says {line:?}");
        let job = c.tool("prun", "-n 2 --host n0:1,n2:1")?.program(&raise)?.words(["for-tool"])?;
        let outcome = job.run()?.code(0)?;
        let answer = outcome.stdout.lines().filter(|line| line.starts_with("0 heard 3 of 0")).count();
        ensure!(answer == 1, "the tool on n{node} is not heard: {}", outcome.stdout);
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut said, &mut rest)?;
        ensure!(rest.lines().filter(|line| line.contains(" heard ")).count() >= 2, "the tool hears {rest:?}");
        finish(tool)?.code(0)?;
    }
    stop_dvm(c)
}

fn the_loss_of_a_daemon_on_the_way_loses_no_event_and_repeats_none(c: &Context) -> Result<()> {
    let raise = pmix_program("raise")?;
    start_dvm_of_radix_2(c)?;
    // n1 is above n3; no process of the job is there.
    let mut job = c
        .tool("prun", "--host n3:1,n0:1,n2:1 -n 3 --map-by node")?
        .program(&raise)?
        .words(["pace", "200", "15"])?
        .start_unread()?;
    let mut said = BufReader::new(job.child().stdout.take().context("no output")?);
    let mut line = String::new();
    said.read_line(&mut line)?;
    ensure!(line == "begun\n", "the job says {line:?}");
    c.worker(1, "prted")?.signal(Signal::KILL)?;
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut said, &mut rest)?;
    finish(job)?.code(0)?;
    let mut lines: Vec<&str> = rest.lines().collect();
    lines.sort_unstable();
    ensure!(lines == in_order(3, 200), "the processes say {rest}");
    stop_dvm(c)
}

fn start_dvm_of_radix_2(c: &Context) -> Result<()> {
    let hostfile = c.hostfile(2)?;
    let dvm = c.tool("prte", "--daemonize --prtemca rml_base_radix 2 --hostfile")?.words([hostfile])?;
    dvm.run()?.code(0)?;
    Ok(())
}

fn a_process_that_floods_is_refused_and_disturbs_nobody(c: &Context) -> Result<()> {
    let raise = pmix_program("raise")?;
    let expected: Vec<String> = std::iter::once("0 was refused some".to_owned())
        .chain((1..8).map(|me| format!("{me} was refused 0 of 10")))
        .collect();
    c.everywhere(2, "-n 8 --map-by slot")?
        .program(&raise)?
        .words(["flood", "20000"])?
        .run()?
        .code(0)?
        .lines(&expected)?;
    Ok(())
}
