//! Workflow systems over a DVM: the adapters of the Python package, with the real packages of PyPI.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::context::{Call, Context, Expect, Skipped};
use super::{Scenario, scenarios};
use crate::programs::{Mpi, mpi_program, radical_programs, type_checker, workflow_programs};
use crate::runner::Outcome;
use crate::workspace::{product, root};

/// A program that takes longer is a hang: these packages are slow to load on a busy machine.
const LIMIT: Duration = Duration::from_secs(150);

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_parsl_executor_runs_python_bash_and_mpi_apps_in_one_dvm,
        the_parsl_executor_passes_its_tests,
        a_dask_cluster_grows_and_shrinks_the_dvm_with_its_workers,
        the_dask_cluster_passes_its_tests,
        a_snakemake_workflow_runs_its_rules_on_the_nodes_of_a_dvm,
        the_snakemake_plugin_passes_its_tests,
        the_joblib_backend_passes_its_tests,
        the_programs_of_the_page_about_workflow_systems_run,
        the_python_packages_have_the_types_that_they_state,
        radical_pilot_runs_its_tasks_by_prte_and_prun,
    ]
}

/// Runs a program of the environment with these packages on n0, in a directory that all nodes see.
fn run(c: &Context, program: &str, set: impl FnOnce(Call<'_>) -> Result<Call<'_>>) -> Result<Outcome> {
    let programs = workflow_programs()
        .ok_or_else(|| Skipped("Parsl, Dask and Snakemake are not installed: cargo xtask setup --workflows".into()))?;
    run_of(c, &programs, program, set)
}

/// The same of another environment.
fn run_of(
    c: &Context,
    programs: &Path,
    program: &str,
    set: impl FnOnce(Call<'_>) -> Result<Call<'_>>,
) -> Result<Outcome> {
    let (commands, path) = (product("prte"), std::env::var("PATH").unwrap_or_default());
    let commands = commands.parent().context("no directory")?.display();
    // The directory of the call is that of the program.
    let call = c.program_on(0, "/usr/bin/env", &format!("-C {}", c.bed().shared().display()))?;
    let call = call.words([programs.join(program)])?.env("PYTHONPATH", root().join("python"));
    let call =
        call.env("PATH", format!("{}:{commands}:{path}", programs.display())).env("PYTHONDONTWRITEBYTECODE", "1");
    set(call)?.start()?.finish(LIMIT)?.code(0)
}

/// Runs the tests of an adapter; returns how many there were.
fn run_tests(c: &Context, module: &str) -> Result<()> {
    let tests = root().join("python/tests/workflows");
    let outcome = run(c, "python", |call| {
        call.env("PYTHONPATH", format!("{}:{}", tests.display(), root().join("python").display()))
            .words(["-m", "unittest", module])
    })?;
    let count = outcome.stderr.lines().find_map(|line| line.strip_prefix("Ran ")).context("no summary")?;
    ensure!(!outcome.stderr.contains("skipped="), "tests were skipped\n    {}", outcome.tail());
    c.note(count.to_owned());
    Ok(())
}

fn example(name: &str) -> PathBuf {
    root().join("examples/python").join(name)
}

fn a_parsl_executor_runs_python_bash_and_mpi_apps_in_one_dvm(c: &Context) -> Result<()> {
    let hello = mpi_program("hello", Mpi::OpenMpi4)?;
    let outcome = run(c, "python", |call| {
        call.words([example("parsl_apps.py"), hello])?.words(["n0:2", "n1:2", "n2:2", "n3:2"])
    })?;
    // Two ranks on each of two nodes, whichever have room.
    let on = outcome.stdout.split(" on ").skip(1).filter_map(|text| text.lines().next());
    let nodes: Vec<String> = on.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect();
    ensure!(nodes.len() == 2, "{}", outcome.tail());
    let ranks = (0..4).map(|rank| format!("hello from rank {rank} of 4 on {}", nodes[rank / 2]));
    outcome.lines(&ranks.chain(["digits: [7, 158, 1135]".to_owned()]).collect::<Vec<_>>())?;
    Ok(())
}

fn the_parsl_executor_passes_its_tests(c: &Context) -> Result<()> {
    run_tests(c, "test_parsl")
}

fn a_dask_cluster_grows_and_shrinks_the_dvm_with_its_workers(c: &Context) -> Result<()> {
    let outcome =
        run(c, "python", |call| call.words([example("dask_elastic.py")])?.words(["n0:2", "n1:2", "n2:2", "n3:2"]))?;
    let lines = [
        "one worker: ['n0']",
        "seven workers: ['n0', 'n1', 'n2', 'n3']",
        "ran on: ['n0', 'n1', 'n2', 'n3']",
        "adapted to much work: ['n0', 'n1', 'n2', 'n3']",
        "adapted to none: ['n0']",
    ];
    outcome.lines(&lines.map(str::to_owned))?;
    Ok(())
}

fn the_dask_cluster_passes_its_tests(c: &Context) -> Result<()> {
    run_tests(c, "test_dask")
}

fn a_snakemake_workflow_runs_its_rules_on_the_nodes_of_a_dvm(c: &Context) -> Result<()> {
    let summary = c.file("summary", "")?;
    let options = ["--executor", "ferrite", "--jobs", "8", "--ferrite-hosts", "n0:2,n1:2,n2:2,n3:2", "--forceall"];
    run(c, "snakemake", |call| {
        call.words(["--snakefile"])?.words([root().join("examples/snakemake/Snakefile")])?.words(options)
    })?;
    let text = std::fs::read_to_string(summary)?;
    let (numbers, hosts): (Vec<&str>, BTreeSet<&str>) = text.lines().filter_map(|line| line.split_once(' ')).unzip();
    ensure!(numbers == ["0", "2", "4", "6", "sum"], "{text}");
    // A simulation takes both slots of its node.
    ensure!(hosts == BTreeSet::from(["n0", "n1", "n2", "n3", "12"]), "{text}");
    Ok(())
}

fn the_snakemake_plugin_passes_its_tests(c: &Context) -> Result<()> {
    run_tests(c, "test_snakemake")
}

fn the_joblib_backend_passes_its_tests(c: &Context) -> Result<()> {
    run_tests(c, "test_joblib")
}

fn the_programs_of_the_page_about_workflow_systems_run(c: &Context) -> Result<()> {
    let page = std::fs::read_to_string(root().join("docs/book/src/workflows.md"))?;
    std::fs::copy(mpi_program("hello", Mpi::OpenMpi4)?, c.bed().shared().join("my_mpi_program"))?;
    let mut said = String::new();
    for program in page.split("```python\n").skip(1).filter_map(|text| text.split("```").next()) {
        let program = c.file("page.py", program)?;
        said.push_str(&run(c, "python", |call| call.words([program]))?.stdout);
    }
    ensure!(["hello from rank 3 of 4", "328350", "\n96\n"].iter().all(|text| said.contains(text)), "{said}");
    Ok(())
}

fn the_python_packages_have_the_types_that_they_state(c: &Context) -> Result<()> {
    let programs = type_checker().ok_or_else(|| Skipped("mypy is not installed: cargo xtask setup".into()))?;
    let cache = c.bed().shared().join("mypy");
    let packages = ["ferrite_dvm", "snakemake_executor_plugin_ferrite"].map(|name| root().join("python").join(name));
    // The workflow systems need not be installed.
    run_of(c, &programs, "mypy", |call| {
        call.words(["--ignore-missing-imports", "--cache-dir"])?.words([cache])?.words(packages)
    })?;
    Ok(())
}

fn radical_pilot_runs_its_tasks_by_prte_and_prun(c: &Context) -> Result<()> {
    let programs = radical_programs()
        .ok_or_else(|| Skipped("RADICAL-Pilot is not installed: cargo xtask setup --workflows".into()))?;
    let hello = mpi_program("hello", Mpi::OpenMpi4)?;
    // A new directory each time.
    let home = c.bed().shared().join(format!("radical-{}", c.bed().shared().read_dir()?.count()));
    std::fs::create_dir(&home)?;
    let outcome = run_of(c, &programs, "python", |call| {
        call.words([root().join("python/tests/workflows/radical_pilot.py"), hello, home.clone()])
    })?;
    let said = ["done: 200", "both ranks: 100"].map(str::to_owned);
    outcome.lines(&said)?;
    Ok(())
}
