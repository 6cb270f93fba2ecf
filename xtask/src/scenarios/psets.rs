//! Process sets: those that programs of a job make up, those that a process defines, and who hears of them.

use anyhow::{Result, ensure};

use super::context::{Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        programs_of_a_job_make_up_process_sets_that_all_its_nodes_know,
        a_process_defines_a_set_and_all_nodes_of_its_members_hear_of_it,
        the_name_of_a_process_set_is_given_once_and_free_again_after_the_job,
        a_spawned_program_makes_up_a_process_set,
    ]
}

/// Returns the sorted lines of a job's output.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn check(text: &str, expected: &[&str]) -> Result<()> {
    ensure!(lines(text) == expected, "it says\n{text}");
    Ok(())
}

fn programs_of_a_job_make_up_process_sets_that_all_its_nodes_know(c: &Context) -> Result<()> {
    let program = pmix_program("psets")?;
    let job = c.prterun("--host n0:2,n1:1 --map-by slot -n 2 --pset ocean")?.program(&program)?;
    let job = job.words(["get", "names", "members=ocean", "await=land", ":", "-n", "1", "--pset", "land"])?;
    let outcome = job.program(&program)?.words(["get", "names", "members=land", "await=ocean"])?.run()?.code(0)?;
    check(
        &outcome.stdout,
        &[
            "0 event +land 1",
            "0 get ocean",
            "0 members 1.0 1.1",
            "0 names land,ocean 2",
            "1 event +land 1",
            "1 get ocean",
            "1 members 1.0 1.1",
            "1 names land,ocean 2",
            "2 event +ocean 2",
            "2 get land",
            "2 members 1.2",
            "2 names land,ocean 2",
        ],
    )
}

fn a_process_defines_a_set_and_all_nodes_of_its_members_hear_of_it(c: &Context) -> Result<()> {
    let program = pmix_program("psets")?;
    let job = c.prterun("--host n0:1,n1:1,n2:1 --map-by node -n 3")?.program(&program)?;
    let steps = ["define=odd:1", "define=odd:2", "define=bad:7", "define=all", "await=odd", "await=all", "fence"];
    let outcome = job.words(steps)?.words(["get", "names", "members=odd", "members=none"])?.run()?.code(0)?;
    let mut expected = vec![
        "0 define EXISTS".to_owned(),
        "0 define NOT-FOUND".to_owned(),
        "0 define SUCCESS".to_owned(),
        "0 define SUCCESS".to_owned(),
    ];
    for rank in 0..3 {
        for told in ["event +all 3", "event +odd 1", "get none", "members 1.1", "members NOT-FOUND", "names all,odd 2"]
        {
            expected.push(format!("{rank} {told}"));
        }
    }
    expected.sort_unstable();
    check(&outcome.stdout, &expected.iter().map(String::as_str).collect::<Vec<_>>())
}

fn the_name_of_a_process_set_is_given_once_and_free_again_after_the_job(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let program = pmix_program("psets")?;
    let first =
        c.tool("prun", "-n 2 --map-by node --pset sea")?.program(&program)?.words(["await=wind", "gone=wind"])?;
    let first = first.start()?;
    c.wait_for(2, "psets")?;
    let shown = c.tool("pdvm", "job 1 --json")?.run()?.code(0)?;
    let shown: String = shown.stdout.split_whitespace().collect();
    ensure!(shown.contains(r#""process_sets":[{"name":"sea","members":2}]"#), "it says {shown}");
    let second = |name: &str| c.tool("prun", &format!("-n 2 --map-by node --pset {name} true"))?.run();
    second("sea")?.failure()?.complains_about(&["process set \"sea\"", "job 1"])?;
    second("a,b")?.failure()?.complains_about(&["--pset", "comma"])?;
    second("wind")?.code(0)?;
    let told = finish(first)?.code(0)?.stdout;
    check(&told, &["0 event +wind 2", "0 event -wind", "1 event +wind 2", "1 event -wind"])?;
    second("sea")?.code(0)?;
    stop_dvm(c)
}

fn a_spawned_program_makes_up_a_process_set(c: &Context) -> Result<()> {
    let program = pmix_program("psets")?;
    let job = c.prterun("--host n0:1,n1:2 -n 1 --pset mother")?.program(&program)?;
    let steps = ["spawn=mother", "spawn=a,b", "spawn=child", "await=child", "gone=child", "members=child"];
    let outcome = job.words(steps)?.run()?.code(0)?;
    check(
        &outcome.stdout,
        &[
            "0 event +child 2",
            "0 event -child",
            "0 get child",
            "0 members NOT-FOUND",
            "0 names child,mother 2",
            "0 spawn BAD-PARAM",
            "0 spawn EXISTS",
            "0 spawn SUCCESS",
            "1 get child",
            "1 names child,mother 2",
        ],
    )
}
