//! Elastic jobs that change their size, played under all guarantees, and the planted faults about them.

use ferrite_sim::{Keep, Mutation, Referee, Scenario, check, run};

/// Offers are taken, refused or over, and processes end as they were told (spec E54 to E60).
#[test]
fn a_hundred_seeds_about_sizes_of_jobs_hold() {
    for seed in 1_000..1_100 {
        let scenario = Scenario::sizes(seed);
        let report = check(&scenario);
        assert!(report.violation.is_none(), "{:?}\n{scenario:#?}", report.violation);
    }
}

#[test]
fn every_planted_fault_about_sizes_of_jobs_is_seen() {
    let seen = |mutation: Mutation, seed| {
        let scenario = Scenario { mutation: Some(mutation), ..Scenario::sizes(seed) };
        run(&scenario, Keep::Nothing, Referee::strict(&scenario)).violation.is_some()
    };
    for mutation in Mutation::SIZES {
        assert!((1..=200).any(|seed| seen(mutation, seed)), "{mutation:?} is seen in none of two hundred scenarios");
    }
}
