//! Parameters from files, the environment and the line: what is used, what is remarked upon, what is refused.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

use ferrite_cli::args::{Parsed, parse};
use ferrite_cli::machine::Surroundings;
use ferrite_cli::setup::{Prepared, prepare};
use ferrite_rm::params::KNOWN;
use ferrite_types::{BindTo, MapBy};

struct Place {
    dir: tempfile::TempDir,
    around: Surroundings,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["bin", "etc", "home/.prte", "home/.openmpi"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        let around = Surroundings {
            environment: [("HOME".to_owned(), at("home").display().to_string())].into(),
            cwd: dir.path().to_owned(),
            exe: at("bin/prterun"),
            root: false,
            hostname: "head".to_owned(),
        };
        Place { dir, around }
    }

    fn with(mut self, variables: &[(&str, &str)]) -> Place {
        self.around.environment.extend(variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
        self
    }

    fn file(self, name: &str, text: &str) -> Place {
        std::fs::write(self.dir.path().join(name), text).unwrap();
        self
    }

    fn prepare(&self, line: &[&str]) -> Result<Prepared, String> {
        let args: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        let Ok(Parsed::Run(run)) = parse(&args, &self.around.environment) else { panic!("{line:?}") };
        let shown = |text: String| text.replace(&*self.dir.path().to_string_lossy(), "/DIR");
        let prepared = prepare(*run, &self.around).map_err(|error| shown(error.to_string()))?;
        Ok(Prepared { warnings: prepared.warnings.into_iter().map(shown).collect(), ..prepared })
    }
}

#[test]
fn what_has_no_effect_is_remarked_upon_wherever_it_is_set() {
    let place = Place::new()
        .file("etc/prte-mca-params.conf", "prte_hetero_nodes = 1\nrml_base_radix = 4\n")
        .file("home/.prte/mca-params.conf", "\nrml_base_raddix = 4\n")
        .with(&[("PRTE_MCA_plm_ssh_delay", "1"), ("OMPI_MCA_plm_rsh_nothing", "1")]);
    let prepared = place.prepare(&["--prtemca", "prte_signal", "6", "./a"]).unwrap();
    insta::assert_snapshot!(prepared.warnings.join("\n"));
    let quiet = place.prepare(&["--prtemca", "ferrite_param_warnings", "no", "./a"]).unwrap();
    assert!(quiet.warnings.is_empty());
}

#[test]
fn a_name_of_the_line_must_exist_and_a_value_must_be_readable_wherever_it_is_set() {
    let refused = |place: Place, line: &[&str]| place.prepare(line).unwrap_err();
    let all = [
        refused(Place::new(), &["--prtemca", "rml_base_raddix", "4", "./a"]),
        refused(Place::new(), &["--prtemca", "btl_tcp_if_include", "eth0", "./a"]),
        refused(Place::new(), &["--prtemca", "routed_radix", "many", "./a"]),
        refused(Place::new().with(&[("PRTE_MCA_mapby", "nowhere")]), &["./a"]),
        refused(Place::new().with(&[("PRTE_MCA_rmaps_default_ranking_policy", "nowhere")]), &["./a"]),
        refused(Place::new().with(&[("PRTE_MCA_output", "nowhere")]), &["./a"]),
        refused(Place::new().with(&[("PRTE_MCA_ras", "nobody")]), &["./a"]),
        refused(Place::new().with(&[("PRTE_MCA_ess_base_forward_signals", "SIGNAL")]), &["./a"]),
        refused(Place::new().file("etc/prte-mca-params.conf", "prte_elastic_mode = perhaps\n"), &["./a"]),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn an_empty_value_is_unset() {
    let place = Place::new().with(&[("PRTE_MCA_mapby", "node"), ("PRTE_MCA_rankby", ""), ("PRTE_MCA_bindto", "")]);
    let prepared = place.prepare(&["--prtemca", "mapby", "", "--prtemca", "hwloc_use_topo_file", "", "./a"]).unwrap();
    assert_eq!((prepared.spec.map.by.clone(), prepared.warnings.len()), (None, 0));
}

#[test]
fn former_names_have_the_effect_of_todays() {
    let names = [
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ("PRTE_MCA_hwloc_default_binding_policy", "none"),
    ];
    let prepared = Place::new().with(&names).prepare(&["./a"]).unwrap();
    assert_eq!((prepared.spec.map.oversubscribe, prepared.spec.map.bind_to), (Some(true), Some(BindTo::None)));
    assert!(prepared.warnings.is_empty());
}

#[test]
fn open_mpis_parameters_hold_under_its_personality_and_those_of_the_runtime_come_first() {
    let place = || {
        Place::new()
            .file("home/.openmpi/mca-params.conf", "btl = tcp\nrmaps_base_mapping_policy = slot\n")
            .with(&[("OMPI_MCA_hwloc_base_binding_policy", "none"), ("OMPI_MCA_rmaps_base_oversubscribe", "1")])
    };
    let native = place().prepare(&["./a"]).unwrap();
    assert_eq!((native.spec.map.by.clone(), native.spec.map.oversubscribe), (None, None));
    let ompi = place().prepare(&["--personality", "ompi", "./a"]).unwrap();
    assert_eq!((ompi.spec.map.by.clone(), ompi.spec.map.oversubscribe), (Some(MapBy::Slot), Some(true)));
    assert_eq!(ompi.spec.map.bind_to, Some(BindTo::None));
    // Open MPI's mpirun sets these when it becomes prterun.
    let proxy = place().with(&[("PRTE_MCA_schizo_proxy", "ompi"), ("PRTE_MCA_mapby", "node")]);
    let proxy = proxy.prepare(&["./a"]).unwrap();
    assert_eq!((proxy.personality.as_str(), proxy.spec.map.by.clone()), ("ompi", Some(MapBy::Node)));
    assert!(proxy.warnings.is_empty(), "{:?}", proxy.warnings);
}

#[test]
fn the_number_of_daemons_is_limited_and_the_heads_node_is_one_of_them() {
    let of = |line: &[&str]| Place::new().prepare(line).unwrap().allocation.needed;
    assert_eq!(of(&["--host", "a,head,b", "./a"]), [0, 1, 2]);
    assert_eq!(of(&["--prtemca", "prte_max_vm_size", "2", "--host", "a,b,head", "./a"]), [0, 2]);
    assert_eq!(of(&["--prtemca", "prte_max_vm_size", "-1", "--host", "a,b", "./a"]), [0, 1]);
}

#[test]
fn this_host_is_known_by_its_name_without_a_prefix_and_by_a_name_that_has_its_address() {
    let here = |place: Place, line: &[&str]| place.prepare(line).unwrap().allocation.head;
    let cray = || {
        let mut place = Place::new();
        place.around.hostname = "nid00012.site".to_owned();
        place
    };
    assert_eq!(here(cray(), &["--host", "11,12", "./a"]), None);
    assert_eq!(here(cray(), &["--prtemca", "prte_strip_prefix", "x,nid", "--host", "11,12", "./a"]), Some(1));
    // A resolver reads every form of an address; a name is compared as it is written.
    assert_eq!(here(Place::new(), &["--host", "9,0x7f000001", "./a"]), None);
    let resolve = ["--prtemca", "prte_do_not_resolve", "0", "--host", "9,0x7f000001", "./a"];
    assert_eq!(here(Place::new(), &resolve), Some(1));
}

#[test]
fn parameters_of_the_environment_stay_at_the_head_when_they_are_not_to_be_passed_on() {
    let kept = |passed: &str| {
        let names = [("PRTE_MCA_plm_ssh_pass_environ_mca_params", passed), ("PRTE_MCA_rml_base_radix", "3")];
        let prepared = Place::new().with(&names).prepare(&["--prtemca", "ferrite_log", "info", "./a"]).unwrap();
        prepared.params.into_iter().find(|(name, _)| name == "ferrite_head_params").map(|(_, value)| value)
    };
    assert_eq!(kept("1"), None);
    assert_eq!(kept("0").as_deref(), Some("plm_ssh_pass_environ_mca_params,rml_base_radix"));
}

#[test]
fn networks_are_included_or_excluded_and_not_both() {
    let refused = |line: &[&str]| Place::new().prepare(line).unwrap_err();
    let both = ["--prtemca", "oob_tcp_if_include", "eth0", "--prtemca", "prte_if_exclude", "10.0.0.0/8", "./a"];
    let limits = ["--prtemca", "prte_set_max_sys_limits", "files:3", "./a"];
    let bad = ["--prtemca", "prte_if_include", "10.0.0.0/99", "./a"];
    insta::assert_snapshot!([refused(&both), refused(&limits), refused(&bad)].join("\n"));
}

/// Sources of the programs, without tests and without the tables of names.
fn sources(dir: &std::path::Path, into: &mut String) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            into.push_str(text.split("#[cfg(test)]").next().unwrap());
        }
    }
}

#[test]
fn every_parameter_of_the_table_has_a_reader() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut text = String::new();
    for name in ["cli", "core", "driver"] {
        sources(&crates.join(name).join("src"), &mut text);
    }
    for file in ["launcher.rs", "simulated.rs", "managers/selection.rs", "params.rs"] {
        let text_of = std::fs::read_to_string(crates.join("rm/src").join(file)).unwrap();
        text.push_str(text_of.split("#[cfg(test)]").next().unwrap());
    }
    let unread: Vec<_> = KNOWN.iter().map(|k| k.name).filter(|name| !text.contains(&format!("\"{name}\""))).collect();
    assert!(unread.is_empty(), "nothing reads {unread:?}: move it to the parameters that are not used");
}

/// (spec L94)
#[test]
fn what_a_parameter_names_is_there_or_the_message_says_which_parameter_and_where_it_is_set() {
    let refused = |place: Place, line: &[&str]| place.prepare(line).unwrap_err();
    let by_environment = |name: &str, value: &str| Place::new().with(&[(&format!("PRTE_MCA_{name}"), value)]);
    let by_file = |text: &str| Place::new().file("etc/prte-mca-params.conf", text);
    let all = [
        refused(by_environment("prte_tmpdir_base", "scratch"), &["./a"]),
        refused(by_environment("prte_tmpdir_base", "/no/such/place"), &["./a"]),
        refused(by_file("prte_tmpdir_local_base = /dev/null\n"), &["./a"]),
        refused(by_file("# site\nprte_default_hostfile = nowhere\n"), &["./a"]),
        refused(by_file("prte_default_hostfile = h\n").file("h", "n0 slots=x\n"), &["./a"]),
        refused(by_environment("prte_default_dash_host", "n0:x"), &["./a"]),
        refused(by_environment("hwloc_use_topo_file", "nowhere.xml"), &["./a"]),
        refused(by_environment("hwloc_use_topo_file", "t.xml").file("t.xml", "<x/>"), &["./a"]),
        refused(Place::new(), &["--prtemca", "prte_strip_prefix", ",", "./a"]),
        refused(Place::new(), &["--prtemca", "prte_strip_prefix", "a b", "./a"]),
        refused(Place::new(), &["--prtemca", "prte_if_exclude", "10.1.2.3", "./a"]),
    ];
    insta::assert_snapshot!(all.join("\n"));
    // An option has its own message.
    let option = by_file("prte_default_hostfile = nowhere\n");
    let told = refused(option, &["--default-hostfile", "elsewhere", "./a"]);
    assert!(told.contains("elsewhere") && !told.contains("parameter"), "{told}");
}

/// (spec L94)
#[test]
fn a_network_that_this_host_does_not_have_is_remarked_upon_and_one_must_be_left() {
    let remarks = |name: &str, list: &str| {
        let prepared = Place::new().prepare(&["--prtemca", name, list, "./a"])?;
        Ok::<_, String>(prepared.warnings.into_iter().map(|text| text.split("; it has").next().unwrap().to_owned()))
    };
    let told: Vec<String> = remarks("prte_if_include", "lo,nosuch0").unwrap().collect();
    assert_eq!(told, ["parameter prte_if_include (--prtemca prte_if_include): this host has no network nosuch0"]);
    let told: Vec<String> = remarks("prte_if_exclude", "nosuch0,203.0.113.0/24").unwrap().collect();
    let wanted =
        "parameter prte_if_exclude (--prtemca prte_if_exclude): this host has no network nosuch0, 203.0.113.0/24";
    assert_eq!(told, [wanted]);
    assert_eq!(remarks("prte_if_include", "lo,127.0.0.0/8").unwrap().count(), 0);
    for (name, list) in [("prte_if_include", "nosuch0"), ("prte_if_exclude", "0.0.0.0/0,::/0")] {
        let Err(refused) = remarks(name, list) else { panic!("{list} is taken") };
        assert!(refused.starts_with(&format!("parameter {name} has the value {list:?} (--prtemca")), "{refused}");
        assert!(refused.contains("lo 127.0.0.1"), "{refused}");
    }
    let quiet = ["--prtemca", "prte_if_include", "lo,nosuch0", "--prtemca", "ferrite_param_warnings", "0", "./a"];
    assert!(Place::new().prepare(&quiet).unwrap().warnings.is_empty());
}

#[test]
fn daemons_are_told_where_parameters_come_from() {
    let place = Place::new().with(&[("PRTE_MCA_odls_base_exec_agent", "env")]);
    let prepared = place.prepare(&["--prtemca", "rml_base_radix", "3", "./a"]).unwrap();
    let told = prepared.params.into_iter().find(|(name, _)| name == "ferrite_origins").map(|(_, value)| value);
    assert_eq!(told.as_deref(), Some("odls_base_exec_agent=environment variable PRTE_MCA_odls_base_exec_agent"));
}

/// Parameters that the tests of options and of daemons do not set.
#[test]
fn parameters_have_the_effect_of_their_options() {
    let of = |name: &str, value: &str, line: &[&str]| {
        let words: Vec<&str> = ["--prtemca", name, value].into_iter().chain(line.iter().copied()).collect();
        Place::new().prepare(&words).unwrap()
    };
    let names = |prepared: &Prepared| {
        let names = prepared.allocation.nodes.iter().map(|node| node.name.clone());
        names.collect::<Vec<_>>().join(",")
    };
    let hosts = |line: &[&str]| names(&of("prte_default_dash_host", "n1:2,n2", line));
    assert_eq!((hosts(&["./a"]).as_str(), hosts(&["--host", "n7", "./a"]).as_str()), ("n1,n2", "n7"));
    let twice = ["--host", "n1.a.org,n1", "./a"];
    let nodes = |keep: &str| of("prte_keep_fqdn_hostnames", keep, &twice).allocation.nodes.len();
    assert_eq!((nodes("0"), nodes("1")), (1, 2));
    let map_alone = ["--prtemca", "ras_simulator_num_nodes", "2", "--rtos", "donotlaunch", "./a"];
    let most: Vec<_> = of("ras_simulator_max_slots", "3", &map_alone).allocation.nodes;
    assert!(most.iter().all(|node| node.max_slots == Some(3)), "{most:?}");
    let shown = |level: &str| {
        let display = of("rmaps_base_verbose", level, &["./a"]).spec.display;
        (display.map, display.map_devel)
    };
    assert_eq!([shown("0"), shown("1"), shown("5")], [(false, false), (true, false), (true, true)]);
    assert!(of("display", "allocation,bind", &["./a"]).spec.display.allocation);
    assert!(of("output", "tag", &["./a"]).spec.output != of("output", "", &["./a"]).spec.output);
    assert_eq!(of("state_base_max_restarts", "3", &["./a"]).spec.options.max_restarts, 3);
    let restarts = |yes: &str| of("state_base_autorestart", yes, &["./a"]).spec.options.max_restarts;
    assert!(restarts("1") > 0 && restarts("0") == 0);
    let by_line = |words: &str| of("rtos", "", &["--rtos", words, "./a"]).spec.options.max_restarts;
    assert_eq!([by_line("autorestart"), by_line("autorestart,max-restarts=7"), by_line("autorestart=0")], [3, 7, 0]);
    assert_eq!(of("personality", "ompi5", &["./a"]).personality, "ompi5");
    assert!(of("prte_fwd_environment", "1", &["./a"]).spec.options.fwd_environment);
    assert_eq!(of("rtos", "max-restarts=2", &["./a"]).spec.options.max_restarts, 2);
}

/// The parameter of the file of libpmix, as the daemons get it.
fn libpmix(prepared: &Prepared) -> Option<&str> {
    prepared.params.iter().find(|(name, _)| name == "ferrite_libpmix").map(|(_, file)| &**file)
}

/// A library that is older than that of the processes fails them (spec L132).
#[test]
fn daemons_load_the_libpmix_of_the_open_mpi_whose_mpirun_runs_us_unless_another_is_named() {
    let place = Place::new();
    let libraries = place.dir.path().join("lib");
    let own = libraries.join("openmpi/libpmix.so.2");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    let lib = libraries.to_str().unwrap();
    let place = place.with(&[("OMPI_TOOL_NAME", "mpirun"), ("OMPI_LIBDIR_LOC", lib)]);
    assert_eq!(libpmix(&place.prepare(&["./a"]).unwrap()), None, "it has none");
    std::fs::write(&own, "").unwrap();
    assert_eq!(libpmix(&place.prepare(&["./a"]).unwrap()), own.to_str());
    let named = place.prepare(&["--prtemca", "ferrite_libpmix", "/x.so", "./a"]).unwrap();
    assert_eq!(libpmix(&named), Some("/x.so"));
    let place = place.with(&[("FERRITE_LIBPMIX", "/y.so")]);
    assert_eq!(libpmix(&place.prepare(&["./a"]).unwrap()), None, "the variable names another");
}

#[test]
fn the_file_of_libpmix_is_named_by_its_full_path() {
    let refused = Place::new().prepare(&["--prtemca", "ferrite_libpmix", "x.so", "./a"]).unwrap_err();
    assert_eq!(refused, "parameter ferrite_libpmix (--prtemca ferrite_libpmix): x.so is no full path");
}
