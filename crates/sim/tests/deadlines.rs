//! Nodes that the resource manager takes back at a time of its own, played under all guarantees.

use ferrite_sim::{Keep, Mutation, Referee, Scenario, check, run};

/// Processes hear of the end of their nodes and have the time before it (spec E66 to E68).
#[test]
fn a_hundred_seeds_about_ends_of_jobs_of_the_manager_hold() {
    for seed in 1_000..1_100 {
        let scenario = Scenario::deadlines(seed);
        let report = check(&scenario);
        assert!(report.violation.is_none(), "{:?}\n{scenario:#?}", report.violation);
    }
}

#[test]
fn every_planted_fault_about_ends_of_jobs_of_the_manager_is_seen() {
    let seen = |mutation: Mutation, seed| {
        let scenario = Scenario { mutation: Some(mutation), ..Scenario::deadlines(seed) };
        run(&scenario, Keep::Nothing, Referee::strict(&scenario)).violation.is_some()
    };
    for mutation in Mutation::DEADLINES {
        assert!((1..=200).any(|seed| seen(mutation, seed)), "{mutation:?} is seen in none of two hundred scenarios");
    }
}
