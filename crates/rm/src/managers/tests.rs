//! The nodes that are found in the texts of each manager, recorded ones or those of its manual.

use super::*;
use ferrite_types::SlotCount;

/// Variables as `NAME=value` lines, and the text of whatever file or command is wanted.
fn told_with(variables: &str, text: &str, entire: bool) -> String {
    let lines = variables.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.trim().split_once('='));
    let variables: Variables = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let Some(manager) = Manager::of(&variables, &Selection::default()) else { return "no manager".to_owned() };
    let discovered = manager.file(&variables).and_then(|wanted| {
        let file = wanted.map(|wanted| FileText { wanted, text: text.to_owned() });
        let output = manager.command().filter(|_| !text.is_empty()).map(|_| text);
        manager.discover(Said { variables: &variables, file: file.as_ref(), output, entire })
    });
    match discovered {
        Ok(allocation) => show(&allocation),
        Err(error) => error.to_string(),
    }
}

fn told(variables: &str, file: &str) -> String {
    told_with(variables, file, false)
}

fn show(allocation: &ManagedAllocation) -> String {
    let node = |node: &HostEntry| match node.slots {
        SlotCount::Given(slots) => format!("{}:{slots}", node.name),
        SlotCount::FromCores => format!("{}:?", node.name),
    };
    let nodes: Vec<String> = allocation.nodes.iter().map(node).collect();
    let ManagedAllocation { manager, job, time_limit, said_by, .. } = allocation;
    format!("{manager} {job}: {} [{said_by}] {time_limit:?}", nodes.join(" "))
}

/// `salloc -N 4 -n 7` and what a shell in it has (Slurm 23.02).
const SALLOC: &str = "SLURM_JOB_ID=4711\nSLURM_JOBID=4711\nSLURM_NODELIST=n[08-10],gpu1\nSLURM_JOB_NODELIST=n[08-10],gpu1\n\
    SLURM_NNODES=4\nSLURM_TASKS_PER_NODE=2(x3),1\nSLURM_JOB_CPUS_PER_NODE=16(x3),64\nSLURM_CLUSTER_NAME=bed\n\
    SLURM_JOB_END_TIME=1763810000\n";

#[test]
fn slurm_says_all_in_variables() {
    let with = |more: &str| told(&format!("{SALLOC}{more}"), "");
    insta::assert_snapshot!(
        [
            with(""),
            with("SLURM_CPUS_PER_TASK=4"),
            told_with(&format!("{SALLOC}SLURM_CPUS_PER_TASK=4"), "", true),
            told("SLURM_JOBID=9\nSLURM_JOB_NODELIST=tux\nSLURM_JOB_CPUS_PER_NODE=8", ""),
            // A shell of a step on one of the nodes.
            with("SLURM_NODELIST=n09\nSLURM_TASKS_PER_NODE=5\nSLURM_STEP_ID=0"),
        ]
        .join("\n")
    );
}

/// Environments of real jobs; `samples/README.md` tells how they were recorded.
const RECORDED: [&str; 17] = [
    include_str!("samples/slurm-22.05-salloc.env"),
    include_str!("samples/slurm-22.05-salloc-cpus-per-task.env"),
    include_str!("samples/slurm-22.05-salloc-uneven.env"),
    include_str!("samples/slurm-22.05-salloc-exclusive.env"),
    include_str!("samples/slurm-22.05-salloc-nodes-only.env"),
    include_str!("samples/slurm-22.05-salloc-scattered.env"),
    include_str!("samples/slurm-22.05-salloc-heterogeneous.env"),
    include_str!("samples/slurm-22.05-sbatch.env"),
    include_str!("samples/slurm-22.05-sbatch-cpus-per-task.env"),
    include_str!("samples/slurm-22.05-sbatch-array.env"),
    include_str!("samples/slurm-22.05-sbatch-heterogeneous.env"),
    include_str!("samples/slurm-22.05-srun.env"),
    include_str!("samples/slurm-22.05-srun-cpus-per-task.env"),
    include_str!("samples/slurm-22.05-srun-narrow.env"),
    include_str!("samples/slurm-22.05-srun-narrow-in-sbatch.env"),
    include_str!("samples/slurm-22.05-srun-one.env"),
    include_str!("samples/slurm-22.05-srun-interactive.env"),
];

#[test]
fn what_real_jobs_of_slurm_said_names_their_nodes_and_slots() {
    let line = |sample: &&str| {
        let command = sample.lines().next().unwrap_or_default();
        format!("{command}\n    {}\n    all: {}", told(sample, ""), told_with(sample, "", true))
    };
    insta::assert_snapshot!(RECORDED.iter().map(line).collect::<Vec<_>>().join("\n"));
}

#[test]
fn what_slurm_cannot_have_said_is_refused_with_its_place() {
    let with = |more: &str| told(&format!("{SALLOC}{more}"), "");
    insta::assert_snapshot!(
        [
            told("SLURM_JOB_ID=1", ""),
            told("SLURM_JOB_ID=1\nSLURM_NODELIST=n1", ""),
            with("SLURM_TASKS_PER_NODE=2(x4),1"),
            with("SLURM_TASKS_PER_NODE=2(x18446744073709551615)"),
            with("SLURM_NODELIST=n[1-99999999]"),
            with("SLURM_NODELIST=n1;reboot,n2,n3,n4"),
            with("SLURM_NODELIST=-oProxyCommand=x,n2,n3,n4"),
            with("SLURM_NODELIST=n1\u{1b}[2J"),
            with("SLURM_NODELIST=n[1-4"),
            with("SLURM_NODELIST=,"),
            with("SLURM_CPUS_PER_TASK=0"),
            with("SLURM_CPUS_PER_TASK=65535"),
            with("SLURM_JOB_END_TIME=soon"),
            with("SLURM_JOB_ID=1 2"),
            with(&format!("SLURM_NODELIST={}", "x".repeat(5 << 20))),
        ]
        .join("\n")
    );
}

#[test]
fn pbs_has_a_line_for_each_slot_or_a_line_for_each_node() {
    let pbs = "PBS_JOBID=1234.head\nPBS_ENVIRONMENT=PBS_INTERACTIVE\nPBS_NODEFILE=/var/spool/pbs/aux/1234.head\n";
    let with = |more: &str, file: &str| told(&format!("{pbs}{more}"), file);
    insta::assert_snapshot!(
        [
            with("", "n2.hpc\nn2.hpc\nn1.hpc\nn2.hpc\n"),
            with("PBS_NUM_PPN=4\nPBS_WALLTIME=3600", "n1\nn2\n"),
            with("PBS_NUM_PPN=4", "n1\nn1\nn2\n"),
            with("PBS_JOBID=1234[7].head", "n1\n\n"),
            with("", "\n"),
            with("", "n1\nn2 n3\n"),
            with("", "n1\n$(id)\n"),
            with("PBS_NUM_PPN=many", "n1"),
            told("PBS_JOBID=1", ""),
            with("PALS_APID=ab3e\nPALS_NODEID=0", "x1000c0s0b0n0\nx1000c0s0b0n1\n"),
            told("PALS_APID=ab3e", ""),
        ]
        .join("\n")
    );
}

#[test]
fn lsf_has_pairs_or_names_or_a_file() {
    let with = |more: &str, file: &str| told(&format!("LSB_JOBID=88\n{more}"), file);
    insta::assert_snapshot!(
        [
            with("LSB_MCPU_HOSTS=hostA 4 hostB 2\nLSB_HOSTS=hostA hostA", ""),
            with("LSB_HOSTS=hostB hostA hostB", ""),
            with("LSB_DJOB_HOSTFILE=/h/.lsbatch/88.hostfile\nLSB_AFFINITY_HOSTFILE=/a", "hostA\nhostA\nhostB\n"),
            with("LSB_AFFINITY_HOSTFILE=/a", "hostA 0,1,2,3 0 1\nhostA 4,5,6,7 0 1\nhostB 0,1,2,3 0 1\n"),
            with("LSB_MCPU_HOSTS=hostA 4 hostB", ""),
            with("LSB_MCPU_HOSTS=hostA four", ""),
            with("", ""),
        ]
        .join("\n")
    );
}

#[test]
fn grid_engine_has_a_file_of_hosts_with_slots() {
    let file = "PE_HOSTFILE=/opt/sge/spool/n1/active_jobs/5.1/pe_hostfile\nJOB_ID=5\nSGE_ROOT=/opt/sge";
    insta::assert_snapshot!(
        [
            told(file, "n1.q 2 all.q@n1.q UNDEFINED\nn2.q 4 all.q@n2.q <NULL>\nn1.q 1 gpu.q@n1.q 0,1\n"),
            told(file, "n1\n"),
            told(file, "n1 0 all.q UNDEFINED\n"),
            told(file, "n1 65535 a b\nn1 1 c d\n"),
            // Somebody else's variable.
            told("JOB_ID=5", ""),
        ]
        .join("\n")
    );
}

#[test]
fn flux_says_its_nodes_by_a_command() {
    let inside = format!("{SALLOC}FLUX_URI=local:///tmp/flux-x/local-0\nFLUX_JOB_NNODES=2");
    let resources = |ranks: &str, names: &str| {
        format!(
            r#"{{"version":1,"execution":{{"R_lite":[{ranks}],"starttime":0,"expiration":1763810000.5,"nodelist":[{names}]}}}}"#
        )
    };
    let two = r#"{"rank":"1-2","children":{"core":"0-3,8","gpu":"0"}},{"rank":"0","children":{"core":"0"}}"#;
    insta::assert_snapshot!(
        [
            told(&inside, ""),
            told(&inside, &resources(two, r#""n[0-1]","gpu7""#)),
            told(&format!("{inside}\nFLUX_JOB_ID=ƒ2Xk9"), &resources(two, r#""n[0-2]""#)),
            told(&inside, &resources(two, r#""n[0-3]""#)),
            told(&inside, &resources(two, r#""n0,n0,n1""#)),
            told(&inside, &resources(r#"{"rank":"0,0","children":{"core":"0"}}"#, r#""n0""#)),
            told(&inside, &resources(r#"{"rank":"x","children":{"core":"0"}}"#, r#""n0""#)),
            told(&inside, &resources(r#"{"rank":"0","children":{"core":"0-70000"}}"#, r#""n0""#)),
            told(&inside, &resources(r#"{"rank":"0","children":{"core":"0"}}"#, r#""$(id)""#)),
            told(&inside, "flux-resource: ERROR: no R"),
        ]
        .join("\n")
    );
}

#[test]
fn the_innermost_manager_counts_unless_the_parameter_leaves_it_out() {
    let names = ["SLURM_JOB_ID", "LSB_JOBID", "JOB_ID", "PE_HOSTFILE", "PBS_JOBID", "FLUX_URI", "PALS_APID"];
    let variables: Variables = names.map(|name| (name.to_owned(), "1".to_owned())).into();
    let found = |ras: &str| {
        let mut params = crate::Params::default();
        params.set("ras", ras);
        match Selection::of(&params) {
            Ok(selection) => Manager::of(&variables, &selection).map_or("none".to_owned(), |found| found.to_string()),
            Err(error) => error.to_string(),
        }
    };
    let asked =
        ["", "^pals", "^pbs", "^pbs,flux", "^pbs,flux,gridengine,lsf", "slurm,lsf", "hosts", "^hosts", "^slrum", ","];
    let line = |ras: &&str| format!("{ras:?}: {}", found(ras));
    insta::assert_snapshot!(asked.iter().map(line).collect::<Vec<_>>().join("\n"));
    assert_eq!(Manager::of(&Variables::default(), &Selection::default()), None);
}

proptest::proptest! {
    #[test]
    fn nothing_that_is_said_makes_it_panic_and_no_name_is_an_option(
        manager in proptest::sample::select(Manager::ALL.to_vec()),
        list in "[nx0-9,\\[\\]\\-; ]{0,24}|\\PC{0,12}",
        counts in "[0-9,()x ]{0,12}|\\PC{0,6}",
        file in "([nx0-9.\\- ]{0,9}\n){0,6}|\\PC{0,30}",
        entire: bool,
    ) {
        let value = |name: &str| match name {
            "SLURM_NODELIST" | "LSB_MCPU_HOSTS" | "LSB_HOSTS" => list.clone(),
            "SLURM_TASKS_PER_NODE" | "SLURM_JOB_CPUS_PER_NODE" | "PBS_NUM_PPN" => counts.clone(),
            _ => "1".to_owned(),
        };
        let names = ["SLURM_JOB_ID", "SLURM_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE", "PBS_JOBID",
            "PBS_NODEFILE", "PBS_NUM_PPN", "LSB_JOBID", "LSB_MCPU_HOSTS", "LSB_HOSTS", "PE_HOSTFILE", "JOB_ID"];
        let variables: Variables = names.map(|name| (name.to_owned(), value(name))).into();
        let resources = format!(
            r#"{{"execution":{{"R_lite":[{{"rank":{counts:?},"children":{{"core":"0"}}}}],"nodelist":[{list:?}]}}}}"#
        );
        let output = manager.command().map(|_| resources.as_str());
        let text = manager.file(&variables).unwrap().map(|wanted| FileText { wanted, text: file });
        if let Ok(found) = manager.discover(Said { variables: &variables, file: text.as_ref(), output, entire }) {
            proptest::prop_assert!(!found.nodes.is_empty());
            for node in found.nodes {
                proptest::prop_assert_eq!(crate::name::check_host(&node.name), Ok(node.name.as_str()));
            }
        }
    }
}
