//! The displays of a DVM's jobs and sessions: the states and the fields that the specification lists. Nodes
//! that are requested by a number of slots.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::context::{Context, Expect, finish};
use super::dvm::stop_dvm;
use super::{Scenario, scenarios};
use crate::programs::pmix_program;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_job_that_fails_shows_the_state_of_the_seed,
        processes_that_wait_for_a_debugger_are_counted,
        a_dvm_without_sessions_says_so_and_one_with_some_shows_their_slots,
        a_process_asks_for_slots_and_hears_what_is_not_offered,
    ]
}

/// Checks that both forms of `pdvm job` contain these parts.
fn shows(c: &Context, job: u32, parts: &[&str]) -> Result<()> {
    for form in ["", " --json"] {
        let outcome = c.tool("pdvm", &format!("job {job}{form}"))?.run()?.code(0)?;
        let missing: Vec<_> = parts.iter().filter(|part| !outcome.stdout.contains(**part)).collect();
        ensure!(missing.is_empty(), "pdvm job {job}{form} lacks {missing:?}:\n{}", outcome.stdout);
    }
    Ok(())
}

fn a_job_that_fails_shows_the_state_of_the_seed(c: &Context) -> Result<()> {
    let prte = c.tool("prte", "--daemonize --host n0:4,n1:4 --prtemca state_base_verbose 5")?.run()?.code(0)?;
    for state in ["18 LOCAL_LAUNCH_COMPLETE", "52 ABORTED", "68 ALLOC_FAILED", "70 CANNOT_LAUNCH"] {
        ensure!(prte.stderr.contains(state), "the table lacks {state}:\n{}", prte.stderr);
    }
    c.tool("prun", "-n 2 --map-by node /no/such/program")?.run()?.failure()?;
    shows(c, 1, &["LOCAL_LAUNCH_COMPLETE", "FAILED_TO_START", "CANNOT_LAUNCH"])?;
    c.tool("prun", "-n 1 --host n3 hostname")?.run()?.failure()?;
    shows(c, 2, &["ALLOC_FAILED"])?;
    c.tool("prun", "-n 2 --map-by node")?.program(&pmix_program("states")?)?.words(["abort"])?.run()?.code(7)?;
    shows(c, 3, &["REGISTERED", "ABORTED"])?;
    c.tool("prun", "-n 1 true")?.run()?.code(0)?;
    shows(c, 4, &["STARTED", "LOCAL_LAUNCH_COMPLETE", "RUNNING", "TERMINATED"])?;
    stop_dvm(c)
}

fn processes_that_wait_for_a_debugger_are_counted(c: &Context) -> Result<()> {
    c.tool("prte", "--daemonize --host n0:4,n1:4")?.run()?.code(0)?;
    let program = pmix_program("states")?;
    let job = c.tool("prun", "--personality ompi -n 4 --map-by node")?.program(&program)?.words(["debug"])?.start()?;
    c.until("all processes are ready", Duration::from_secs(20), || {
        let shown = c.tool("pdvm", "job 1 --json")?.run()?;
        Ok(shown.stdout.contains("\"ready_for_debug\": 4"))
    })?;
    shows(c, 1, &["READY_FOR_DEBUG", "ompi", "prun.n0."])?;
    let shown = c.tool("pdvm", "job 1 --json")?.run()?.code(0)?;
    for field in [
        "\"bookmark\": \"n1\"",
        "\"total_slots\": 8",
        "\"launched\": 4",
        "\"registered\": 4",
        "\"local\": 2",
        "\"daemons_reported\": 2",
        "\"state\": \"READY_FOR_DEBUG\"",
    ] {
        ensure!(shown.stdout.contains(field), "it lacks {field}:\n{}", shown.stdout);
    }
    c.tool("pdvm", "kill 1")?.run()?.code(0)?;
    finish(job)?.failure()?;
    stop_dvm(c)
}

fn a_dvm_without_sessions_says_so_and_one_with_some_shows_their_slots(c: &Context) -> Result<()> {
    c.tool("prte", "--daemonize --host n0:4 --prtemca prte_elastic_mode 1")?.run()?.code(0)?;
    let list = |form: &str| c.tool("pdvm", &format!("session list{form}"))?.run()?.code(0);
    let empty = list("")?;
    ensure!(empty.stdout.starts_with("There is no session"), "it says {:?}", empty.stdout);
    c.tool("pdvm", "grow --wait --host n1:3,n2:2")?.run()?.code(0)?;
    c.tool("pdvm", "session instantiate 7 --alloc-id a1 --host n2")?.run()?.code(0)?;
    let shown = list(" --json")?;
    for field in ["\"slots\": 5", "\"slots\": 2", "\"children\": [\n        7\n      ]"] {
        ensure!(shown.stdout.contains(field), "it lacks {field:?}:\n{}", shown.stdout);
    }
    stop_dvm(c)
}

fn a_process_asks_for_slots_and_hears_what_is_not_offered(c: &Context) -> Result<()> {
    let prte = c.tool("prte", "--daemonize --host n0:4,n1:4,n2:2,n3:4 --prtemca prte_elastic_mode 1")?;
    prte.run()?.code(0)?;
    let says = |steps: &str, expected: &[&str]| {
        let job = c.tool("prun", "-n 1 --host n0")?.program(&pmix_program("elastic")?)?;
        let outcome = job.words(steps.split_whitespace())?.run()?.code(0)?;
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        ensure!(lines == expected, "it says {lines:?}");
        Ok(())
    };
    let refused = ["cpus refused -29", "queue refused -47", "lend refused -47", "directive refused -47"];
    says("cpus=1000 queue=fast lend=n1 directive=4", &refused)?;
    says("directive=128 directive=77", &["directive refused -47"; 2])?;
    c.wait_for(3, "prted")?;
    stop_dvm(c)
}
