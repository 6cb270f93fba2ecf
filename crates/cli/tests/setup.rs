//! From a line to a job that can start, with files in a directory of the test's own.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use ferrite_cli::args::{Environment, Parsed, parse};
use ferrite_cli::frame::framed;
use ferrite_cli::machine::Surroundings;
use ferrite_cli::setup::{Prepared, SetupError, prepare};
use ferrite_rm::allocation::Source;
use ferrite_types::{EnvOp, Signal, SlotCount};

struct Place {
    dir: tempfile::TempDir,
    around: Surroundings,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["bin", "etc", "home/.prte", "work"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        let environment = [("HOME".to_owned(), at("home").display().to_string())].into();
        let around = Surroundings {
            environment,
            cwd: at("work"),
            exe: at("bin/prterun"),
            root: false,
            hostname: "head.cluster".to_owned(),
        };
        Place { dir, around }
    }
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
    fn set(&mut self, name: &str, value: &str) {
        self.around.environment.insert(name.to_owned(), value.to_owned());
    }
    fn prepare(&self, line: &str) -> Result<Prepared, SetupError> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(&args, &self.around.environment) {
            Ok(Parsed::Run(run)) => prepare(*run, &self.around),
            other => panic!("{line}: {other:?}"),
        }
    }
    /// The message for the user, with the directory of the test taken out.
    fn told(&self, line: &str) -> String {
        let error = self.prepare(line).expect_err(line);
        let shown = |text: String| text.replace(&*self.dir.path().to_string_lossy(), "/DIR");
        framed("prterun", &[&shown(error.to_string()), &shown(error.next_step())])
    }
}

fn names(prepared: &Prepared) -> Vec<&str> {
    prepared.allocation.nodes.iter().map(|n| n.name.as_str()).collect()
}

fn param<'p>(prepared: &'p Prepared, name: &str) -> Option<&'p str> {
    prepared.params.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
}

#[test]
fn without_a_word_the_job_runs_on_this_machine() {
    let place = Place::new();
    let prepared = place.prepare("./a").unwrap();
    assert_eq!(names(&prepared), ["head.cluster"]);
    assert_eq!(prepared.allocation.source, Source::ThisMachine);
    assert_eq!(prepared.allocation.head, Some(0));
    assert_eq!(Path::new(&prepared.prted), place.dir.path().join("bin/prted"));
    assert_eq!(prepared.spec.apps[0].submit_dir, prepared.cwd);
    assert!(prepared.signals.contains(&Signal(10)) && !prepared.signals.contains(&Signal(15)));
}

#[test]
fn a_hostfile_defines_and_a_host_list_filters() {
    let place = Place::new();
    place.write("work/hosts", "n0 slots=2\nn1 slots=4\n");
    let prepared = place.prepare("--hostfile hosts --host n1 ./a").unwrap();
    assert_eq!(names(&prepared), ["n0", "n1"]);
    assert_eq!(prepared.allocation.needed, [1]);
    assert_eq!(prepared.spec.apps[0].hosts.hostfile.len(), 2);
    assert_eq!(prepared.spec.apps[0].hosts.hosts.len(), 1);
    assert_eq!(prepared.allocation.nodes[1].slots, SlotCount::Given(4));
}

#[test]
fn hosts_that_are_added_belong_to_the_dvm_of_prterun_and_to_all_its_programs() {
    let place = Place::new();
    place.write("work/hosts", "n0 slots=2\nn1 slots=4\n");
    place.write("work/more", "n6 slots=3\nn0 slots=+1\n");
    let prepared = place.prepare("--add-host n5:2 --add-hostfile more --hostfile hosts --host n0 ./a").unwrap();
    assert_eq!(names(&prepared), ["n0", "n1", "n5", "n6"]);
    let slots: Vec<_> = prepared.allocation.nodes.iter().map(|n| n.slots).collect();
    assert_eq!(slots, [3, 4, 2, 3].map(SlotCount::Given));
    assert_eq!(prepared.allocation.needed, [0, 2, 3]);
    let hosts = &prepared.spec.apps[0].hosts;
    assert_eq!((hosts.hostfile.len(), hosts.hosts.len()), (5, 4));
    let alone = place.prepare("--add-host n5 ./a").unwrap();
    assert_eq!(names(&alone), ["head.cluster", "n5"]);
    assert!(alone.spec.apps[0].hosts.hosts.is_empty());
    let without = place.prepare("--hostfile hosts --host ^n1 --add-host n5 ./a").unwrap();
    assert_eq!((names(&without), without.spec.apps[0].hosts.hosts.len()), (vec!["n0", "n1", "n5"], 1));
}

#[test]
fn the_default_hostfile_is_that_of_option_parameter_and_installation_in_this_order() {
    let mut place = Place::new();
    place.write("etc/prte-default-hostfile", "site\n");
    let named = place.write("work/mine", "mine\n");
    assert_eq!(names(&place.prepare("./a").unwrap()), ["site"]);
    assert_eq!(names(&place.prepare("--default-hostfile mine ./a").unwrap()), ["mine"]);
    assert_eq!(names(&place.prepare("--default-hostfile none ./a").unwrap()), ["head.cluster"]);
    place.set("PRTE_MCA_prte_default_hostfile", &named.display().to_string());
    assert_eq!(names(&place.prepare("./a").unwrap()), ["mine"]);
    place.set("PRTE_MCA_prte_default_hostfile", "none");
    assert_eq!(names(&place.prepare("./a").unwrap()), ["head.cluster"]);
    assert_eq!(names(&place.prepare("--host n7 ./a").unwrap()), ["n7"]);
}

#[test]
fn parameters_come_from_files_then_the_environment_then_the_line() {
    let mut place = Place::new();
    let value = |place: &Place, line| param(&place.prepare(line).unwrap(), "rml_base_radix").map(str::to_owned);
    place.write("etc/prte-mca-params.conf", "rml_base_radix = 4\nmapby = node\n");
    assert_eq!(value(&place, "./a").as_deref(), Some("4"));
    place.write("home/.prte/mca-params.conf", "rml_base_radix = 8\n");
    assert_eq!(value(&place, "./a").as_deref(), Some("8"));
    place.set("PRTE_MCA_rml_base_radix", "16");
    assert_eq!(value(&place, "./a").as_deref(), Some("16"));
    assert_eq!(value(&place, "--prtemca rml_base_radix 2 ./a").as_deref(), Some("2"));
    assert_eq!(place.prepare("./a").unwrap().spec.map.by, Some(ferrite_types::MapBy::Node));
}

#[test]
fn libraries_variables_are_forwarded_and_everything_on_request() {
    let mut place = Place::new();
    for name in
        ["OMPI_MCA_btl", "MPIR_CVAR_X", "PMIX_MCA_gds", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_FD", "FOO", "PWD"]
    {
        place.set(name, "v");
    }
    let forwarded = |line: &str| -> Vec<String> {
        let name = |op| match op {
            EnvOp::Set(name, _) => name,
            other => panic!("{other:?}"),
        };
        place.prepare(line).unwrap().forwarded_env.into_iter().map(name).collect()
    };
    assert_eq!(forwarded("--gmca pml ob1 ./a"), ["MPIR_CVAR_X", "OMPI_MCA_btl", "PMIX_MCA_gds", "OMPI_MCA_pml"]);
    assert_eq!(forwarded("--rtos fwd-environment ./a"), ["FOO", "HOME", "MPIR_CVAR_X", "OMPI_MCA_btl", "PMIX_MCA_gds"]);
    assert_eq!(forwarded("--prtemca prte_fwd_environment 1 ./a").len(), 5);
}

#[test]
fn the_launch_agent_is_that_of_the_option_then_of_the_parameter() {
    let place = Place::new();
    let agent = |line| param(&place.prepare(line).unwrap(), "prte_launch_agent").map(str::to_owned);
    assert_eq!(agent("./a"), None);
    assert_eq!(agent("--prtemca prte_launch_agent /p/prted ./a").as_deref(), Some("/p/prted"));
    assert_eq!(agent("--launch-agent /o/prted --prtemca prte_launch_agent x ./a").as_deref(), Some("/o/prted"));
}

#[test]
fn the_daemons_program_has_one_name() {
    let place = Place::new();
    let prepared = place.prepare("--prefix /opt/f --pmix-prefix /opt/p ./a").unwrap();
    assert_eq!(param(&prepared, "ferrite_prefix"), Some("/opt/f"));
    assert_eq!(param(&prepared, "ferrite_pmix_prefix"), Some("/opt/p"));
    let told = place.told("--prefix /opt/f --prtemca prte_launch_agent x ./a");
    assert!(told.contains("--prefix") && told.contains("both name"), "{told}");
    assert_eq!(place.prepare("--max-vm-size 2 --host n1,n2,n3 ./a").unwrap().allocation.needed, [0, 1]);
}

#[test]
fn the_progress_of_the_launch_is_shown_by_the_line_else_by_rtos() {
    let place = Place::new();
    let shown = |line| param(&place.prepare(line).unwrap(), "state_base_show_launch_progress").map(str::to_owned);
    assert_eq!(shown("./a"), None);
    assert_eq!(shown("--prtemca rtos show-progress ./a").as_deref(), Some("1"));
    assert_eq!(shown("--prtemca rtos show-progress -q ./a").as_deref(), Some("0"));
}

#[test]
fn debugging_of_daemons_travels_as_parameters() {
    let prepared = Place::new().prepare("--debug-daemons --leave-session-attached ./a").unwrap();
    assert_eq!(param(&prepared, "prte_debug_daemons"), Some("1"));
    assert_eq!(param(&prepared, "prte_leave_session_attached"), Some("1"));
    assert_eq!(param(&prepared, "ferrite_log"), Some("debug"));
    let quieter = Place::new().prepare("--debug-daemons --prtemca ferrite_log info ./a").unwrap();
    assert_eq!(param(&quieter, "ferrite_log"), Some("info"));
}

#[test]
fn root_needs_permission() {
    let mut place = Place::new();
    place.around.root = true;
    let prepared = place.prepare("--allow-run-as-root ./a").unwrap();
    // A program of the job may be prterun.
    let yes = |name: &str| EnvOp::Set(name.to_owned(), "1".to_owned());
    assert_eq!(prepared.forwarded_env, ["PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"].map(yes));
    insta::assert_snapshot!(place.told("./a"));
}

#[test]
fn each_obstacle_says_what_and_where_and_what_next() {
    let place = Place::new();
    place.write("work/bad", "n0\nn1 slots=four\n");
    place.write("work/empty", "");
    place.write("work/comments", "# none yet\n");
    place.write("work/hosts", "n0\n");
    std::fs::write(place.dir.path().join("work/binary"), b"n0\n\xff\n").unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.dir.path().join("work/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let lines = [
        "--hostfile missing ./a",
        "--hostfile /DIR ./a",
        "--hostfile pipe ./a",
        "--hostfile bad ./a",
        "--hostfile empty ./a",
        "--default-hostfile comments ./a",
        "--hostfile hosts --add-hostfile empty ./a",
        "--hostfile binary ./a",
        "--hostfile hosts/x ./a",
        "--default-hostfile missing ./a",
        "--hostfile hosts --host n9 ./a",
        "--host +n3 ./a",
        "--add-hostfile missing ./a",
        "--add-hostfile bad ./a",
        "--add-host n5 --add-hostfile hosts --add-host n0:2 ./a",
        "--host n0 --add-host n0:-3 ./a",
        "--prtemca rml_base_radix one ./a",
        "--prtemca mapby nonsense ./a",
        "--prtemca prte_allocation_required 1 ./a",
    ];
    let dir = place.dir.path().to_string_lossy().into_owned();
    let all: Vec<_> =
        lines.iter().map(|l| format!("$ prterun {l}\n{}", place.told(&l.replace("/DIR", &dir)))).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn a_bad_parameter_file_is_named_with_its_line() {
    let place = Place::new();
    place.write("home/.prte/mca-params.conf", "# mine\nrml_base_radix 8\n");
    insta::assert_snapshot!(place.told("./a"));
    let environment = Environment::new();
    assert!(parse(&["./a".to_owned()], &environment).is_ok(), "parsing reads no file");
}

#[test]
fn nodes_can_be_made_up_for_a_map_and_for_nothing_else() {
    let place = Place::new();
    let made_up = "--prtemca ras_simulator_num_nodes 2 --prtemca ras_simulator_slots 8";
    let prepared = place.prepare(&format!("{made_up} --rtos donotlaunch -n 2 true")).unwrap();
    assert_eq!(names(&prepared), ["nodeA0", "nodeA1"]);
    assert_eq!((prepared.allocation.source, prepared.allocation.head), (Source::Simulated, None));
    let filtered = place.prepare(&format!("{made_up} --host nodeA1:2 --rtos donotlaunch true")).unwrap();
    assert_eq!(filtered.allocation.needed, [1]);
    insta::assert_snapshot!(
        [
            place.told(&format!("{made_up} -n 2 true")),
            place.told(&format!("{made_up} --host n0 --rtos donotlaunch true")),
            place.told("--prtemca ras_simulator_num_nodes two --rtos donotlaunch true"),
        ]
        .join("\n")
    );
}

#[test]
fn a_topology_file_is_read_before_anything_starts() {
    let place = Place::new();
    place.write("work/good.xml", include_str!("../../map/tests/topologies/no-package.xml"));
    place.write("work/bad.xml", "<topology version=\"2.0\">\n<object type=\"PU\" cpuset=\"x\"/>\n</topology>\n");
    let topology = place.prepare("--prtemca hwloc_use_topo_file good.xml true").unwrap().topology.unwrap();
    assert_eq!(topology.usable_cores(), 4);
    insta::assert_snapshot!(
        [
            place.told("--prtemca hwloc_use_topo_file bad.xml true"),
            place.told("--prtemca hwloc_use_topo_file none.xml true"),
        ]
        .join("\n")
    );
}

const SALLOC: [(&str, &str); 4] = [
    ("SLURM_JOB_ID", "4711"),
    ("SLURM_NODELIST", "n[08-10]"),
    ("SLURM_TASKS_PER_NODE", "2(x2),1"),
    ("SLURM_JOB_CPUS_PER_NODE", "16(x3)"),
];

#[test]
fn in_a_job_of_slurm_its_nodes_are_the_allocation_without_an_option() {
    let mut place = Place::new();
    SALLOC.iter().for_each(|(name, value)| place.set(name, value));
    place.write("etc/prte-default-hostfile", "site\n");
    let slots = |line: &str| -> Vec<SlotCount> {
        place.prepare(line).unwrap().allocation.nodes.iter().map(|node| node.slots).collect()
    };
    let prepared =
        place.prepare("--rtos donotlaunch --prtemca prte_allocation_required 1 --display allocation ./a").unwrap();
    assert_eq!(names(&prepared), ["n08", "n09", "n10"]);
    assert_eq!(slots("./a"), [2, 2, 1].map(SlotCount::Given));
    assert_eq!(slots("--prtemca ras_slurm_use_entire_allocation 1 ./a"), [16; 3].map(SlotCount::Given));
    assert_eq!(
        prepared.origin.as_deref(),
        Some("the nodes are those of Slurm job 4711 (from SLURM_NODELIST, SLURM_TASKS_PER_NODE)")
    );
    assert_eq!(place.prepare("./a").unwrap().origin, None);
    assert_eq!(place.prepare("--host n09 ./a").unwrap().allocation.needed, [1]);
    assert_eq!(names(&place.prepare("--prtemca ras ^slurm ./a").unwrap()), ["site"]);
    assert_eq!(names(&place.prepare("--prtemca ras hosts --host n77 ./a").unwrap()), ["n77"]);
    let made_up = "--prtemca ras_simulator_num_nodes 1 --rtos donotlaunch ./a";
    assert_eq!(names(&place.prepare(made_up).unwrap()), ["nodeA0"]);
}

#[test]
fn what_a_managers_job_does_not_allow_or_does_not_say_is_one_message() {
    let mut place = Place::new();
    SALLOC.iter().for_each(|(name, value)| place.set(name, value));
    place.write("work/hosts", "n08\nn11 slots=4\n");
    let mut told: Vec<String> =
        ["--host n11 ./a", "--hostfile hosts ./a", "--add-host n11 ./a", "--prtemca ras slrum ./a"]
            .map(|line| place.told(line))
            .into();
    place.set("SLURM_TASKS_PER_NODE", "2(x2)");
    told.push(place.told("./a"));
    place.set("PBS_JOBID", "7.head");
    let file = place.dir.path().join("nodes").display().to_string();
    place.set("PBS_NODEFILE", &file);
    told.push(place.told("./a"));
    place.set("FLUX_URI", "local:///tmp/flux/local-0");
    told.push(place.told("./a"));
    place.write("work/hosts", "n1\n");
    assert_eq!(names(&place.prepare("--hostfile hosts ./a").unwrap()), ["n1"]);
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn the_file_that_a_manager_names_is_read() {
    let mut place = Place::new();
    let file = place.write("nodes", "n2\nn2\nn1\n").display().to_string();
    place.set("PBS_JOBID", "7.head");
    place.set("PBS_NODEFILE", &file);
    let allocation = place.prepare("./a").unwrap().allocation;
    assert_eq!(allocation.nodes.iter().map(|node| node.slots).collect::<Vec<_>>(), [2, 1].map(SlotCount::Given));
    assert_eq!(allocation.source, Source::Managed { manager: ferrite_rm::Manager::Pbs, job: "7.head".to_owned() });
}
