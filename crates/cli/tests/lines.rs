//! The meaning of command lines: each rule of the field's command line as one case.

use ferrite_cli::args::{Environment, Parsed, ReportTo, Run, parse};
use ferrite_rm::Params;
use ferrite_types::resources::amounts_in_words;
use ferrite_types::{BindTo, Duration, EnvOp, MapBy, ObjectKind, Rank, Signal, StdinTarget};

fn run_in(environment: &Environment, line: &str) -> Run {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match parse(&args, environment) {
        Ok(Parsed::Run(run)) => *run,
        other => panic!("{line}: {other:?}"),
    }
}

fn run(line: &str) -> Run {
    run_in(&Environment::new(), line)
}

fn set(name: &str, value: &str) -> EnvOp {
    EnvOp::Set(name.to_owned(), value.to_owned())
}

#[test]
fn options_end_at_the_program() {
    for line in ["-n 2 ./a -n 3 --help", "-n 2 -- ./a -n 3 --help"] {
        let spec = run(line).spec;
        assert_eq!(spec.apps[0].argv, ["./a", "-n", "3", "--help"]);
        assert_eq!(spec.apps[0].np, Some(2));
    }
    assert_eq!(run("./a").spec.apps[0].np, None);
    assert_eq!(run("-- -odd").spec.apps[0].argv, ["-odd"]);
}

#[test]
fn every_spelling_of_the_number_of_processes_is_understood() {
    for spelling in ["-n 4", "-np 4", "--np 4", "--n 4", "-c 4", "--np=4", "-np=4", "-n4", "-n=4"] {
        assert_eq!(run(&format!("{spelling} ./a")).spec.apps[0].np, Some(4), "{spelling}");
    }
}

#[test]
fn long_names_with_one_dash_are_understood() {
    let run = run("-host n0 -hostfile f -wdir /tmp -x A=1 ./a");
    assert_eq!(run.hosts[0].hosts.as_ref().unwrap().items.len(), 1);
    assert_eq!(run.hosts[0].hostfile.as_deref(), Some("f"));
    assert_eq!(run.spec.apps[0].wdir.as_deref(), Some("/tmp"));
    assert_eq!(run.spec.apps[0].env, [set("A", "1")]);
}

#[test]
fn values_may_begin_with_a_hyphen_and_look_like_anything() {
    let run = run("--prtemca plm_ssh_args -A --set-env OPTS=--np --launch-agent=--odd ./a");
    assert_eq!(run.params, [("plm_ssh_args".to_owned(), "-A".to_owned())]);
    assert_eq!(run.spec.apps[0].env, [set("OPTS", "--np")]);
    assert_eq!(run.launch_agent.as_deref(), Some("--odd"));
}

#[test]
fn each_program_takes_its_own_resources() {
    let run =
        run("--mem 1.5G --resource fpga=1,disk=20 ./a : --resource gpu=2 --resource disk=1,licence=2/job ./b : ./c");
    let takes: Vec<String> = run.spec.apps.iter().map(|app| amounts_in_words(&app.takes)).collect();
    assert_eq!(takes, ["disk=20 and fpga=1 and mem=1.5 GiB", "disk=1 and gpu=2", ""]);
    let once: Vec<String> = run.spec.apps.iter().map(|app| amounts_in_words(&app.takes_once)).collect();
    assert_eq!(once, ["", "licence=2", ""]);
}

#[test]
fn programs_of_one_job_are_separated_by_a_colon() {
    let run = run("-n 1 -x A=1 ./a x : -n 2 --host n1 --wdir /w ./b : ./c");
    let spec = &run.spec;
    assert_eq!(spec.apps.iter().map(|a| a.argv[0].as_str()).collect::<Vec<_>>(), ["./a", "./b", "./c"]);
    assert_eq!(spec.apps.iter().map(|a| a.np).collect::<Vec<_>>(), [Some(1), Some(2), None]);
    assert!(spec.apps[1].env.is_empty(), "-x belongs to one program");
    assert!(run.hosts[0].hosts.is_none() && run.hosts[1].hosts.is_some());
}

#[test]
fn prefixes_change_the_environment_before_the_options_about_single_variables() {
    let front = |name: &str, dir: &str| EnvOp::Prepend(name.to_owned(), ':', dir.to_owned());
    let app = [front("PATH", "/opt/a/bin"), front("LD_LIBRARY_PATH", "/opt/a/lib"), set("OPAL_PREFIX", "/opt/a")];
    let pmix = |dir: &str| [front("LD_LIBRARY_PATH", &format!("{dir}/lib")), set("PMIX_PREFIX", dir)];
    let env = |environment: &Environment, line: &str| run_in(environment, line).spec.apps[0].env.clone();
    let nothing = Environment::new();
    let both = [&pmix("/opt/p")[..], &app, &[set("A", "1")]].concat();
    assert_eq!(env(&nothing, "-x A=1 --app-prefix /opt/a/ --app-pmix-prefix /opt/p ./a"), both);
    assert_eq!(env(&nothing, "--no-app-prefix ./a"), [EnvOp::Unset("PMIX_PREFIX".to_owned())]);
    let set_there = |name: &str| Environment::from([(name.to_owned(), "/opt/e".to_owned())]);
    assert_eq!(env(&set_there("PMIX_APP_PREFIX"), "./a"), pmix("/opt/e"));
    assert_eq!(env(&set_there("PMIX_APP_PREFIX"), "--app-pmix-prefix /opt/p ./a"), pmix("/opt/p"));
    assert_eq!(env(&set_there("PMIX_APP_NO_PREFIX"), "./a"), [EnvOp::Unset("PMIX_PREFIX".to_owned())]);
    assert_eq!(run("--app-prefix /opt/a ./a : ./b").spec.apps[1].env, []);
}

#[test]
fn options_about_daemons_are_parameters() {
    let params = |line: &str| run(line).daemon_params;
    let of = |name, value: &str| vec![(name, value.to_owned())];
    assert_eq!(params("--prefix /opt/f/ ./a"), of("ferrite_prefix", "/opt/f"));
    assert_eq!(params("--pmix-prefix /opt/p ./a"), of("ferrite_pmix_prefix", "/opt/p"));
    assert_eq!(params("--noprefix ./a"), of("prte_launch_agent", "prted"));
    assert_eq!(params("--max-vm-size 3 ./a"), of("prte_max_vm_size", "3"));
}

#[test]
fn prte_has_the_environment_of_all_its_jobs() {
    use ferrite_cli::args::prte::{PrteParsed, parse};
    let there = Environment::from([("HERE".to_owned(), "1".to_owned())]);
    let args: Vec<String> = "-x HERE -x A=2 -x GONE --pmixmca gds hash".split(' ').map(str::to_owned).collect();
    let Ok(PrteParsed::Run(run)) = parse(&args, &there) else { panic!("the line is right") };
    assert_eq!(run.env, [set("PMIX_MCA_gds", "hash"), set("HERE", "1"), set("A", "2")]);
    assert!(run.warnings.len() == 1 && run.warnings[0].contains("GONE"), "{:?}", run.warnings);
}

#[test]
fn spawned_jobs_can_be_reported_separately() {
    assert!(run("--report-child-jobs-separately ./a").spec.options.children_separately);
    assert!(!run("./a").spec.options.children_separately);
}

#[test]
fn a_line_can_be_loud_or_quiet() {
    let params = |line: &str| run(line).params.into_iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>();
    assert_eq!(params("-v ./a"), ["state_base_verbose=1"]);
    assert_eq!(params("--verbose --prtemca state_base_verbose 5 ./a")[1..], ["state_base_verbose=5"]);
    assert_eq!(params("-q ./a"), ["state_base_show_launch_progress=0"]);
    assert_eq!(params("--show-progress ./a"), ["state_base_show_launch_progress=1"]);
    assert!(run("--quiet ./a").quiet && run("--dvm search -v ./a").verbose);
    assert_eq!(params("--dvm search -v ./a"), [""; 0]);
}

#[test]
fn each_program_has_its_exec_agent_else_that_of_the_job() {
    let agents = |line: &str| {
        let mut run = run(line);
        run.apply_defaults(&params(&[("rtos", "exec-agent=default")])).unwrap();
        let agent = |app: &ferrite_types::AppContext| app.exec_agent.clone().map(|words| words.join("|"));
        run.spec.apps.iter().map(agent).map(Option::unwrap_or_default).collect::<Vec<_>>()
    };
    let agent = ["--exec-agent=nice -n 5".to_owned(), "./a".to_owned()];
    let Ok(Parsed::Run(alone)) = parse(&agent, &Environment::new()) else { panic!("the line is right") };
    assert_eq!(alone.spec.apps[0].exec_agent.as_ref().unwrap().join("|"), "nice|-n|5");
    assert_eq!(agents("--exec-agent own ./a : ./b"), ["own", "default"]);
    assert_eq!(agents("--rtos exec-agent=job ./a : --exec-agent own ./b"), ["job", "own"]);
    assert_eq!(agents("--rtos default-exec-agent ./a"), [""]);
}

#[test]
fn processes_can_start_in_directories_of_their_own() {
    let run = run("--set-cwd-to-session-dir ./a : ./b");
    assert_eq!([run.spec.apps[0].session_cwd, run.spec.apps[1].session_cwd], [true, false]);
}

#[test]
fn options_of_the_job_may_stand_at_any_program() {
    let run = run("-n 1 ./a : --output tag --display map --rtos recoverable --timeout 1:00 ./b");
    assert!(run.spec.output.tag && run.spec.display.map && run.spec.options.recoverable);
    assert_eq!(run.spec.options.timeout, Some(Duration::from_secs(60)));
}

#[test]
fn the_environment_keeps_the_order_of_the_line() {
    let line = "--append-env P[:] b --set-env P=x --unset-env Q* --prepend-env P[:] c -x R=1 --append-env P[;] d ./a";
    let expected = [
        EnvOp::Append("P".into(), ':', "b".into()),
        set("P", "x"),
        EnvOp::Unset("Q*".into()),
        EnvOp::Prepend("P".into(), ':', "c".into()),
        set("R", "1"),
        EnvOp::Append("P".into(), ';', "d".into()),
    ];
    assert_eq!(run(line).spec.apps[0].env, expected);
}

#[test]
fn forwarded_variables_come_from_here_and_identities_never_do() {
    let here = [("PMI_A", "1"), ("PMIX_RANK", "3"), ("PX", "2"), ("PMIX_MCA_a", "4"), ("FOO", "5")];
    let here: Environment = here.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let run = run_in(&here, "-x P* -x FOO -x PMIX_RANK -x NONE ./a");
    assert_eq!(run.spec.apps[0].env, [set("PMIX_MCA_a", "4"), set("PX", "2"), set("FOO", "5")]);
    assert_eq!(run.warnings.len(), 2);
}

#[test]
fn parameters_of_libraries_become_variables() {
    let run = run("--mca btl self --gmca pml ob1 --pmixmca gds hash -n 1 ./a : ./b");
    assert_eq!(run.spec.apps[0].env, [set("OMPI_MCA_btl", "self")]);
    assert!(run.spec.apps[1].env.is_empty());
    assert_eq!(run.job_env, [set("OMPI_MCA_pml", "ob1"), set("PMIX_MCA_gds", "hash")]);
}

#[test]
fn placement_reaches_the_request_whichever_way_it_is_written() {
    assert_eq!(run("-N 2 ./a").spec.map.by, Some(MapBy::PerNode(2)));
    assert_eq!(run("-N 2 ./a : -N 2 ./b").spec.map.by, Some(MapBy::PerNode(2)));
    assert_eq!(run("--map-by PPR:2:node:oversub ./a").spec.map.oversubscribe, Some(true));
    let request = run("--map-by core --oversubscribe --nolocal --bind-to none ./a").spec.map;
    assert_eq!(request.by, Some(MapBy::Object(ObjectKind::Core)));
    assert_eq!((request.oversubscribe, request.nolocal), (Some(true), true));
    assert_eq!(request.bind_to, Some(BindTo::None));
    assert_eq!(run("--bind-to-core ./a").spec.map.bind_to, Some(BindTo::Object(ObjectKind::Core)));
    assert_eq!(run("--bynode ./a").spec.map.by, Some(MapBy::Node));
    assert_eq!(run("--map-by :oversubscribe ./a").spec.map.by, None);
}

#[test]
fn input_and_output_reach_the_job() {
    assert_eq!(run("--stdin 3 ./a").spec.stdin, Some(StdinTarget::Rank(Rank(3))));
    assert_eq!(run("--stdin ALL ./a").spec.stdin, Some(StdinTarget::All));
    assert_eq!(run("./a").spec.stdin, None);
    let output = run("--output TAG,time,merge,dir=/tmp/x:copy,raw ./a").spec.output;
    assert!(output.tag && output.timestamp && output.merge_stderr && output.copy && output.raw);
    assert_eq!(output.dir.as_deref(), Some("/tmp/x"));
    assert!(!run("--output tag=0,rank ./a").spec.output.tag);
    let named = run("--output filename=%h-%R:pattern,xml ./a").spec.output;
    assert!(named.pattern && named.xml && named.file.as_deref() == Some("%h-%R"));
    assert_eq!(run("--output directory=/tmp/y ./a").spec.output.dir.as_deref(), Some("/tmp/y"));
    let display = run("--display map:parseable,alloc,bind ./a").spec.display;
    assert!(display.map && display.allocation && display.bind && display.parseable);
}

#[test]
fn options_of_the_runtime_reach_the_job() {
    let options = run("--rtos error-nonzero-status=0,donotlaunch,spawn-timeout=1:00:00 --report-state-on-timeout ./a")
        .spec
        .options;
    assert!(!options.error_nonzero_status && options.do_not_launch && options.report_state_on_timeout);
    assert_eq!(options.spawn_timeout, Some(Duration::from_secs(3600)));
    assert!(run("--do-not-launch ./a").spec.options.do_not_launch);
    assert!(run("--rtos donotspawn ./a").spec.options.ends_with_map());
    assert!(run("--enable-recovery ./a").spec.options.recoverable);
    assert!(run("--rtos fwd ./a").spec.options.fwd_environment);
    let with = run(
        "--launch-agent /x/prted --debug-daemons --leave-session-attached --report-pid - --forward-signals usr1,SIGUSR2,10 ./a",
    );
    assert_eq!(with.launch_agent.as_deref(), Some("/x/prted"));
    assert!(with.debug_daemons && with.leave_session_attached);
    assert_eq!(with.report_pid, Some(ReportTo::Stdout));
    assert_eq!(with.forward_signals, Some(vec![Signal(10), Signal(12)]));
}

#[test]
fn the_environment_can_limit_time_and_permit_root() {
    let env: Environment =
        [("MPIEXEC_TIMEOUT", "7"), ("PRTE_ALLOW_RUN_AS_ROOT", "1")].map(|(n, v)| (n.into(), v.into())).into();
    let one = run_in(&env, "./a");
    assert_eq!(one.spec.options.timeout, Some(Duration::from_secs(7)));
    assert!(!one.allow_root, "one of the two is not enough");
    assert_eq!(run_in(&env, "--timeout 9 ./a").spec.options.timeout, Some(Duration::from_secs(9)));
    let mut both = env;
    both.insert("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM".into(), "1".into());
    assert!(run_in(&both, "./a").allow_root);
    assert!(run("--allow-run-as-root ./a").allow_root);
    assert!(!run("--allow-run-as-root=0 ./a").allow_root);
}

fn params(all: &[(&str, &str)]) -> Params {
    let mut params = Params::default();
    all.iter().for_each(|(name, value)| params.set(name, value));
    params
}

#[test]
fn parameters_fill_what_the_line_leaves_open() {
    let defaults = params(&[
        ("mapby", "node:oversubscribe"),
        ("bindto", "none"),
        ("output", "tag"),
        ("display", "map"),
        ("rtos", "recoverable,timeout=5"),
        ("ess_base_forward_signals", "none"),
    ]);
    let mut open = run("./a");
    open.apply_defaults(&defaults).unwrap();
    assert_eq!(open.spec.map.by, Some(MapBy::Node));
    assert!(open.spec.output.tag && open.spec.display.map && open.spec.options.recoverable);
    assert_eq!(open.forward_signals, Some(vec![]));
    let mut said = run("--map-by core --bind-to core --output rank --rtos recoverable=0 --forward-signals usr1 ./a");
    said.apply_defaults(&defaults).unwrap();
    assert_eq!(said.spec.map.by, Some(MapBy::Object(ObjectKind::Core)));
    assert_eq!(said.spec.map.bind_to, Some(BindTo::Object(ObjectKind::Core)));
    assert!(!said.spec.output.tag && !said.spec.options.recoverable);
    assert_eq!(said.spec.options.timeout, Some(Duration::from_secs(5)));
    assert_eq!(said.forward_signals, Some(vec![Signal(10)]));
}

#[test]
fn policies_about_failures_come_from_the_line_then_from_rtos_then_from_their_parameters() {
    let policies = |line: &str, set: &[(&str, &str)]| {
        let mut run = run(line);
        let done = run.apply_defaults(&params(set));
        let o = run.spec.options;
        done.map(|()| [o.error_nonzero_status, o.recoverable, o.continuous, o.notify_errors])
    };
    let all = [
        ("state_base_error_non_zero_exit", "0"),
        ("state_base_recoverable", "1"),
        ("state_base_continuous", "yes"),
        ("state_base_notify_errors", "true"),
    ];
    assert_eq!(policies("./a", &[]), Ok([true, false, false, false]));
    assert_eq!(policies("./a", &all), Ok([false, true, true, true]));
    assert_eq!(policies("--rtos recoverable,notifyerrors ./a", &[]), Ok([true, true, false, true]));
    assert_eq!(policies("--continuous ./a", &[]), Ok([true, false, true, false]));
    assert_eq!(policies("--rtos error-nonzero-status,continuous=0 ./a", &all), Ok([true, true, false, true]));
    assert_eq!(policies("./a", &[("rtos", "recoverable=0"), all[1]]), Ok([true, false, false, false]));
    // A binding that is asked for must be possible; a default holds for the jobs where it is.
    assert!(policies("--rtos notifyerrors ./a", &[]).is_err());
    assert!(policies("./a", &[("rtos", "notifyerrors")]).is_err());
    assert!(policies("--rtos notifyerrors ./a", &[all[1]]).is_ok());
    assert!(policies("./a", &[all[3]]).is_ok());
}

mod any_line {
    use super::*;
    use proptest::prelude::*;

    /// Pieces of real lines, so that the parser is met in its depth and not only at its first token.
    const PIECES: &[&str] = &[
        "-n",
        "4",
        "-np",
        "--np=",
        "-N",
        "-1",
        ":",
        "--",
        "-",
        "./a",
        "--map-by",
        "ppr:2:node",
        "ppr:",
        "ppr::",
        ":",
        "core:PE=2",
        "--bind-to",
        "none",
        "--host",
        "n0:4,+e:2",
        "-x",
        "A*",
        "A=1",
        "--append-env",
        "P[:]",
        "[",
        "ü[é]",
        "--output",
        "tag,dir=d:copy",
        "=",
        "--rtos",
        "timeout=1:2",
        "--timeout",
        "99999999999",
        "--prtemca",
        "a",
        "--oversubscribe",
        "--bynode=0",
        "--help",
        "-V",
        "--dvm",
        "--unknown",
        "-xé",
        "-é",
        "--é=ü",
        "--display",
        "map:parseable",
        "--stdin",
        "all",
        "",
        "--mca",
        "--forward-signals",
        "usr1,99",
        "-n4",
        "--n4",
        "-host",
        "--default-hostfile",
        "none",
        "-p",
        "--personality",
        "ompi5",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn made_of_real_pieces_gets_an_answer(picks in prop::collection::vec(0..PIECES.len(), 0..12)) {
            let args: Vec<String> = picks.iter().map(|i| PIECES[*i].to_owned()).collect();
            check(&args);
        }

        #[test]
        fn made_of_anything_gets_an_answer(args in prop::collection::vec("-{0,2}\\PC{0,12}", 0..6)) {
            check(&args);
        }
    }

    /// An answer, and what is accepted has a program in every application.
    fn check(args: &[String]) {
        let Ok(Parsed::Run(run)) = parse(args, &Environment::new()) else { return };
        assert!(!run.spec.apps.is_empty());
        assert_eq!(run.spec.apps.len(), run.hosts.len());
        assert!(run.spec.apps.iter().all(|a| !a.argv[0].is_empty() && a.np != Some(0)));
    }
}

#[test]
fn a_grace_is_a_time_and_perhaps_a_signal() {
    let grace = |line: &str| run(line).spec.options.grace.map(|grace| (grace.time.0 / 1_000_000, grace.signal));
    assert_eq!(grace("./a"), None);
    assert_eq!(grace("--grace 1:30 ./a"), Some((90, None)));
    assert_eq!(grace("--grace 5 --grace-signal usr1 ./a"), Some((5, Some(Signal(10)))));
}
