//! A DVM whose size is changed from inside: `PMIx_Allocation_request` of processes and tools, its answer, and the event
//! at the end.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::context::{Context, Expect, finish};
use super::dvm::stop_dvm;
use super::{Scenario, scenarios};
use crate::programs::{libpmix_major, pmix_program};
use crate::runner::{self, Outcome};

/// Events have codes that released versions of PMIx have no names for.
const EVENTS: &str = "--prtemca prte_dvm_events always";

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_process_grows_the_dvm_and_gives_the_nodes_back,
        a_process_hears_why_the_dvm_did_not_grow,
        a_refused_or_needless_request_makes_no_event,
        a_tool_of_pmix_grows_the_dvm_and_gives_the_nodes_back,
        an_event_for_the_requester_does_not_reach_handlers_of_everything,
        a_process_is_warned_before_the_time_of_its_allocation_is_up,
        a_tool_is_warned_before_the_time_of_its_allocation_is_up,
        processes_get_more_time_for_an_allocation_and_for_their_own_session,
        a_request_that_has_not_begun_is_taken_back,
        events_without_a_name_in_pmix_are_sent_only_on_demand,
    ]
}

/// Runs `body` in an elastic DVM on n0 and n1.
fn in_dvm(c: &Context, options: &str, body: impl FnOnce() -> Result<()>) -> Result<()> {
    let prte = c.tool("prte", "--daemonize --host n0:4,n1:4 --prtemca prte_elastic_mode 1")?;
    prte.words(options.split_whitespace())?.run()?.code(0)?;
    body()?;
    stop_dvm(c)
}

/// Returns the output of the first process of `prun OPTIONS elastic STEPS`, and that of the others.
fn elastic(c: &Context, options: &str, steps: &str) -> Result<Vec<String>> {
    let job = c.tool("prun", options)?.program(&pmix_program("elastic")?)?.words(steps.split_whitespace())?;
    said(job.run()?)
}

fn said(outcome: Outcome) -> Result<Vec<String>> {
    Ok(outcome.code(0)?.stdout.lines().map(str::to_owned).collect())
}

fn hostnames(c: &Context, hosts: &str) -> Result<Outcome> {
    c.tool("prun", "--map-by node -n")?
        .words([hosts.split(',').count().to_string().as_str(), "--host", hosts, "hostname"])?
        .run()
}

fn a_process_grows_the_dvm_and_gives_the_nodes_back(c: &Context) -> Result<()> {
    in_dvm(c, EVENTS, || {
        // From a node other than the head's, with bystanders beside it.
        let lines = elastic(c, "-n 3 --host n1:3", "new=n2:2 event extend=n3 event quiet")?;
        let expected = [
            "new accepted a1 mine",
            "ready a1 mine",
            "extend accepted a1 more",
            "ready a1 more",
            "requester unheard 0",
            "bystander unheard 0",
            "bystander unheard 0",
        ];
        ensure!(lines == expected, "it says {lines:?}");
        hostnames(c, "n2,n3")?.code(0)?.lines(&["n2".to_owned(), "n3".to_owned()])?;
        let lines = elastic(c, "-n 1", "release=n3 event mine=n3 event release event quiet")?;
        let expected = [
            "release accepted a1 -",
            "ready a1 -",
            "mine accepted a1 mine",
            "ready a1 mine",
            "release accepted a1 -",
            "ready a1 -",
            "requester unheard 0",
        ];
        ensure!(lines == expected, "it says {lines:?}");
        c.wait_for(1, "prted")?;
        hostnames(c, "n2")?.failure()?;
        Ok(())
    })
}

/// By launcher (at once), and by time.
fn a_process_hears_why_the_dvm_did_not_grow(c: &Context) -> Result<()> {
    in_dvm(c, &format!("{EVENTS} --prtemca ferrite_launch_timeout 3"), || {
        let lines = elastic(c, "-n 1", "new=no-such-node event quiet")?;
        let expected = ["new accepted a1 mine", "failed -181 a1 mine explained", "requester unheard 0"];
        ensure!(lines == expected, "it says {lines:?}");
        c.bed().link(2, false)?;
        let lines = elastic(c, "-n 1", "new=n2,n3 event quiet")?;
        let expected = ["new accepted a2 mine", "failed -24 a2 mine explained", "requester unheard 0"];
        ensure!(lines == expected, "it says {lines:?}");
        hostnames(c, "n3")?.failure()?;
        c.bed().link(2, true)?;
        let lines = elastic(c, "-n 1", "new=n2,n3 event quiet")?;
        ensure!(lines.get(1).is_some_and(|line| line == "ready a3 mine"), "it says {lines:?}");
        hostnames(c, "n2,n3")?.code(0)?;
        Ok(())
    })
}

fn a_refused_or_needless_request_makes_no_event(c: &Context) -> Result<()> {
    in_dvm(c, EVENTS, || {
        let lines = elastic(c, "-n 1", "unknown release=n3 new=n2;true count=7 must new=n1 quiet")?;
        let expected = [
            "unknown refused -46",
            "release refused -46",
            "new refused -27",
            "count refused -29",
            "must refused -47",
            "new accepted a1 mine",
            "requester unheard 0",
        ];
        ensure!(lines == expected, "it says {lines:?}");
        c.wait_for(1, "prted")
    })
}

fn a_tool_of_pmix_grows_the_dvm_and_gives_the_nodes_back(c: &Context) -> Result<()> {
    let tool = pmix_program("elastic")?;
    in_dvm(c, EVENTS, || {
        let steps = ["tool", "unknown", "new=n2,n3", "event", "release=n2", "event", "release", "event", "quiet"];
        let lines = said(runner::run(c.bed().command(0, &tool)?.args(steps), Duration::from_secs(60))?)?;
        let expected = [
            "unknown refused -46",
            "new accepted a1 mine",
            "ready a1 mine",
            "release accepted a1 -",
            "ready a1 -",
            "release accepted a1 -",
            "ready a1 -",
            "requester unheard 0",
        ];
        ensure!(lines == expected, "it says {lines:?}");
        // A requester that does not wait for the end gets its nodes too.
        let lines = said(runner::run(c.bed().command(0, &tool)?.args(["tool", "new=n2"]), Duration::from_secs(60))?)?;
        ensure!(lines == ["new accepted a2 mine"], "it says {lines:?}");
        // The tool is gone; its nodes are for everybody when they have come.
        c.until("n2 is everybody's", Duration::from_secs(20), || Ok(hostnames(c, "n2")?.is_success()))?;
        hostnames(c, "n1,n2")?.code(0)?.lines(&["n1".to_owned(), "n2".to_owned()])?;
        Ok(())
    })
}

/// MPI libraries have such handlers, and some take any error for the end. (libpmix 4.2.2 spares them even an event that
/// does not say that it is not for them; others need not.)
fn an_event_for_the_requester_does_not_reach_handlers_of_everything(c: &Context) -> Result<()> {
    in_dvm(c, EVENTS, || {
        let lines = elastic(c, "-n 1", "deaf new=n2 quiet new=no-such-node quiet")?;
        let expected = ["new accepted a1 mine", "requester unheard 0", "new accepted a2 mine", "requester unheard 0"];
        ensure!(lines == expected, "it says {lines:?}");
        c.wait_for(2, "prted")
    })
}

fn a_process_is_warned_before_the_time_of_its_allocation_is_up(c: &Context) -> Result<()> {
    in_dvm(c, EVENTS, || {
        let job = c.tool("prun", "-n 2 --host n1:2")?.program(&pmix_program("elastic")?)?;
        let job = job.words(["timed=n2", "event", "event", "quiet", "quiet"])?.start()?;
        let list = || c.tool("pdvm", "session list")?.run()?.code(0);
        c.until("the warning is announced", Duration::from_secs(5), || Ok(list()?.stdout.contains("3.0 s before")))?;
        c.until("the warning is given", Duration::from_secs(8), || Ok(list()?.stdout.contains("done")))?;
        let lines = said(finish(job)?)?;
        let expected = [
            "timed accepted a1 mine",
            "ready a1 mine",
            "warned a1 mine 3",
            "requester unheard 0",
            "requester unheard 0",
            "bystander unheard 0",
        ];
        ensure!(lines == expected, "it says {lines:?}");
        c.wait_for(1, "prted")
    })
}

fn a_tool_is_warned_before_the_time_of_its_allocation_is_up(c: &Context) -> Result<()> {
    let tool = pmix_program("elastic")?;
    in_dvm(c, EVENTS, || {
        let steps = ["tool", "timed=n2", "event", "event", "quiet"];
        let lines = said(runner::run(c.bed().command(0, &tool)?.args(steps), Duration::from_secs(60))?)?;
        let expected = ["timed accepted a1 mine", "ready a1 mine", "warned a1 mine 3", "requester unheard 0"];
        ensure!(lines == expected, "it says {lines:?}");
        c.wait_for(1, "prted")
    })
}

fn processes_get_more_time_for_an_allocation_and_for_their_own_session(c: &Context) -> Result<()> {
    in_dvm(c, EVENTS, || {
        let lines = elastic(c, "-n 1", "owntime=60 timed=n2 event time=60 quiet")?;
        let expected = [
            "owntime refused -27",
            "timed accepted a1 mine",
            "ready a1 mine",
            "time accepted a1 more",
            "requester unheard 0",
        ];
        ensure!(lines == expected, "it says {lines:?}");
        let lines = elastic(c, "-n 1 --alloc-id a1", "owntime=600 quiet")?;
        let expected = ["owntime accepted a1 -", "requester unheard 0"];
        ensure!(lines == expected, "it says {lines:?}");
        let listed = c.tool("pdvm", "--json session list")?.run()?.code(0)?.stdout;
        let left = listed.split("\"time_left_s\":").nth(1).and_then(|rest| rest.split([',', '}']).next());
        let left: u64 = left.and_then(|left| left.trim().parse().ok()).unwrap_or_default();
        ensure!((630..=666).contains(&left), "six seconds, 60 and 600 have become {left}: {listed}");
        Ok(())
    })
}

/// One that waits behind another; what has begun goes on.
fn a_request_that_has_not_begun_is_taken_back(c: &Context) -> Result<()> {
    in_dvm(c, &format!("{EVENTS} --prtemca ferrite_launch_timeout 3"), || {
        c.bed().link(2, false)?;
        let lines = elastic(c, "-n 1", "new=n2 extend=n2 cancel=more event cancel=mine cancel=nothing event quiet")?;
        let expected = [
            "new accepted a1 mine",
            "extend accepted a1 more",
            "cancel accepted a1 more",
            "failed -180 a1 more explained",
            "cancel refused -158",
            "cancel refused -46",
            "failed -24 a1 mine explained",
            "requester unheard 0",
        ];
        c.bed().link(2, true)?;
        ensure!(lines == expected, "it says {lines:?}");
        Ok(())
    })
}

/// The events of the second answer are optional (spec G9).
fn events_without_a_name_in_pmix_are_sent_only_on_demand(c: &Context) -> Result<()> {
    let never = "--prtemca prte_dvm_events never";
    // libpmix 7 has names for them.
    let is_named = libpmix_major() >= Some(7);
    for options in if is_named { vec![never] } else { vec!["", never] } {
        in_dvm(c, options, || {
            let lines = elastic(c, "-n 1", "new=n2 quiet")?;
            ensure!(lines == ["new accepted a1 mine", "requester unheard 0"], "it says {lines:?}");
            c.wait_for(2, "prted")
        })?;
    }
    Ok(())
}
