//! Elastic jobs (`--elastic MIN:MAX`): the smallest size that a shrink leaves them, and what they answer when nodes are
//! to leave.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::context::{Context, Expect, finish};
use super::elastic::{GONE_LIMIT, expect_up, in_dvm, lines_of};
use super::{Scenario, Skipped, scenarios};
use crate::programs::{Mpi, elastic_example, layered_program, pmix_program, python, source};
use crate::runner::{Outcome, Running};
use crate::workspace::root;

/// More steps than anybody waits for.
const ENDLESS: &str = "1000000000";

pub(super) fn all() -> Vec<Scenario> {
    let mut all = scenarios![
        an_elastic_job_keeps_its_smallest_size_until_it_is_forced,
        an_elastic_job_refuses_that_its_node_leaves_and_puts_it_off,
        an_elastic_job_takes_more_processes_and_gives_them_back,
        an_elastic_job_refuses_another_size_or_does_not_answer,
        an_offer_brings_its_nodes_and_gives_them_back,
        the_next_generation_has_the_slots_of_the_one_that_finalizes,
        the_policy_fills_an_elastic_job_and_takes_back_what_another_waits_for,
        an_elastic_job_answers_by_the_c_library_for_malleability_layers,
    ];
    for mpi in [Mpi::OpenMpi5, Mpi::Mpich5] {
        let name = format!("an elastic job of mpi4py over {} changes its size and loses nothing", mpi.name());
        all.push(Scenario::new(name, move |c| mpi4py(c, mpi)));
        let name = format!("an elastic job of mpi4py over {} goes on when its nodes leave and come again", mpi.name());
        all.push(Scenario::new(name, move |c| mpi4py_over_nodes(c, mpi)));
        let name = format!("an elastic job in C over {} has the result of a job of one size", mpi.name());
        all.push(Scenario::new(name, move |c| in_c(c, mpi)));
    }
    all
}

/// (spec E51)
fn an_elastic_job_keeps_its_smallest_size_until_it_is_forced(c: &Context) -> Result<()> {
    in_dvm(c, 4, &[], || {
        c.tool("prun", "-n 1 --elastic 2:8 true")?.run()?.code(1)?.complains_about(&["1 process", "2 to 8"])?;
        let job = c.tool("prun", "-n 2 --map-by node --host n2,n3 --elastic 2:8 sleep 1000")?.start()?;
        c.wait_for(2, "sleep")?;
        let refusal = c.tool("pdvm", "shrink --host n3 --wait")?.run()?.code(1)?;
        refusal.complains_about(&["keeps at least 2", "--elastic 2:8", "--force"])?;
        let shown = c.tool("pdvm", "job 3")?.run()?.code(0)?;
        ensure!(shown.stdout.contains("2 to 8 processes with all that it spawns, 2 now"), "{}", shown.stdout);
        expect_up(c, [0, 1, 2, 3])?;
        c.tool("pdvm", "shrink --host n3 --force --grace 0 --wait")?.run()?.code(0)?;
        expect_up(c, [0, 1, 2])?;
        finish(job)?.code(75)?;
        Ok(())
    })
}

/// (spec E52, E53)
fn an_elastic_job_refuses_that_its_node_leaves_and_puts_it_off(c: &Context) -> Result<()> {
    let start = |heard: &std::path::Path, grace: u32, answer: &str| -> Result<Running> {
        let script = format!("exec \"$0\" {answer} >> {}", heard.display());
        let line = format!("-n 2 --map-by node --host n2,n3 --elastic 1:8 --grace {grace} sh -c");
        let job = c.tool("prun", &line)?.words([script])?.program(&pmix_program("withdrawn")?)?.start()?;
        lines_of(c, heard, 2)?;
        Ok(job)
    };
    in_dvm(c, 4, &[], || {
        let heard = c.file("heard", "")?;
        let job = start(&heard, 600, "refuse")?;
        let refusal = c.tool("pdvm", "shrink --host n3 --wait")?.run()?.code(1)?;
        refusal.complains_about(&["Rank 0 of job 2 refuses that n3 leaves"])?;
        expect_up(c, [0, 1, 2, 3])?;
        lines_of(c, &heard, 7)?;
        c.tool("pdvm", "shrink --host n3 --force --wait")?.run()?.code(0)?;
        let expected = [
            "rank 0: n3 leaves in 600 s",
            "rank 0: n3 leaves in 600 s",
            "rank 0: n3 stays",
            "rank 0: refuse -158",
            "rank 0: refuse SUCCESS",
            "rank 0: up",
            "rank 1: n3 leaves in 600 s, with me",
            "rank 1: n3 leaves in 600 s, with me",
            "rank 1: n3 stays",
            "rank 1: up",
        ];
        let lines = lines_of(c, &heard, expected.len())?;
        ensure!(lines == expected, "{lines:?}");
        finish(job)?.code(0)?.complains_about(&["Node n3 stays in the DVM."])?;
        Ok(())
    })?;
    in_dvm(c, 4, &[], || {
        let heard = c.file("heard", "")?;
        let job = start(&heard, 1, "defer=600")?;
        let shrink = c.tool("pdvm", "shrink --host n3 --wait")?.start()?;
        let lines = lines_of(c, &heard, 5)?;
        ensure!(lines.contains(&"rank 0: defer=600 SUCCESS".to_owned()), "{lines:?}");
        std::thread::sleep(Duration::from_secs(3));
        expect_up(c, [0, 1, 2, 3])?;
        let status = c.tool("pdvm", "status")?.run()?.code(0)?.stdout;
        ensure!(status.contains("the processes of job 2 to end before n3 leaves"), "{status}");
        c.tool("pdvm", "kill 2")?.run()?.code(0)?;
        finish(shrink)?.code(0)?;
        finish(job)?.failure()?;
        expect_up(c, [0, 1, 2])
    })
}

fn says(outcome: &Outcome, line: &str) -> Result<()> {
    ensure!(outcome.stdout.trim_end() == line, "{}", outcome.stdout);
    Ok(())
}

/// A job of `resized` on n1, whose worlds write into the file.
fn resized(c: &Context, heard: &Path, options: &str, how: &str) -> Result<Running> {
    let line = format!("--host n1:8 --elastic 2:4 -x RESIZED_LOG={} {options}", heard.display());
    let job = c.tool("prun", &line)?.program(&pmix_program("resized")?)?.words(["0", how])?.start()?;
    lines_of(c, heard, 2)?;
    Ok(job)
}

/// (spec E54, E55, E57, E58, E60, E61, E65)
fn an_elastic_job_takes_more_processes_and_gives_them_back(c: &Context) -> Result<()> {
    in_dvm(c, 3, &[], || {
        let heard = c.file("heard", "")?;
        let job = resized(c, &heard, "-n 2 --grace 60", "take=2")?;
        let too_many = c.tool("pdvm", "resize 2 +3")?.run()?.code(1)?;
        too_many.complains_about(&["at most 4 processes", "--elastic 2:4"])?;
        says(&c.tool("pdvm", "resize 2 =2")?.run()?.code(0)?, "Unchanged: job 2 has 2 processes")?;
        let grown = c.tool("pdvm", "resize 2 =4 --wait --grace 30")?.run()?.code(0)?;
        says(&grown, "Grown: job 2 has spawned 2 processes, and has 4 processes")?;
        let lines = lines_of(c, &heard, 7)?;
        ensure!(
            lines.iter().any(|line| line.starts_with("0.1: 2 more on n") && line.contains("for 30 s")),
            "{lines:?}"
        );
        ensure!(lines.iter().filter(|line| line.starts_with("1.")).count() == 2, "{lines:?}");
        let tree = c.tool("pdvm", "jobs --tree")?.run()?.code(0)?.stdout;
        ensure!(tree.contains("2:4") && tree.contains("WORLDS"), "{tree}");
        let shown = c.tool("pdvm", "job 2")?.run()?.code(0)?.stdout;
        ensure!(shown.contains("job:2 (4 processes)") && !shown.contains("job:2/delta/2"), "{shown}");
        let full = c.tool("pdvm", "resize 2 +1")?.run()?.code(1)?;
        full.complains_about(&["at most 4 processes"])?;
        let least = c.tool("pdvm", "resize 2 =1")?.run()?.code(1)?;
        least.complains_about(&["keeps at least 2 processes"])?;
        let shrunk = c.tool("pdvm", "resize 2 -2 --wait")?.run()?.code(0)?;
        says(&shrunk, "Shrunk: 2 processes of job 2 have ended, and it has 2 processes")?;
        let lines = lines_of(c, &heard, 11)?;
        for told in ["1.0: 2 of", "1.1: 2 of"] {
            ensure!(
                lines.iter().any(|line| line.starts_with(told) && line.ends_with("end in 60 s, me too")),
                "{lines:?}"
            );
        }
        // Slots are free again, and the rest of the job goes on.
        c.tool("pdvm", "resize 2 =4 --wait")?.run()?.code(0)?;
        c.tool("pdvm", "resize 2 =0 --force --wait")?.run()?.code(0)?;
        finish(job)?.code(0)?;
        expect_up(c, [0, 1, 2])
    })
}

/// (spec E56, E58, E59)
fn an_elastic_job_refuses_another_size_or_does_not_answer(c: &Context) -> Result<()> {
    in_dvm(c, 3, &[], || {
        let heard = c.file("refuses", "")?;
        let job = resized(c, &heard, "-n 3 --grace 60", "refuse")?;
        let refused = c.tool("pdvm", "resize 2 +1 --wait")?.run()?.code(1)?;
        refused.complains_about(&["Rank 0 of job 2 refuses more processes."])?;
        let lines = lines_of(c, &heard, 7)?;
        ensure!(lines.contains(&"0.0: refuse SUCCESS".to_owned()), "{lines:?}");
        c.tool("pdvm", "kill 2")?.run()?.code(0)?;
        finish(job)?.failure()?;

        let heard = c.file("ignores", "")?;
        let job = resized(c, &heard, "-n 3", "stay")?;
        let late = c.tool("pdvm", "resize 3 +1 --wait --grace 1")?.run()?.code(1)?;
        late.complains_about(&["has not answered the offer of 1 process within 1 second."])?;
        // It does not end by itself: SIGTERM ends one process, and no other.
        c.tool("pdvm", "resize 3 -1 --wait --grace 1")?.run()?.code(0)?;
        let lines = lines_of(c, &heard, 9)?;
        ensure!(lines.iter().any(|line| line.starts_with("0.2: 1 of n1 end in 1 s, me too")), "{lines:?}");
        c.wait_for(2, "resized")?;
        c.tool("pdvm", "kill 3")?.run()?.code(0)?;
        finish(job)?.failure()?;

        let heard = c.file("keeps", "")?;
        let job = resized(c, &heard, "-n 3", "keep")?;
        let kept = c.tool("pdvm", "resize 4 -1 --wait")?.run()?.code(1)?;
        kept.complains_about(&["Rank 0 of job 4 refuses that 1 process ends."])?;
        let lines = lines_of(c, &heard, 10)?;
        ensure!(lines.iter().filter(|line| line.ends_with("1 of n1 stay")).count() == 3, "{lines:?}");
        c.tool("pdvm", "resize 4 -1 --force --wait --grace 1")?.run()?.code(0)?;
        c.tool("pdvm", "kill 4")?.run()?.code(0)?;
        finish(job)?.failure()?;
        Ok(())
    })
}

/// (spec E69)
fn an_offer_brings_its_nodes_and_gives_them_back(c: &Context) -> Result<()> {
    in_dvm(c, 2, &[], || {
        let heard = c.file("takes", "")?;
        let job = resized(c, &heard, "-n 2 --grace 60", "take=2")?;
        let others = c.tool("prun", "-n 14 --host n0:8,n1:8 sleep 1000")?.start()?;
        c.until("all slots are in use", GONE_LIMIT, || {
            Ok(c.tool("pdvm", "status")?.run()?.stdout.contains("16 of 16 in use"))
        })?;
        c.tool("pdvm", "resize 2 +2 --wait")?.run()?.code(1)?.complains_about(&["0 slots are free", "--nodes"])?;
        expect_up(c, [0, 1])?;
        let grown = c.tool("pdvm", "resize 2 +2 --host n3:2 --wait")?.run()?.code(0)?;
        says(&grown, "Grown: job 2 has spawned 2 processes, and has 4 processes")?;
        ensure!(lines_of(c, &heard, 7)?.iter().any(|line| line.starts_with("0.0: 2 more on n3")));
        c.wait_for(4, "resized")?;
        expect_up(c, [0, 1, 3])?;
        c.tool("pdvm", "kill --tree 2")?.run()?.code(0)?;
        finish(job)?.failure()?;
        c.until("its node has left", GONE_LIMIT, || Ok(expect_up(c, [0, 1]).is_ok()))?;

        let heard = c.file("refuses", "")?;
        let job = resized(c, &heard, "-n 2 --grace 60", "refuse")?;
        let refused = c.tool("pdvm", "resize 5 +2 --host n3:2 --wait")?.run()?.code(1)?;
        refused.complains_about(&["Rank 0 of job 5 refuses more processes."])?;
        c.until("its node has left", GONE_LIMIT, || Ok(expect_up(c, [0, 1]).is_ok()))?;
        c.tool("pdvm", "kill 5")?.run()?.code(0)?;
        finish(job)?.failure()?;
        c.tool("pdvm", "kill 3")?.run()?.code(0)?;
        finish(others)?.failure()?;
        Ok(())
    })
}

/// (spec E62, E63)
fn the_policy_fills_an_elastic_job_and_takes_back_what_another_waits_for(c: &Context) -> Result<()> {
    let policy = ["--prtemca", "ferrite_elastic_policy", "fill", "--prtemca", "ferrite_elastic_pause", "1"];
    in_dvm(c, 2, &policy, || {
        let heard = c.file("heard", "")?;
        let line = format!("--host n1:8 --elastic 2:12 --grace 60 -n 2 -x RESIZED_LOG={}", heard.display());
        let job = c.tool("prun", &line)?.program(&pmix_program("resized")?)?.words(["0", "take=20"])?.start()?;
        c.wait_for(12, "resized")?;
        // Twelve of sixteen slots are in use: ten are wanted, and six have to end.
        c.tool("prun", "--wait-for-slots -n 10 true")?.run()?.code(0)?;
        c.wait_for(12, "resized")?;
        c.tool("pdvm", "resize 2 =0 --force --wait")?.run()?.code(0)?;
        finish(job)?.code(0)?;
        Ok(())
    })
}

/// The library of `examples/elastic`. (spec E54, E55, E56, E57, E58, E59)
fn an_elastic_job_answers_by_the_c_library_for_malleability_layers(c: &Context) -> Result<()> {
    in_dvm(c, 3, &[], || {
        let heard = c.file("heard", "")?;
        let job = c.tool("prun", "--host n1:8 --elastic 1:8 --grace 60 -n 2")?;
        let job = job.program(&layered_program()?)?.words([&heard])?.start()?;
        lines_of(c, &heard, 2)?;
        let refused = c.tool("pdvm", "resize 2 +1 --wait")?.run()?.code(1)?;
        refused.complains_about(&["Rank 0 of job 2 refuses more processes."])?;
        let grown = c.tool("pdvm", "resize 2 +3 --wait")?.run()?.code(0)?;
        says(&grown, "Grown: job 2 has spawned 3 processes, and has 5 processes")?;
        // Two that refuse, two that take, and five that are up.
        lines_of(c, &heard, 9)?;
        let kept = c.tool("pdvm", "resize 2 -1 --wait")?.run()?.code(1)?;
        kept.complains_about(&["Rank 0 of job 2 refuses that 1 process ends."])?;
        let shrunk = c.tool("pdvm", "resize 2 -3 --wait")?.run()?.code(0)?;
        says(&shrunk, "Shrunk: 3 processes of job 2 have ended, and it has 2 processes")?;
        c.tool("pdvm", "resize 2 =0 --force --wait")?.run()?.code(0)?;
        finish(job)?.code(0)?;
        let expected = [
            "0.0: deferred 3, status 0",
            "0.0: end of 1, status 0",
            "0.0: end of 2, status 0",
            "0.0: end of 3, status 0",
            "0.0: end with 2, status 0",
            "0.0: offer of 1, status 0",
            "0.0: offer of 3, status 0",
            "0.0: refused 1, status 0",
            "0.0: refused 1, status 0",
            "0.0: took 3, status 0",
            "0.0: up 0, status 0",
            "0.1: end with 2, status 0",
            "0.1: up 0, status 0",
            "1.0: end with 3, status 0",
            "1.0: up 0, status 0",
            "1.1: end with 3, status 0",
            "1.1: up 0, status 0",
            "1.2: end with 3, status 0",
            "1.2: up 0, status 0",
        ];
        let lines = lines_of(c, &heard, expected.len())?;
        ensure!(lines == expected, "{lines:#?}");
        expect_up(c, [0, 1, 2])
    })
}

/// Runs `malleable.py` until the change of its size is over.
fn malleable(c: &Context, mpi: Mpi, nodes: usize, options: &str, changes: impl FnOnce() -> Result<()>) -> Result<()> {
    let python = python(mpi).ok_or_else(|| Skipped("mpi4py is not installed".into()))?;
    let up = c.file("up", "")?;
    let stop = up.with_file_name("stop");
    in_dvm(c, nodes, &[], || {
        let path = format!("PYTHONPATH={}", root().join("python").display());
        let line = format!("--grace 60 -x {path} {options}");
        let job = c.tool("prun", &line)?.words([&python, &source("malleable.py"), &up, &stop])?.start()?;
        lines_of(c, &up, 1)?;
        changes()?;
        std::fs::write(&stop, "")?;
        let end = finish(job)?.code(0)?;
        std::fs::remove_file(&stop)?;
        says(&end, "right")?;
        // The DVM goes on.
        c.until("the job has left no shared memory", GONE_LIMIT, || {
            let mut left = 0;
            for node in 0..nodes {
                left += c.program_on(node, "ls", "-A /dev/shm")?.run()?.code(0)?.stdout.lines().count();
            }
            Ok(left == 0)
        })?;
        Ok(())
    })
}

fn resize(c: &Context, size: &str, answer: &str) -> Result<()> {
    says(&c.tool("pdvm", "resize 2 --wait")?.words([size])?.run()?.code(0)?, answer)
}

/// The Python package over real MPI: whole worlds and parts of them come and go (spec E54, E55, E56, E57, E59, L138).
fn mpi4py(c: &Context, mpi: Mpi) -> Result<()> {
    malleable(c, mpi, 3, "--elastic 1:8 --host n1:8,n2:8 -n 2", || {
        resize(c, "+2", "Grown: job 2 has spawned 2 processes, and has 4 processes")?;
        resize(c, "-1", "Shrunk: 1 process of job 2 has ended, and it has 3 processes")?;
        // The program wants no more than four.
        resize(c, "+4", "Grown: job 2 has spawned 1 process, and has 4 processes")?;
        resize(c, "=2", "Shrunk: 2 processes of job 2 have ended, and it has 2 processes")?;
        resize(c, "+1", "Grown: job 2 has spawned 1 process, and has 3 processes")?;
        let few = c.tool("pdvm", "resize 2 =1 --wait")?.run()?.code(1)?;
        few.complains_about(&["Rank 0 of job 2 refuses that 2 processes end."])?;
        resize(c, "+1", "Grown: job 2 has spawned 1 process, and has 4 processes")?;
        let many = c.tool("pdvm", "resize 2 +1 --wait")?.run()?.code(1)?;
        many.complains_about(&["refuses more processes."])?;
        // The program cannot refuse a forced change.
        c.tool("pdvm", "resize 2 =1 --force --wait")?.run()?.code(0)?;
        // Processes that come too late to the last gather are no surprise.
        resize(c, "+2", "Grown: job 2 has spawned 2 processes, and has 3 processes")
    })
}

/// The same with nodes: also the node of its first process leaves (spec E43, E45, E51, E57).
fn mpi4py_over_nodes(c: &Context, mpi: Mpi) -> Result<()> {
    malleable(c, mpi, 4, "--elastic 2:8 --map-by node --host n1:8,n2:8,n3:8 -n 3", || {
        let shrink = |nodes: &str| -> Result<Outcome> { c.tool("pdvm", "shrink --wait --host")?.words([nodes])?.run() };
        shrink("n3")?.code(0)?;
        expect_up(c, [0, 1, 2])?;
        shrink("n2")?.code(1)?.complains_about(&["keeps at least 2 processes"])?;
        resize(c, "+2", "Grown: job 2 has spawned 2 processes, and has 4 processes")?;
        c.tool("pdvm", "grow --host n3:8 --wait")?.run()?.code(0)?;
        shrink("n1")?.code(0)?;
        expect_up(c, [0, 2, 3])?;
        shrink("n2")?.code(0)?;
        expect_up(c, [0, 3])?;
        // The job keeps its number without its first world.
        resize(c, "+2", "Grown: job 2 has spawned 2 processes, and has 4 processes")?;
        resize(c, "=2", "Shrunk: 2 processes of job 2 have ended, and it has 2 processes")
    })
}

/// Four generations of two live at once on four slots, of which all but the last have called finalize (spec E70).
fn the_next_generation_has_the_slots_of_the_one_that_finalizes(c: &Context) -> Result<()> {
    let python = python(Mpi::OpenMpi5).ok_or_else(|| Skipped("mpi4py is not installed".into()))?;
    let marks = c.file("marks", "")?.with_file_name("generations");
    let begin = |options: &str| -> Result<Outcome> {
        std::fs::create_dir(&marks)?;
        let job = c.tool("prun", options)?.words([&python, &source("generations.py"), &marks])?;
        let end = job.words(["3"])?.run()?;
        std::fs::remove_dir_all(&marks)?;
        Ok(end)
    };
    in_dvm(c, 2, &[], || {
        let others = c.tool("prun", "--host n0:6,n1:6 -n 12 sleep 1000")?.start()?;
        c.wait_for(12, "sleep")?;
        let end = begin("--elastic 1:4 -n 2")?.code(0)?;
        let lines: Vec<&str> = end.stdout.lines().collect();
        ensure!(lines == [0, 1, 2, 3].map(|number| format!("generation {number}")), "{}", end.stdout);
        // The processes of other jobs keep their slots until they end.
        begin("-n 2")?.complains_about(&["2 processes, and 0 slots are free"])?;
        c.tool("pdvm", "kill 2")?.run()?.code(0)?;
        finish(others)?.failure()?;
        Ok(())
    })
}

/// The example in C: worlds and parts of them come and go, and rank 0 leaves. (spec E45, E54, E55, E57, E58)
fn in_c(c: &Context, mpi: Mpi) -> Result<()> {
    if !mpi.is_installed() {
        return Err(Skipped(format!("{} is not installed", mpi.name())).into());
    }
    let solver = elastic_example(mpi)?;
    let heard = c.file("heard", "")?;
    let [stop, result, expected] = ["stop", "result", "expected"].map(|name| heard.with_file_name(name));
    in_dvm(c, 3, &[], || {
        let script = format!("exec \"$0\" \"$@\" >> {}", heard.display());
        let job = c.tool("prun", "--host n1:8,n2:8 --map-by node --elastic 1:8 --grace 60 -n 2 sh -c")?;
        let job = job.words([script])?.words([&solver])?.words([ENDLESS])?.words([&result, &stop])?.start()?;
        lines_of(c, &heard, 1)?;
        for (size, answer) in [
            ("+2", "Grown: job 2 has spawned 2 processes, and has 4 processes"),
            ("-1", "Shrunk: 1 process of job 2 has ended, and it has 3 processes"),
            ("+3", "Grown: job 2 has spawned 3 processes, and has 6 processes"),
            ("=2 --force", "Shrunk: 4 processes of job 2 have ended, and it has 2 processes"),
        ] {
            says(&c.tool("pdvm", "resize 2 --wait")?.words(size.split(' '))?.run()?.code(0)?, answer)?;
        }
        // Another process answers from now on.
        c.tool("pdvm", "shrink --host n1 --wait")?.run()?.code(0)?;
        let grown = c.tool("pdvm", "resize 2 +2 --wait")?.run()?.code(0)?;
        says(&grown, "Grown: job 2 has spawned 2 processes, and has 3 processes")?;
        std::fs::write(&stop, "")?;
        finish(job)?.code(0)?;
        std::fs::remove_file(&stop)?;
        Ok(())
    })?;
    let text = std::fs::read_to_string(&heard)?;
    let sizes: Vec<&str> = text.lines().filter_map(|l| l.split_once(": ")?.1.strip_suffix(" processes")).collect();
    // A change of several worlds may take two steps.
    let mut found = sizes.iter();
    ensure!(["2", "4", "3", "6", "2", "1", "3"].iter().all(|size| found.any(|other| other == size)), "{text}");
    let steps = text.lines().find_map(|l| l.strip_prefix("done: ")?.strip_suffix(" steps"));
    let steps = steps.with_context(|| format!("no end: {text}"))?;
    let alone = c.prterun("-n 1")?.program(&solver)?.words([steps])?.words([&expected])?.run()?;
    alone.code(0)?;
    ensure!(std::fs::read(&result)? == std::fs::read(&expected)?, "after {steps} steps the results differ");
    Ok(())
}
