//! A scenario as text: written to a file when a seed fails, read back to play it again, and printed in a few lines.
//!
//! The binary reads and writes the files; this module has only texts. The format is JSON; a developer may edit a story,
//! for example to play it without a fault.

use std::fmt::Write;

use ferrite_types::{HostRef, JobSpec};
use ferrite_wire::{Activation, GrowRequest, ResizeRequest, ShrinkRequest};

use crate::elastic::{Asker, Elastic, ResizePlan};
use crate::scenario::{Client, Ending, Scenario};

/// Writes a scenario as text.
#[must_use]
pub fn write(scenario: &Scenario) -> String {
    // Maps whose keys are no strings cannot be written; a scenario has none.
    serde_json::to_string_pretty(scenario).expect("a scenario is plain data") + "\n"
}

/// Reads a scenario.
///
/// # Errors
/// A text that is no story; the error says where it is wrong.
pub fn read(text: &str) -> Result<Scenario, String> {
    let scenario: Scenario = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if scenario.daemons == 0 {
        return Err("a DVM has at least one daemon, the head".to_owned());
    }
    let specs = scenario.jobs.iter().map(|job| &job.spec).chain(scenario.children.iter().map(|child| &child.spec));
    if specs.into_iter().any(|spec| spec.apps.is_empty()) {
        return Err("a job has at least one app".to_owned());
    }
    Ok(scenario)
}

/// The scenario's settings, in one line.
#[must_use]
pub fn options(scenario: &Scenario) -> String {
    let s = scenario;
    format!(
        "seed {}: {} daemons, radix {}, {} slots each, {}, {}, network {}-{} us{}, starts within {} ms, {} jobs, {} questions, {} bad starts, {} faults, ends {}{}{}",
        s.seed,
        s.daemons,
        s.radix,
        s.slots,
        if s.persistent { "persistent" } else { "one-shot" },
        match (s.steps, s.tree_spawn) {
            (true, _) => "spawn by steps",
            (false, true) => "tree spawn",
            (false, false) => "spawn by the head",
        },
        s.weather.fastest,
        s.weather.slowest,
        if s.weather.hiccups > 0 { " with hiccups" } else { "" },
        s.slowest_start / 1000,
        s.jobs.len(),
        s.questions.len(),
        s.fates.len(),
        s.faults.len(),
        ending(s.ending),
        if s.resizes() { elastic(&s.elastic) } else { String::new() },
        s.mutation.map_or(String::new(), |mutation| format!(", planted: {mutation:?}")),
    )
}

/// The planned events, by time, one line each.
#[must_use]
pub fn events(scenario: &Scenario) -> Vec<String> {
    let mut lines: Vec<(u64, String)> = Vec::new();
    for (rank, fate) in &scenario.fates {
        lines.push((0, format!("the start of daemon {rank} ends in {fate:?}")));
    }
    for job in &scenario.jobs {
        let phase = if job.quiet { ", in the quiet phase" } else { "" };
        let grow = job.grow.as_ref().map_or(String::new(), |grow| format!(" and brings {} along", added(grow)));
        let text = format!(
            "a client{} submits {}{grow}{phase}; due: {:?}",
            manners(job.client),
            program(&job.spec),
            job.expect
        );
        lines.push((job.at, text));
    }
    for (number, child) in scenario.children.iter().enumerate() {
        let grow = child.grow.as_ref().map_or(String::new(), |grow| format!(" and brings {} along", added(grow)));
        let apart = if child.separate { " apart" } else { "" };
        lines.push((0, format!("spawn:{number} stands for {}{apart}{grow}", program(&child.spec))));
    }
    lines.extend(scenario.questions.iter().map(|(at, question)| (*at, format!("a client asks: {question:?}"))));
    lines.extend(scenario.elastic.resizes.iter().map(|plan| (plan.at, resize(plan))));
    lines.extend(scenario.faults.iter().map(|(at, fault)| (*at, fault.sentence())));
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(at, text)| format!("{:>12.3} ms  {text}", at as f64 / 1000.0)).collect()
}

fn elastic(elastic: &Elastic) -> String {
    let Elastic { mode, prep_ms, launch_timeout_s, slowest_release, .. } = elastic;
    let mode = if *mode { "elastic" } else { "not elastic" };
    format!(
        "; {mode}, {prep_ms} ms between map and launch, {launch_timeout_s} s for a launch, nodes are taken back within {} ms",
        *slowest_release as f64 / 1000.0
    )
}

/// A request for another size, in one line.
fn resize(plan: &ResizePlan) -> String {
    let who = match plan.by {
        Asker::Process(number) => format!("process {number} of those that run"),
        Asker::Client(None) => "a client".to_owned(),
        Asker::Client(Some(at)) => format!("a client, who leaves at {at} us,"),
        Asker::Scheduler(None) => "a scheduler".to_owned(),
        Asker::Scheduler(Some(at)) => format!("a scheduler, who leaves at {at} us,"),
    };
    let (what, wait) = match &plan.request {
        ResizeRequest::Grow(grow) => (format!("the DVM to grow by {}", added(grow)), grow.wait),
        ResizeRequest::Shrink(shrink) => (format!("{} to leave", removed(shrink)), shrink.wait),
        ResizeRequest::Cancel(cancel) => (format!("request {:?} to be forgotten", cancel.req_id), false),
        ResizeRequest::Extend(extend) => (format!("{} seconds more for {:?}", extend.seconds, extend.alloc_id), false),
    };
    let asks = if matches!(plan.by, Asker::Scheduler(_)) { "pushes" } else { "asks for" };
    format!("{who} {asks} {what}{}", if wait { " and waits" } else { "" })
}

fn added(grow: &GrowRequest) -> String {
    let mut parts: Vec<String> = grow.hosts.iter().map(|added| added.host.name.clone()).collect();
    parts.extend(grow.activate.iter().map(|which| match which {
        Activation::All => "all that it has".to_owned(),
        Activation::Nodes(nodes) => format!("{nodes:?}"),
    }));
    if grow.count > 0 {
        parts.push(format!("{} of its own", grow.count));
    }
    let to = grow.alloc_id.as_ref().map_or(String::new(), |id| format!(" for allocation {id}"));
    parts.join(" ") + &to
}

fn removed(shrink: &ShrinkRequest) -> String {
    let mut parts = shrink.nodes.clone();
    if shrink.count > 0 {
        parts.push(format!("{} nodes", shrink.count));
    }
    let whole = if parts.is_empty() { "all" } else { "" };
    let of = shrink.alloc_id.as_ref().map_or(String::new(), |id| format!("{whole} of allocation {id}"));
    parts.join(" ") + if of.is_empty() || parts.is_empty() { "" } else { " " } + &of
}

fn ending(ending: Ending) -> String {
    match ending {
        Ending::Natural => "by itself".to_owned(),
        Ending::Interrupts(at, times, apart) => format!("by {times} Ctrl-C from {at} us on, {apart} us apart"),
        Ending::Terminate(at) => format!("by SIGTERM at {at} us"),
    }
}

fn manners(client: Client) -> String {
    let mut out = String::new();
    let words = [(client.patient, "waits for slots"), (client.detached, "detaches")];
    let times = [(client.cancels, "cancels"), (client.leaves, "leaves")];
    for word in words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word.to_owned()) {
        // Writing to a string cannot fail.
        let _ = write!(out, ", who {word}");
    }
    if client.name > 0 {
        let _ = write!(out, ", number {} with priority {}", client.name, client.priority);
    }
    for (at, word) in times {
        let _ = at.map_or(Ok(()), |at| write!(out, ", who {word} at {at} us"));
    }
    if out.is_empty() { out } else { out + "," }
}

fn program(spec: &JobSpec) -> String {
    let app = |app: &ferrite_types::AppContext| format!("{} x '{}'", app.np.unwrap_or(1), app.argv[1..].join(" "));
    let by = spec.map.by.as_ref().map_or(String::new(), |by| format!(" by {by:?}").to_lowercase());
    let named = spec.apps.iter().flat_map(|app| &app.hosts.hosts).filter_map(|host| match host {
        HostRef::Host(host) => Some(host.name.as_str()),
        _ => None,
    });
    let named: Vec<&str> = named.collect();
    let on = if named.is_empty() { String::new() } else { format!(" on {}", named.join(" ")) };
    spec.apps.iter().map(app).collect::<Vec<_>>().join(" and ") + &by + &on
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_comes_back_from_its_text_as_it_was() {
        for seed in 0..600 {
            let scenario = if seed < 300 { Scenario::random(seed, None, None) } else { Scenario::elastic(seed) };
            assert_eq!(read(&write(&scenario)).as_ref(), Ok(&scenario));
        }
    }

    #[test]
    fn a_text_that_is_no_story_is_refused_in_words() {
        assert!(read("{ \"seed\": 1 }").unwrap_err().contains("missing field"));
        let none = Scenario { daemons: 0, ..Scenario::calm(1, 1, 2) };
        assert!(read(&write(&none)).unwrap_err().contains("at least one daemon"));
    }

    #[test]
    fn a_story_names_its_events_in_the_order_of_their_times() {
        let scenario = (0..).map(Scenario::elastic).find(|s| s.faults.len() > 1 && !s.fates.is_empty()).unwrap();
        let lines = events(&scenario);
        let planned = scenario.jobs.len() + scenario.questions.len() + scenario.faults.len() + scenario.fates.len();
        let planned = planned + scenario.elastic.resizes.len();
        assert_eq!(lines.len(), planned);
        let time = |line: &String| line.trim_start().split(' ').next().and_then(|t| t.parse::<f64>().ok());
        assert!(lines.iter().map(time).is_sorted());
    }
}
