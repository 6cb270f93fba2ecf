//! More jobs than slots, played under all guarantees, and the planted faults about them.

use ferrite_sim::{Keep, Mutation, Referee, Scenario, check, run};

/// Jobs begin by priority, clients take turns, and nobody is passed for ever (spec L15, L122 to L124).
#[test]
fn a_hundred_seeds_about_queues_hold() {
    // In two of them a job is gone for which slots were kept behind another; in the third many begin at once.
    for seed in [284, 14_235, 3_562].into_iter().chain(1_000..1_100) {
        let scenario = Scenario::queues(seed);
        let report = check(&scenario);
        assert!(report.violation.is_none(), "{:?}\n{scenario:#?}", report.violation);
    }
}

#[test]
fn every_planted_fault_about_queues_is_seen() {
    let seen = |mutation: Mutation, seed| {
        let scenario = Scenario { mutation: Some(mutation), ..Scenario::queues(seed) };
        run(&scenario, Keep::Nothing, Referee::strict(&scenario)).violation.is_some()
    };
    for mutation in Mutation::QUEUES {
        assert!((1..=100).any(|seed| seen(mutation, seed)), "{mutation:?} is seen in none of a hundred scenarios");
    }
}
