use super::*;

struct Plain;

impl Compress for Plain {
    fn nodes(&self, list: &str) -> Value {
        list.into()
    }
    fn ranks(&self, list: &str) -> Value {
        list.into()
    }
}

fn two_nodes() -> JobInfo {
    JobInfo {
        nspace: "f@1".into(),
        size: 5,
        nodes: vec![
            NodeInfo { hostname: "n0".into(), node_id: 0, ranks: vec![0..=2] },
            NodeInfo { hostname: "n1".into(), node_id: 1, ranks: vec![3..=3, 4..=4] },
        ],
        local_node: Some(1),
        local: vec![LocalProc { rank: 3, ..LocalProc::default() }, LocalProc { rank: 4, ..LocalProc::default() }],
        ..JobInfo::default()
    }
}

fn find<'a>(infos: &'a [Info], key: &std::ffi::CStr) -> &'a Value {
    &infos.iter().find(|info| info.is(key)).expect("the key is there").value
}

#[test]
fn the_maps_name_every_node_and_rank() {
    let infos = describe(&two_nodes(), &Plain);
    assert_eq!(find(&infos, sys::PMIX_NODE_MAP), &Value::from("n0,n1"));
    assert_eq!(find(&infos, sys::PMIX_PROC_MAP), &Value::from("0,1,2;3,4"));
    assert_eq!(find(&infos, sys::PMIX_NUM_NODES), &Value::from(2u32));
}

fn node_arrays(infos: &[Info]) -> Vec<&Value> {
    infos.iter().filter(|i| i.is(sys::PMIX_NODE_INFO_ARRAY)).map(|i| &i.value).collect()
}

#[test]
fn every_node_of_a_small_job_is_described_with_its_name_first() {
    let infos = describe(&two_nodes(), &Plain);
    let [_, Value::Infos(second)] = node_arrays(&infos)[..] else { panic!("two arrays") };
    assert!(second[0].is(sys::PMIX_HOSTNAME), "the library reads the name first");
    assert_eq!(find(second, sys::PMIX_LOCAL_PEERS), &Value::from("3,4"));
    assert_eq!(find(second, sys::PMIX_LOCALLDR), &Value::Rank(3));
}

fn described_ranks(infos: &[Info]) -> Vec<u32> {
    let procs = infos.iter().filter(|info| info.is(sys::PMIX_PROC_DATA));
    let rank = |info: &Info| match &info.value {
        Value::Infos(proc) if matches!(proc[0].value, Value::Rank(_)) => {
            proc[0].value.as_i64().expect("a number") as u32
        }
        _ => panic!("an array that begins with the rank"),
    };
    procs.map(rank).collect()
}

#[test]
fn every_process_of_a_small_job_is_described_once() {
    assert_eq!(described_ranks(&describe(&two_nodes(), &Plain)), [3, 4, 0, 1, 2]);
}

#[test]
fn of_a_huge_job_only_what_is_here_is_described() {
    let job = JobInfo { size: DETAILS_UP_TO + 1, ..two_nodes() };
    let infos = describe(&job, &Plain);
    assert_eq!(described_ranks(&infos), [3, 4]);
    assert_eq!(node_arrays(&infos).len(), 1);
}

/// A program that is a process set has its name and its members.
#[test]
fn the_members_of_a_programs_set_are_told_with_the_program() {
    let set = AppInfo { number: 1, leader: 3, size: 2, set: Some("land".into()), ..AppInfo::default() };
    let job = JobInfo { apps: vec![AppInfo { size: 3, ..AppInfo::default() }, set], ..two_nodes() };
    let infos = describe(&job, &Plain);
    let apps: Vec<&Value> = infos.iter().filter(|i| i.is(sys::PMIX_APP_INFO_ARRAY)).map(|i| &i.value).collect();
    let [Value::Infos(first), Value::Infos(second)] = apps[..] else { panic!("two arrays") };
    assert!(!first.iter().any(|info| info.is(sys::PMIX_PSET_MEMBERS)));
    assert_eq!(find(second, sys::PMIX_PSET_NAME), &Value::from("land"));
    let members = Value::Procs(vec![Proc::new("f@1", 3), Proc::new("f@1", 4)]);
    assert_eq!(find(second, sys::PMIX_PSET_MEMBERS), &members);
}

#[test]
fn the_application_of_a_remote_process_follows_from_its_rank() {
    let app = |number, leader, size| AppInfo { number, leader, size, ..AppInfo::default() };
    let job = JobInfo { apps: vec![app(0, 0, 2), app(1, 2, 3)], ..two_nodes() };
    let remote: Vec<_> = remote_arrays(&job, &job.nodes[0]).collect();
    let Value::Infos(third) = &remote[2].value else { panic!("an array") };
    assert_eq!(find(third, sys::PMIX_APPNUM), &Value::from(1u32));
    assert_eq!(find(third, sys::PMIX_APP_RANK), &Value::Rank(0));
}

#[test]
fn sharing_cores_is_said_only_when_it_is_so() {
    let said = |job: &JobInfo| describe(job, &Plain).iter().any(|i| i.is(sys::PMIX_NODE_OVERSUBSCRIBED));
    assert!(!said(&two_nodes()));
    assert!(said(&JobInfo { oversubscribed: true, ..two_nodes() }));
}

#[test]
fn the_parent_of_a_spawned_job_is_known_to_the_job_and_to_each_process() {
    let parent = Proc::new("f@0", 2);
    let infos = describe(&JobInfo { parent: Some(parent.clone()), ..two_nodes() }, &Plain);
    assert_eq!(find(&infos, sys::PMIX_PARENT_ID), &Value::Proc(parent.clone()));
    let proc = infos.iter().find(|info| info.is(sys::PMIX_PROC_DATA)).expect("a process");
    let Value::Infos(proc) = &proc.value else { panic!("an array") };
    assert_eq!(find(proc, sys::PMIX_PARENT_ID), &Value::Proc(parent));
}

#[test]
fn a_node_without_processes_describes_none() {
    let job = JobInfo { local_node: None, local: Vec::new(), size: DETAILS_UP_TO + 1, ..two_nodes() };
    let infos = describe(&job, &Plain);
    assert!(!infos.iter().any(|i| i.is(sys::PMIX_NODE_INFO_ARRAY) || i.is(sys::PMIX_PROC_DATA)));
}

#[test]
fn a_bound_process_is_described_to_its_neighbours_and_elsewhere() {
    let remote = RemoteProc { node_rank: 5, cpuset: Some("hwloc:2".into()) };
    let mut job = JobInfo { remote: [(1, remote)].into(), ..two_nodes() };
    job.local[0].cpuset = Some("hwloc:0".into());
    job.local[0].locality = Some("SK0:CR0".into());
    let infos = describe(&job, &Plain);
    let proc = |rank: u32| {
        let of = |info: &&Info| {
            info.is(sys::PMIX_PROC_DATA)
                && matches!(&info.value, Value::Infos(own) if own[0].value == Value::Rank(rank))
        };
        let Value::Infos(own) = &infos.iter().find(of).expect("it is described").value else { panic!("an array") };
        own
    };
    assert_eq!(find(proc(3), sys::PMIX_CPUSET), &Value::from("hwloc:0"));
    assert_eq!(find(proc(3), sys::PMIX_LOCALITY_STRING), &Value::from("SK0:CR0"));
    assert_eq!(find(proc(1), sys::PMIX_CPUSET), &Value::from("hwloc:2"));
    assert_eq!(find(proc(1), sys::PMIX_NODE_RANK), &Value::from(5u16));
    assert_eq!(find(proc(1), sys::PMIX_REINCARNATION), &Value::from(0u32));
    assert!(proc(1).iter().all(|info| !info.is(sys::PMIX_LOCALITY_STRING)), "localities are about one machine");
}

#[test]
fn a_node_is_known_by_its_short_name_too_and_this_one_by_its_memory() {
    let mut job = JobInfo { memory: Some(1 << 40), ..two_nodes() };
    job.nodes[1].hostname = "n1.cluster".into();
    let infos = describe(&job, &Plain);
    let [Value::Infos(first), Value::Infos(second)] = node_arrays(&infos)[..] else { panic!("two arrays") };
    assert_eq!(find(second, sys::PMIX_HOSTNAME_ALIASES), &Value::from("n1"));
    assert_eq!(find(second, sys::PMIX_AVAIL_PHYS_MEMORY), &Value::from(1u64 << 40));
    let has = |key| first.iter().any(|info| info.is(key));
    assert!(!has(sys::PMIX_HOSTNAME_ALIASES) && !has(sys::PMIX_AVAIL_PHYS_MEMORY));
    assert_eq!((alias("10.0.0.1"), alias("n0"), alias(".x")), (None, None, None));
}

#[test]
fn processes_are_told_the_topology_of_their_node_once_it_is_known() {
    let told = |job: &JobInfo| {
        let infos = describe(job, &Plain);
        infos.into_iter().find(|info| info.is(sys::PMIX_HWLOC_XML_V2)).map(|info| info.value)
    };
    assert_eq!(told(&two_nodes()), None);
    let job = JobInfo { topology: Some("<topology/>".to_owned()), ..two_nodes() };
    assert_eq!(told(&job), Some(Value::from("<topology/>")));
}
