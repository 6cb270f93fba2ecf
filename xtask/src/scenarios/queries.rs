//! `PMIx_Query_info` of processes and tools: every key, each with its answer or the reason why it has none.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::context::{Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::programs::{libpmix_major, pmix_program};
use crate::runner;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![a_process_gets_an_answer_for_each_key_or_the_reason_why_not, a_tool_asks_about_a_job_of_another,]
}

/// How a key is asked: without a qualifier, for a job, for a process.
const LEVELS: [&str; 3] = ["bare", "job", "proc"];

const ALL: [bool; 3] = [true, true, true];
const OF_A_JOB: [bool; 3] = [false, true, true];
const OF_A_PROC: [bool; 3] = [false, false, true];
const NEVER: [bool; 3] = [false, false, false];

/// Each key with the levels at which it has an answer, and the reason why it has none at the others.
const TABLE: &[(&str, [bool; 3], &str)] = &[
    ("pmix.qry.keys", ALL, ""),
    ("pmix.qry.ns", ALL, ""),
    ("pmix.qry.nsinfo", ALL, ""),
    ("pmix.qry.jst", OF_A_JOB, "libpmix 4.2 does not say who asks"),
    ("pmix.qry.qlst", NEVER, "a DVM has no queues of a scheduler"),
    ("pmix.qry.qst", NEVER, "a DVM has no queues of a scheduler"),
    ("pmix.qry.ptable", OF_A_JOB, "libpmix 4.2 does not say who asks"),
    ("pmix.qry.lptable", OF_A_JOB, "libpmix 4.2 does not say who asks"),
    ("pmix.qry.auths", NEVER, "the standard does not say what it contains"),
    ("pmix.qry.spawn", ALL, ""),
    ("pmix.qry.debug", ALL, ""),
    ("pmix.qry.mem", [false, true, false], "it is of the asking node, and the last process is on another"),
    ("pmix.query.alloc", NEVER, "the question names no allocation"),
    ("pmix.time.remaining", NEVER, "the session of the job has no time limit"),
    ("pmix.qry.psetnum", ALL, ""),
    ("pmix.qry.psets", ALL, ""),
    ("pmix.qry.pmems", OF_A_JOB, "the question without a qualifier names no set"),
    ("pmix.qry.pgrpnum", ALL, ""),
    ("pmix.qry.pgrp", ALL, ""),
    ("pmix.qry.pgrpmems", OF_A_JOB, "the question without a qualifier names no group"),
    ("pmix.qry.aslots", ALL, ""),
    ("pmix.num.slots", ALL, ""),
    ("pmix.num.anodes", ALL, ""),
    ("pmix.alist", ALL, ""),
    ("pmix.univ.size", ALL, ""),
    ("pmix.job.size", OF_A_JOB, "libpmix 4.2 does not say who asks"),
    ("pmix.job.napps", OF_A_JOB, "libpmix 4.2 does not say who asks"),
    ("pmix.num.nodes", OF_A_JOB, "libpmix 4.2 does not say who asks"),
    ("pmix.jobid", OF_A_JOB, "libpmix 4.2 does not say who asks"),
    ("pmix.session.id", OF_A_JOB, "libpmix 4.2 does not say who asks"),
    ("pmix.parent", NEVER, "nobody has spawned this job"),
    ("pmix.hname", OF_A_PROC, "each process has its own"),
    ("pmix.appnum", OF_A_PROC, "the job may have several apps"),
    ("pmix.proc.state", OF_A_PROC, "each process has its own"),
    ("pmix.ppid", OF_A_PROC, "each process has its own"),
    ("pmix.srvr.uri", ALL, ""),
];

/// As [`TABLE`], for the keys that libpmix 5.0 and later answer without the DVM.
const SINCE_5: &[(&str, [bool; 3], &str)] = &[("pmix.appnum", OF_A_JOB, "libpmix knows the app of the caller only")];

/// Answers that are the same wherever the scenario runs.
const VALUES: &[(&str, &str)] = &[
    ("job pmix.qry.ptable", "[0 n0 /queries pid 6][1 n0 /queries pid 6][2 n1 /queries pid 6]"),
    ("job pmix.qry.lptable", "[0 n0 /queries pid 6][1 n0 /queries pid 6]"),
    ("proc pmix.qry.ptable", "[2 n1 /queries pid 6]"),
    ("proc pmix.qry.lptable", ""),
    ("job pmix.qry.mem", "{pmix.hname n0}{pmix.dmn.mem some}{pmix.cl.mem.avg some}"),
    ("job pmix.qry.pmems", "[0][1][2]"),
    ("bare pmix.qry.psets", "sea"),
    ("job pmix.qry.pgrpmems", "[0][1][2]"),
    ("bare pmix.qry.pgrpnum", "1"),
    ("bare pmix.qry.pgrp", "crew"),
    ("bare pmix.qry.aslots", "1"),
    ("bare pmix.num.slots", "4"),
    ("bare pmix.alist", "n0,n1"),
    ("job pmix.job.size", "3"),
    ("job pmix.num.nodes", "2"),
    ("proc pmix.hname", "n1"),
    ("proc pmix.proc.state", "state 6"),
    ("job pmix.qry.jst", "SUCCESS"),
    ("bare pmix.qry.jst", "BAD-PARAM"),
    ("bare pmix.qry.qlst", "NOT-SUPPORTED"),
];

/// Statuses of questions without an answer.
const REFUSALS: [&str; 3] = ["NOT-SUPPORTED", "NOT-FOUND", "BAD-PARAM"];

fn answers(text: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.splitn(3, ' ');
        if let (Some(level), Some(key), Some(answer)) = (words.next(), words.next(), words.next()) {
            all.insert(format!("{level} {key}"), answer.to_owned());
        }
    }
    all
}

fn a_process_gets_an_answer_for_each_key_or_the_reason_why_not(c: &Context) -> Result<()> {
    let job = c.prterun("--host n0:2,n1:2 --map-by slot -n 3 --pset sea")?.program(&pmix_program("queries")?)?;
    let outcome = job.run()?.code(0)?;
    let answers = answers(&outcome.stdout);
    let mut wrong = Vec::new();
    let others = if libpmix_major() >= Some(5) { SINCE_5 } else { &[] };
    for line in TABLE {
        let (key, told, reason) = others.iter().find(|other| other.0 == line.0).unwrap_or(line);
        for (level, expected) in LEVELS.iter().zip(told) {
            let got = answers.get(&format!("{level} {key}")).with_context(|| format!("{key} was not asked"))?;
            let is_told = !REFUSALS.contains(&got.as_str());
            if is_told != *expected {
                wrong.push(format!("{level} {key}: {got:?}, told at {told:?} ({reason})"));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n    "));
    for (asked, value) in VALUES {
        ensure!(answers[*asked] == *value, "{asked}: {:?} instead of {value:?}", answers[*asked]);
    }
    let supported = answers["bare pmix.qry.keys"].split(',').count();
    let told = TABLE.iter().filter(|(_, told, _)| told.contains(&true)).count();
    ensure!(supported > told, "{supported} keys are supported");
    ensure!(answers["both pmix.qry.psetnum"].starts_with("PARTIAL-SUCCESS"), "{:?}", answers["both pmix.qry.psetnum"]);
    Ok(())
}

fn a_tool_asks_about_a_job_of_another(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let job = c.tool("prun", "--host n1:1,n2:2 --map-by slot -n 3 --pset sea sleep 1000")?.start()?;
    c.wait_for(3, "sleep")?;
    let shown = c.tool("pdvm", "job 1 --json")?.run()?.code(0)?.stdout;
    let nspace = shown.split('"').skip_while(|word| *word != "namespace").nth(2).context("no namespace")?.to_owned();
    let tool = pmix_program("queries")?;
    let asked = runner::run(c.bed().command(3, &tool)?.args(["tool", &nspace]), Duration::from_secs(60))?.code(0)?;
    let answers = answers(&asked.stdout);
    for (asked, value) in [
        ("bare pmix.qry.ns", nspace.as_str()),
        ("job pmix.job.size", "3"),
        ("job pmix.qry.pmems", "[0][1][2]"),
        ("job pmix.qry.lptable", ""),
        ("proc pmix.hname", "n2"),
        ("job pmix.session.id", "0"),
    ] {
        ensure!(answers[asked] == value, "{asked}: {:?} instead of {value:?}", answers[asked]);
    }
    let uri = &answers["bare pmix.srvr.uri"];
    ensure!(uri.contains(".3;tcp4://127.0.0.1:"), "the server of n3 is {uri}");
    let unknown =
        runner::run(c.bed().command(3, &tool)?.args(["tool", "nobody@7"]), Duration::from_secs(60))?.code(0)?;
    ensure!(unknown.stdout.contains("job pmix.job.size NOT-FOUND"), "it says {}", unknown.stdout);
    c.tool("pdvm", "kill 1")?.run()?.code(0)?;
    finish(job)?.failure()?;
    stop_dvm(c)
}
