//! Shrinks of nodes whose jobs have asked for time, played under all guarantees, and the planted faults about them.

use ferrite_sim::{Expect, Keep, Mutation, Referee, Scenario, check, job, run};
use ferrite_types::{Duration, Grace, HostEntry, HostRef, JobSpec};

fn with_grace(node: &str, pause: u64) -> JobSpec {
    let mut spec = job(1, &format!("pause:{pause}"));
    spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named(node))];
    spec.options.grace = Some(Grace { time: Duration::from_secs(10), signal: None });
    spec
}

/// Two nodes of one shrink, the processes of which end three seconds apart.
fn one_after_the_other() -> Scenario {
    Scenario { persistent: true, ..Scenario::calm(5, 8, 2) }
        .with_job(500_000, with_grace("n5", 1_500_000), Expect::Code(0))
        .with_job(500_000, with_grace("n6", 4_500_000), Expect::Code(0))
        .with_shrink(1_000_000, &["n5", "n6"])
}

/// No node waits out the grace of another (spec E48).
#[test]
fn a_node_leaves_while_another_of_its_shrink_has_time() {
    let scenario = one_after_the_other();
    let report = check(&scenario);
    assert!(report.violation.is_none(), "{:?}\n{}", report.violation, report.lines.join("\n"));
    let together = Scenario { mutation: Some(Mutation::LeaveTogether), ..scenario };
    let report = run(&together, Keep::Nothing, Referee::strict(&together));
    let seen = report.violation.map(|violation| violation.invariant);
    assert_eq!(seen, Some("processes are told and have their time before their node leaves"));
}

#[test]
fn forty_seeds_about_graces_hold() {
    for seed in 1_000..1_040 {
        let scenario = Scenario::graces(seed);
        let report = check(&scenario);
        assert!(report.violation.is_none(), "{:?}\n{scenario:#?}", report.violation);
    }
}

#[test]
fn every_planted_fault_about_graces_is_seen() {
    let seen = |mutation: Mutation, seed| {
        let scenario = Scenario { mutation: Some(mutation), ..Scenario::graces(seed) };
        run(&scenario, Keep::Nothing, Referee::strict(&scenario)).violation.is_some()
    };
    for mutation in Mutation::GRACES {
        assert!((1..=100).any(|seed| seen(mutation, seed)), "{mutation:?} is seen in none of a hundred scenarios");
    }
}
