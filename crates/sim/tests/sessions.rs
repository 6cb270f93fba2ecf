//! Seeds about sessions, played under all guarantees.

use ferrite_sim::{Keep, Mutation, Referee, Report, Scenario, check, run};

/// Checks a scenario under all guarantees; a violation is shown with the last events.
fn hold(scenario: &Scenario) -> Report {
    let report = check(scenario);
    if let Some(violation) = &report.violation {
        panic!("{violation}\n{}\n{scenario:#?}", report.lines.join("\n"));
    }
    report
}

#[test]
fn seeds_that_a_sweep_found_hold() {
    // Faults of the product. 37067: one of three changes of the same node is taken back. 24318, 30880: several
    // requests for a node, one of which has it reserved. 58582: a job is held with its map by a pause, and its daemon
    // is lost. 41001288: a session pauses whose job is before others in the queue. 315105887: a daemon is cut off while
    // it calls a newcomer, for less than the silence that counts as a cut. 20114: two daemons stand still for so long
    // that they are probed seldom; others were probed as late, counted as silent, and failed a grow.
    //
    // And what the referee had to learn. 22213: a reserved node is lost before the time of its session is up. 3500: a
    // grow that is taken back has not failed. 3230: a pause holds jobs without elastic mode too. 20006438: what is
    // ordered before a shrink waits for its link. 20066280: a job is mapped, and then its node is reserved. 30000209: a
    // grow is recalled with its session. 50010681: a node of a session with a time limit was brought by a job, and
    // stays. 50012060: a session ends, with a grow and nodes. 90000956: a newcomer stands still before it has come.
    // 90002850, 90009510: a shrink waits its turn for nodes that leave meanwhile. 90024282: an allocation whose node
    // was lost is given back. 90008224: a session ends with that in which it was made. 60012338, 70001947,
    // 50004231: a later request gives a session its time limit. 90002211: the second request for a session is done
    // before the first. 90009260: a client asks for a node that a process has brought. 150007392, 150012466,
    // 170000807: a later request has the warning of a session given to another requester, or at another time.
    // 190005413: a job waits behind another whose nodes are then reserved for a third. 190000237, 190010854: more time
    // for a session whose limit is of a request that was answered early. 190001716: a node is lost before the grow that
    // reserves it is answered.
    let early = [
        3_230, 3_500, 20_114, 22_213, 24_318, 30_880, 37_067, 58_582, 20_006_438, 20_066_280, 30_000_209, 41_001_288,
        50_004_231, 50_010_681, 50_012_060, 60_012_338, 70_001_947, 90_000_956, 90_002_211, 90_002_850, 90_008_224,
        90_009_260, 90_009_510, 90_024_282,
    ];
    let late = [150_007_392, 150_012_466, 170_000_807, 190_000_237, 190_001_716, 190_005_413, 190_010_854, 315_105_887];
    for seed in early.into_iter().chain(late) {
        hold(&Scenario::sessions(seed));
    }
}

#[test]
fn forty_seeds_hold() {
    for seed in 5_000..5_040 {
        hold(&Scenario::sessions(seed));
    }
}

#[test]
fn the_referee_sees_every_planted_fault_about_sessions() {
    let seen = |mutation: Mutation, seed| {
        let scenario = Scenario { mutation: Some(mutation), ..Scenario::sessions(seed) };
        run(&scenario, Keep::Nothing, Referee::strict(&scenario)).violation.is_some()
    };
    let unseen = |mutation: &Mutation| !(1..400).any(|seed| seen(*mutation, seed));
    assert_eq!(Mutation::SESSIONS.into_iter().filter(unseen).collect::<Vec<_>>(), []);
}
