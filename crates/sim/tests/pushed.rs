//! Changes of size that a scheduler pushes, played under all guarantees, and the planted faults about them.

use ferrite_sim::{Keep, Mutation, Referee, Scenario, check, run};

#[test]
fn forty_seeds_about_pushes_hold() {
    for seed in 1_000..1_040 {
        let scenario = Scenario::pushed(seed);
        let report = check(&scenario);
        assert!(report.violation.is_none(), "{:?}\n{scenario:#?}", report.violation);
    }
}

#[test]
fn every_planted_fault_about_pushes_is_seen() {
    let seen = |mutation: Mutation, seed| {
        let scenario = Scenario { mutation: Some(mutation), ..Scenario::pushed(seed) };
        run(&scenario, Keep::Nothing, Referee::strict(&scenario)).violation.is_some()
    };
    for mutation in Mutation::PUSHED {
        assert!((1..=100).any(|seed| seen(mutation, seed)), "{mutation:?} is seen in none of a hundred scenarios");
    }
}
