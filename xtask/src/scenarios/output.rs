//! An ordinary job as the user sees it: placement, job map, tags, environment, working directory.

use anyhow::{Result, ensure};

use super::context::{Context, Expect};
use super::{Scenario, scenarios};

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        one_process_without_a_hostfile_just_works,
        four_nodes_by_ssh_give_their_names,
        the_job_map_names_every_node_and_process,
        tagged_output_names_the_rank_of_every_line,
        standard_error_stays_standard_error,
        files_of_output_are_written_on_the_node_of_their_process,
        two_programs_form_one_job_with_consecutive_ranks,
        variables_and_working_directory_reach_every_node,
        processes_are_laid_out_by_node_and_by_count_per_node,
    ]
}

fn hosts_of(counts: [usize; 4]) -> Vec<String> {
    counts.iter().enumerate().flat_map(|(node, &n)| vec![format!("n{node}"); n]).collect()
}

fn one_process_without_a_hostfile_just_works(c: &Context) -> Result<()> {
    c.prterun("-n 1 hostname")?.run()?.code(0)?.lines(&["n0".into()])?;
    Ok(())
}

fn four_nodes_by_ssh_give_their_names(c: &Context) -> Result<()> {
    for radix in ["2", "64"] {
        let job = c.everywhere(2, "-n 8 --prtemca rml_base_radix")?.words([radix, "hostname"])?;
        job.run()?.code(0)?.lines(&hosts_of([2, 2, 2, 2]))?;
    }
    let flat = c.everywhere(2, "-n 8 --prtemca plm_ssh_no_tree_spawn 1 hostname")?;
    flat.run()?.code(0)?.lines(&hosts_of([2, 2, 2, 2]))?;
    Ok(())
}

fn the_job_map_names_every_node_and_process(c: &Context) -> Result<()> {
    let outcome = c.everywhere(2, "-n 8 --display map,allocation true")?.run()?.code(0)?;
    let text = &outcome.stdout;
    ensure!(
        text.contains("========================   JOB MAP   ========================"),
        "no job map\n    {}",
        outcome.tail()
    );
    ensure!(text.contains("ALLOCATED NODES FOR JOB"), "no allocation\n    {}", outcome.tail());
    for node in 0..4 {
        let line = format!("Data for node: n{node}\tNum slots: 2\tMax slots: 0\tNum procs: 2");
        ensure!(text.contains(&line), "the map lacks '{line}'\n    {}", outcome.tail());
    }
    for rank in 0..8 {
        ensure!(
            text.contains(&format!("App: 0 Process rank: {rank} ")),
            "the map lacks rank {rank}\n    {}",
            outcome.tail()
        );
    }
    Ok(())
}

fn tagged_output_names_the_rank_of_every_line(c: &Context) -> Result<()> {
    let expected: Vec<String> =
        (0..8).flat_map(|r| [1, 2].map(|l| format!("[1,{r}]<stdout>: line {l} of {r}"))).collect();
    let script = "echo line 1 of $PMIX_RANK; echo line 2 of $PMIX_RANK";
    let job = c.everywhere(2, "-n 8 --output tag sh -c")?.words([script])?;
    // A blank more or less behind the colon is not what this is about.
    let mut outcome = job.run()?.code(0)?;
    outcome.stdout = outcome.stdout.replace("<stdout>:line", "<stdout>: line");
    outcome.lines(&expected)?;
    Ok(())
}

fn standard_error_stays_standard_error(c: &Context) -> Result<()> {
    let job = c.everywhere(1, "-n 4 sh -c")?.words(["echo out; echo err >&2"])?;
    let outcome = job.run()?.code(0)?.lines(&vec!["out".into(); 4])?;
    ensure!(
        outcome.stderr.lines().filter(|l| *l == "err").count() == 4,
        "stderr is not what the ranks wrote\n    {}",
        outcome.tail()
    );
    Ok(())
}

/// `/tmp` is another directory on each node.
fn files_of_output_are_written_on_the_node_of_their_process(c: &Context) -> Result<()> {
    let job = c.everywhere(1, "-n 4 --output file=/tmp/of-%R:pattern hostname")?;
    job.run()?.code(0)?.lines(&[])?;
    let show = c.everywhere(1, "-n 4 sh -c")?.words(["cat /tmp/of-*.out; rm /tmp/of-*"])?;
    show.run()?.code(0)?.lines(&hosts_of([1, 1, 1, 1]))?;
    let copied = c.everywhere(1, "-n 4 --output dir=/tmp/of,copy,rank sh -c")?.words(["echo I am $PMIX_RANK"])?;
    let tagged: Vec<String> = (0..4).map(|rank| format!("[{rank}]<stdout>: I am {rank}")).collect();
    copied.run()?.code(0)?.lines(&tagged)?;
    let show = c.everywhere(1, "-n 4 sh -c")?.words(["cat /tmp/of/*/rank.*/stdout; rm -r /tmp/of"])?;
    show.run()?.code(0)?.lines(&tagged)?;
    let broken = c.everywhere(1, "-n 4 --output file=/dev/null/of hostname")?.run()?.code(74)?;
    broken.complains_about(&["cannot be written on node n", "the job goes on"])?;
    Ok(())
}

fn two_programs_form_one_job_with_consecutive_ranks(c: &Context) -> Result<()> {
    let job =
        c.everywhere(2, "-n 2 sh -c")?.words(["echo a $PMIX_RANK", ":", "-n", "3", "sh", "-c", "echo b $PMIX_RANK"])?;
    job.run()?.code(0)?.lines(&["a 0", "a 1", "b 2", "b 3", "b 4"].map(String::from))?;
    Ok(())
}

fn variables_and_working_directory_reach_every_node(c: &Context) -> Result<()> {
    let job = c.everywhere(1, "-n 4 -x GIVEN=by_hand -x TAKEN --wdir /usr/share sh -c")?;
    let job = job.words(["echo $GIVEN $TAKEN $PWD"])?.env("TAKEN", "from_here");
    job.run()?.code(0)?.lines(&vec!["by_hand from_here /usr/share".into(); 4])?;
    Ok(())
}

fn processes_are_laid_out_by_node_and_by_count_per_node(c: &Context) -> Result<()> {
    c.everywhere(2, "-n 5 --map-by slot hostname")?.run()?.code(0)?.lines(&hosts_of([2, 2, 1, 0]))?;
    c.everywhere(2, "-n 5 --map-by node hostname")?.run()?.code(0)?.lines(&hosts_of([2, 1, 1, 1]))?;
    c.everywhere(2, "-n 4 --map-by ppr:1:node hostname")?.run()?.code(0)?.lines(&hosts_of([1, 1, 1, 1]))?;
    c.everywhere(2, "-N 2 hostname")?.run()?.code(0)?.lines(&hosts_of([2, 2, 2, 2]))?;
    c.prterun("--host n1:2,n3:1 -n 3 hostname")?.run()?.code(0)?.lines(&hosts_of([0, 2, 0, 1]))?;
    Ok(())
}
