//! Shrinks of nodes whose jobs have asked for time, played under all guarantees, and the planted faults about them.

use ferrite_sim::{Keep, Mutation, Referee, Scenario, check, run};

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
