//! Placement, from what is written to what the job asks for: the apps of each directive, and the files that it names.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use ferrite_cli::args::{Environment, Parsed, Run, parse};
use ferrite_cli::frame::framed;
use ferrite_cli::machine::Surroundings;
use ferrite_cli::setup::{Prepared, SetupError, prepare, prepare_client};
use ferrite_rm::Params;
use ferrite_rm::allocation::Source;
use ferrite_types::{
    BindTo, CpuKind, HostRef, MapBy, MapRequest, ObjectKind, PictureFormat, RankBy, SlotCount, StopPoint, TableTo,
};

fn parsed(line: &str) -> Result<Run, String> {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match parse(&args, &Environment::new()) {
        Ok(Parsed::Run(run)) => Ok(*run),
        other => Err(format!("{other:?}")),
    }
}

fn run(line: &str) -> Run {
    parsed(line).unwrap()
}

/// With these parameters.
fn defaulted(line: &str, params: &[(&str, &'static str)]) -> Result<Run, String> {
    let mut run = run(line);
    let mut set = Params::default();
    params.iter().for_each(|(name, value)| set.set(name, value));
    run.apply_defaults(&set).map(|()| run).map_err(|e| e.to_string())
}

const CORE: Option<MapBy> = Some(MapBy::Object(ObjectKind::Core));

#[test]
fn a_directive_at_the_first_program_alone_is_for_the_job() {
    let spec = run("--mapby core:pe=2 --rankby fill --bindto numa ./a : ./b").spec;
    assert_eq!((spec.map.by.clone(), spec.map.pes, spec.map.rank_by), (CORE, Some(2), Some(RankBy::Fill)));
    assert!(spec.apps.iter().all(|app| app.map.is_none()));
}

#[test]
fn otherwise_each_program_has_its_own_and_the_others_have_what_is_usual() {
    let spec = run("--map-by core --bind-to core ./a : --map-by node --rank-by fill ./b : ./c").spec;
    let own = |i: usize| spec.apps[i].map.clone();
    // Only the binding stands at the first one alone.
    let bound = MapRequest { bind_to: Some(BindTo::Object(ObjectKind::Core)), ..MapRequest::default() };
    assert_eq!(spec.map, bound);
    assert_eq!(own(0), Some(MapRequest { by: CORE, ..bound.clone() }));
    assert_eq!(own(1), Some(MapRequest { by: Some(MapBy::Node), rank_by: Some(RankBy::Fill), ..bound }));
    assert_eq!(own(2), None);
    let spec = run("-n 4 ./a : -N 2 ./b").spec;
    assert_eq!((spec.map.by, spec.apps[0].map.clone()), (None, None));
    assert_eq!(spec.apps[1].map.as_ref().unwrap().by, Some(MapBy::PerNode(2)));
}

#[test]
fn what_all_programs_say_is_for_the_job() {
    let spec = run("-N 2 ./a : -N 2 ./b").spec;
    assert_eq!((spec.map.by, spec.apps[1].map.clone()), (Some(MapBy::PerNode(2)), None));
}

#[test]
fn oversubscription_and_inheritance_belong_to_the_job_wherever_they_stand() {
    let spec = run("--map-by core ./a : --map-by :over:inherit ./b").spec;
    let job_wide = |map: &MapRequest| (map.oversubscribe, map.inherit);
    assert_eq!(job_wide(&spec.map), (Some(true), Some(true)));
    assert_eq!(job_wide(spec.apps[0].map.as_ref().unwrap()), (Some(true), Some(true)));
    // The directive of the second one has no policy, and so it has the usual one.
    assert_eq!((spec.map.by, spec.apps[1].map.clone()), (None, None));
    assert!(parsed("--map-by :over ./a : --map-by :noover ./b").is_err());
}

#[test]
fn nolocal_is_for_its_own_program() {
    let spec = run("--map-by slot:nolocal ./a : --map-by slot ./b").spec;
    let nolocal = |i: usize| spec.apps[i].map.as_ref().map(|map| map.nolocal);
    assert_eq!((nolocal(0), nolocal(1)), (Some(true), Some(false)));
}

#[test]
fn report_is_a_display_of_its_program_or_of_the_job() {
    let spec = run("./a : --bind-to :report ./b").spec;
    assert!(!spec.display.bind && spec.apps[1].map.is_none());
    assert_eq!(spec.display.bind_of, [1]);
    let reported = |line: &str| {
        let display = run(line).spec.display;
        (display.bind, display.bind_of)
    };
    assert_eq!(reported("--bind-to core:report ./a : ./b"), (true, vec![]), "alone at the first it holds for all");
    assert_eq!(reported("--bind-to core:report ./a : --bind-to core ./b"), (false, vec![0]));
    assert_eq!(reported("--bind-to core:report ./a : --bind-to core:report ./b"), (true, vec![]));
    assert_eq!(reported("--display bind ./a : --bind-to core:report ./b"), (true, vec![1]));
    let shown = defaulted("--bind-to core:report ./a", &[("display", "map")]).unwrap().spec.display;
    assert!(shown.bind && shown.map);
    let shown = defaulted("./a : --bind-to core:report ./b", &[("display", "map")]).unwrap().spec.display;
    assert_eq!((shown.bind, shown.bind_of, shown.map), (false, vec![1], true));
    assert!(defaulted("./a", &[("bindto", "core:report")]).unwrap_err().contains("no default"));
}

#[test]
fn deprecated_options_join_what_is_written_today() {
    let map = run("--map-by core --use-hwthread-cpus --cpus-per-proc 2 --nolocal ./a").spec.map;
    assert_eq!((map.by, map.cpus, map.pes, map.nolocal), (CORE, Some(CpuKind::HwThread), Some(2), true));
    let Some(MapBy::PeList(list)) = run("--cpu-set 0,3,5-6 --oversubscribe ./a").spec.map.by else { panic!("no list") };
    assert_eq!(list.cpus.to_string(), "0,3,5-6");
}

#[test]
fn qualifiers_of_parameters_are_carried_unless_the_line_says_otherwise() {
    let params =
        [("mapby", "package:span:hwtcpus"), ("bindto", "core:overload-allowed"), ("rmaps_default_inherit", "true")];
    let map = defaulted("--map-by slot:noinherit --bind-to numa ./a", &params).unwrap().spec.map;
    assert_eq!((map.by, map.span, map.cpus), (Some(MapBy::Slot), false, Some(CpuKind::HwThread)));
    assert_eq!((map.bind_to, map.overload), (Some(BindTo::Object(ObjectKind::Numa)), Some(true)));
    assert_eq!(map.inherit, Some(false));
    let map = defaulted("--map-by :corecpus --bind-to :no-overload ./a", &params).unwrap().spec.map;
    assert_eq!((map.by, map.span), (Some(MapBy::Object(ObjectKind::Package)), true));
    assert_eq!((map.cpus, map.overload, map.inherit), (Some(CpuKind::Core), Some(false), Some(true)));
    let threads = [("hwloc_base_use_hwthreads_as_cpus", "1")];
    assert_eq!(defaulted("./a", &threads).unwrap().spec.map.cpus, Some(CpuKind::HwThread));
    // A program with its own placement has the defaults as well.
    let spec = defaulted("./a : --rank-by slot ./b", &params).unwrap().spec;
    assert!(spec.map.span && spec.apps[1].map.as_ref().unwrap().span);
}

#[test]
fn display_takes_nodes_and_files() {
    let run = run("--display map-devel,topo=n1;n2,cpus:physical,map=0:svg=a.svg,html=/b.html ./a");
    let display = &run.spec.display;
    assert!(display.map_devel && display.physical && !display.map);
    assert_eq!(display.topo, Some(vec!["n1".to_owned(), "n2".to_owned()]));
    assert_eq!(display.cpus, Some(Vec::new()));
    assert_eq!(display.pictures, [PictureFormat::Svg, PictureFormat::Html]);
    assert_eq!(run.pictures, [(PictureFormat::Svg, "a.svg".into()), (PictureFormat::Html, "/b.html".into())]);
}

/// A directory of a user.
struct Place {
    dir: tempfile::TempDir,
    around: Surroundings,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let around = Surroundings {
            environment: Environment::new(),
            cwd: dir.path().to_owned(),
            exe: "/opt/bin/prterun".into(),
            root: false,
            hostname: "head".to_owned(),
        };
        Place { dir, around }
    }
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.dir.path().join(name), text).unwrap();
    }
    fn prepare(&self, line: &str) -> Result<Prepared, SetupError> {
        prepare(run(line), &self.around)
    }
    fn told(&self, line: &str) -> String {
        let error = self.prepare(line).expect_err(line);
        let shown = |text: String| text.replace(&*self.dir.path().to_string_lossy(), "/DIR");
        format!("$ prterun {line}\n{}", framed("prterun", &[&shown(error.to_string()), &shown(error.next_step())]))
    }
}

fn name(host: &HostRef) -> String {
    match host {
        HostRef::Host(host) => host.name.clone(),
        HostRef::Relative(at, _) => format!("+n{at}"),
        other => panic!("{other:?}"),
    }
}

fn sequence(by: Option<&MapBy>) -> Vec<String> {
    let Some(MapBy::Seq(lines)) = by else { panic!("{by:?}") };
    lines.iter().map(|line| name(&line.host)).collect()
}

#[test]
fn a_rankfile_says_where_and_how_many_and_is_the_allocation() {
    let place = Place::new();
    place.write("Ranks", "rank 1=n1 slot=0:1\nrank 0=n0\nrank 2=n1\n");
    let prepared = place.prepare("--map-by rankfile:FILE=Ranks ./a").unwrap();
    let Some(MapBy::RankFile(lines)) = &prepared.spec.map.by else { panic!("no rankfile") };
    assert_eq!(lines.iter().map(|line| name(&line.host)).collect::<Vec<_>>(), ["n0", "n1", "n1"]);
    assert_eq!(prepared.spec.apps[0].np, Some(3));
    let nodes: Vec<_> = prepared.allocation.nodes.iter().map(|n| (n.name.as_str(), n.slots)).collect();
    assert_eq!(nodes, [("n0", SlotCount::FromCores), ("n1", SlotCount::Given(2))]);
    assert_eq!(prepared.allocation.source, Source::Places(vec!["rankfile Ranks".to_owned()]));
    let filtered = place.prepare("-n 2 --host n0,n1,n2 --rankfile Ranks ./a").unwrap();
    assert_eq!((filtered.allocation.nodes.len(), filtered.spec.apps[0].np), (3, Some(2)));
}

#[test]
fn each_program_may_have_a_file_of_its_own() {
    let place = Place::new();
    place.write("one", "rank 0=n0\n");
    place.write("two", "n1 0-1\nn2\n");
    let spec = place.prepare("--map-by rankfile:file=one ./a : --map-by seq:file=two ./b : -n 5 ./c").unwrap().spec;
    let own = |i: usize| spec.apps[i].map.as_ref().and_then(|map| map.by.as_ref());
    assert_eq!(sequence(own(1)), ["n1", "n2"]);
    assert!(matches!(own(0), Some(MapBy::RankFile(lines)) if lines.len() == 1));
    assert_eq!(spec.apps.iter().map(|app| app.np).collect::<Vec<_>>(), [Some(1), Some(2), Some(5)]);
    assert_eq!(spec.map.by, None);
}

#[test]
fn a_sequence_without_a_file_goes_through_the_hosts_as_they_are_named() {
    let place = Place::new();
    place.write("hosts", "n0 slots=4\n^n2\nn2\nn1\nn0\n");
    let of = |line: &str| {
        let spec = prepare_client(run(line), &[], &place.around).unwrap().run.spec;
        (sequence(spec.map.by.as_ref()), spec.apps[0].np)
    };
    let named = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(of("--hostfile hosts --map-by seq ./a"), (named(&["n0", "n1", "n0"]), Some(3)));
    assert_eq!(of("--hostfile hosts --host n1:2,n0,n1 --map-by seq ./a"), (named(&["n1", "n0", "n1"]), Some(3)));
    assert_eq!(of("--host +n1 --map-by seq -n 1 ./a"), (named(&["+n1"]), Some(1)));
    assert_eq!(of("--map-by seq ./a"), (named(&[]), None));
    let apps =
        prepare_client(run("--map-by seq --host n0 ./a : --host n1,n2 ./b"), &[], &place.around).unwrap().run.spec.apps;
    assert_eq!(sequence(apps[1].map.as_ref().unwrap().by.as_ref()), ["n1", "n2"]);
}

#[test]
fn a_default_may_be_a_file_of_the_user_and_pictures_go_to_the_users_directory() {
    let place = Place::new();
    place.write("ranks", "rank 0=n0\n");
    let prepared = place.prepare("--prtemca mapby rankfile:file=ranks --display map:svg=m.svg ./a").unwrap();
    assert_eq!(prepared.spec.apps[0].np, Some(1));
    assert_eq!(prepared.pictures, [(PictureFormat::Svg, place.dir.path().join("m.svg"))]);
    assert_eq!(place.prepare("--prtemca mapby rankfile:file=ranks --map-by slot ./a").unwrap().spec.apps[0].np, None);
    assert!(Path::new(&prepared.cwd).is_absolute());
}

#[test]
fn each_obstacle_names_the_file_and_what_would_be_right() {
    let place = Place::new();
    place.write("holes", "rank 0=n0\nrank 2=n0\n");
    place.write("slots", "n0 slots=2\n");
    let told = [
        "--map-by rankfile:file=nothere ./a",
        "--map-by rankfile:file=. ./a",
        "--map-by rankfile:file=holes ./a",
        "--map-by seq:file=slots ./a",
        "--map-by seq --host +e ./a",
    ];
    insta::assert_snapshot!(told.map(|line| place.told(line)).join("\n"));
}

#[test]
fn a_default_may_let_the_processes_wait_for_a_debugger() {
    let stop =
        |line: &str, rtos: &'static str| defaulted(line, &[("rtos", rtos)]).unwrap().spec.stop.map(|stop| stop.at);
    assert_eq!(stop("./a", "stop-in-init"), Some(StopPoint::Init));
    assert_eq!(stop("--stop-on-exec ./a", "stop-in-init"), Some(StopPoint::Exec));
    assert_eq!(stop("--stop-on-exec ./a", "recoverable"), Some(StopPoint::Exec));
    assert_eq!(stop("./a", "recoverable"), None);
}

#[test]
fn the_table_of_processes_goes_where_the_option_says() {
    let table = |line: &str| defaulted(line, &[]).map(|run| (run.spec.display.processes, run.pictures));
    assert_eq!(table("./a"), Ok((None, Vec::new())));
    assert_eq!(table("--rtos output-proctable ./a"), Ok((Some(TableTo::Stdout), Vec::new())));
    assert_eq!(table("--output-proctable + ./a"), Ok((Some(TableTo::Stderr), Vec::new())));
    let file = vec![(PictureFormat::Processes, "procs".into())];
    assert_eq!(table("--rtos output-proctable=procs ./a"), Ok((Some(TableTo::File), file.clone())));
    let beside = defaulted("--rtos output-proctable=procs ./a", &[("display", "allocation")]).unwrap();
    assert_eq!((beside.spec.display.allocation, beside.pictures), (true, file));
    for no in ["donotlaunch", "donotspawn"] {
        let refused = table(&format!("--rtos output-proctable,{no} ./a")).unwrap_err();
        assert!(refused.contains("output-proctable") && refused.contains(no), "{refused}");
    }
}

#[test]
fn a_job_that_is_not_launched_shows_its_map_unless_it_is_to_show_something_else() {
    let shown = |line: &str| {
        let display = defaulted(line, &[]).unwrap().spec.display;
        (display.map, display.allocation)
    };
    assert_eq!(shown("--rtos donotlaunch ./a"), (true, false));
    assert_eq!(shown("--rtos donotlaunch --display allocation ./a"), (false, true));
    assert_eq!(shown("./a"), (false, false));
    assert_eq!(shown("--map-by :display ./a"), (true, false));
    assert!(defaulted("./a", &[("mapby", "slot:display")]).unwrap_err().contains("mapby"));
    assert!(defaulted("--map-by :display ./a", &[("display", "allocation")]).unwrap().spec.display.map);
}
