//! PMIx groups on one and on two nodes: numbers, data, limits, members that die, invitations.

use anyhow::{Result, ensure};

use super::context::{Context, Expect, Skipped};
use super::{Scenario, scenarios};
use crate::programs::{libpmix_major, pmix_program};

/// PMIx statuses.
const EXISTS: i32 = -11;
const TIMEOUT: i32 = -24;
const LOST_CONNECTION: i32 = -61;

/// Four processes on one node, and on two.
const PLACES: [&str; 2] = ["--host n1:4", "--host n0:2,n2:2 --map-by slot"];

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        groups_have_numbers_and_data_and_end,
        a_group_that_cannot_be_made_fails_for_all_of_its_members,
        a_group_whose_members_do_not_know_each_other_is_made_of_all_of_them,
        a_member_that_leaves_a_group_is_no_longer_one,
        the_members_of_a_group_hear_of_the_end_of_one,
        processes_are_invited_to_a_group_and_accept_or_decline,
        the_members_of_a_group_made_by_invitation_meet_on_all_nodes,
    ]
}

fn lines(ranks: impl IntoIterator<Item = u32>, text: impl Fn(u32) -> String) -> Vec<String> {
    ranks.into_iter().map(|me| format!("{me} {}", text(me))).collect()
}

/// Checks what members of groups get (spec L63).
fn groups_have_numbers_and_data_and_end(c: &Context) -> Result<()> {
    let group = pmix_program("group")?;
    let is_asked = libpmix_major() >= Some(5);
    if !is_asked {
        c.note("what members tell the group is not asked for: the server of libpmix 4.2.2 may hang then".to_owned());
    }
    for place in PLACES {
        let run = |what: &str| c.prterun(place)?.words(["-n", "4"])?.program(&group)?.words([what])?.run()?.code(0);
        let numbers = [lines(0..4, |_| "has groups 1 and 5".into()), lines(0..4, |_| "has group 4".into())];
        run("numbers")?.lines(&numbers.concat())?;
        run("parts")?.lines(&lines(0..4, |_| "has one of two".into()))?;
        let reads = lines(0..4, |me| format!("reads {} of {}", 100 + (me + 1) % 4, (me + 1) % 4));
        let told = lines(0..4, |me| format!("is told {} by {}", 200 + (me + 1) % 4, (me + 1) % 4));
        run("data")?.lines(&[reads, if is_asked { told } else { Vec::new() }].concat())?;
        run("twice")?.lines(&lines(0..4, |_| format!("construct {EXISTS}")))?;
    }
    Ok(())
}

fn a_group_that_cannot_be_made_fails_for_all_of_its_members(c: &Context) -> Result<()> {
    let group = pmix_program("group")?;
    // The library of one node answers for its own processes, in its own way.
    let four = "--host n0:1,n1:1,n2:1,n3:1 -n 4";
    let late = c.prterun(four)?.program(&group)?.words(["timeout"])?.run()?.code(0)?;
    late.lines(&lines(0..3, |_| format!("construct {TIMEOUT}")))?;
    let dead = c.prterun(four)?.words(["--continuous"])?.program(&group)?.words(["dies"])?.run()?.code(137)?;
    dead.lines(&lines(0..3, |_| format!("construct {LOST_CONNECTION}")))?;
    Ok(())
}

/// Two leaders, of which one names the two others (spec L160).
fn a_group_whose_members_do_not_know_each_other_is_made_of_all_of_them(c: &Context) -> Result<()> {
    let since = "libpmix 4 and 5 have no groups whose members do not know each other";
    ensure!(libpmix_major() >= Some(6), Skipped(since.into()));
    let group = pmix_program("group")?;
    for place in PLACES {
        let job = c.prterun(place)?.words(["-n", "4"])?.program(&group)?.words(["bootstrap"])?;
        job.run()?.code(0)?.lines(&lines(0..4, |_| "construct 0 with 4 members".into()))?;
    }
    Ok(())
}

/// The library says by an event that a process leaves (spec L161).
fn a_member_that_leaves_a_group_is_no_longer_one(c: &Context) -> Result<()> {
    ensure!(libpmix_major() >= Some(6), Skipped("libpmix 4 and 5 refuse PMIx_Group_leave".into()));
    let group = pmix_program("group")?;
    for place in PLACES {
        let job = c.prterun(place)?.words(["-n", "4"])?.program(&group)?.words(["leaves"])?;
        job.run()?.code(0)?.lines(&lines(0..3, |_| "is one of 3 members".into()))?;
    }
    Ok(())
}

/// Checks who hears of a member that is gone (spec L64).
fn the_members_of_a_group_hear_of_the_end_of_one(c: &Context) -> Result<()> {
    let group = pmix_program("group")?;
    for place in PLACES {
        let job = c.prterun(place)?.words(["-n", "4", "--continuous"])?.program(&group)?.words(["notified"])?;
        job.run()?.code(137)?.lines(&lines(0..3, |_| "hears of 3".into()))?;
    }
    Ok(())
}

fn processes_are_invited_to_a_group_and_accept_or_decline(c: &Context) -> Result<()> {
    let group = pmix_program("group")?;
    for place in PLACES {
        let job = c.prterun(place)?.words(["-n", "4"])?.program(&group)?.words(["invite"])?;
        job.run()?.code(0)?.lines(&lines(1..4, |_| "was invited by 0".into()))?;
    }
    Ok(())
}

/// The library of each node learns the members from the announcement of the group.
fn the_members_of_a_group_made_by_invitation_meet_on_all_nodes(c: &Context) -> Result<()> {
    let never_ends = "libpmix 5.0 never ends a fence of the name of a group that was made by invitation";
    ensure!(libpmix_major() != Some(5), Skipped(never_ends.into()));
    let group = pmix_program("group")?;
    for place in ["--host n0:4", "--host n0:2,n1:2 --map-by node", "--host n0:1,n1:1,n2:1,n3:1 --map-by node"] {
        let job = c.prterun(place)?.words(["-n", "4"])?.program(&group)?.words(["together"])?;
        job.run()?.code(0)?.lines(&lines([0, 2, 3], |_| "has met the others".into()))?;
    }
    Ok(())
}
