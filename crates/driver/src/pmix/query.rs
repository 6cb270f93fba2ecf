//! Queries (`PMIx_Query_info`): which subjects the head is to be asked about, and the answers for each key from its
//! facts. Pure but for the memory of processes, which a function of the caller reads.
//!
//! libpmix 4.2 does not say who asks: a question about a job has to name the job.

use std::collections::BTreeSet;
use std::ffi::CStr;

use ferrite_pmix::{Info, Proc, ProcInfo, Question, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::{JobId, JobState, ProcState};
use ferrite_wire::control::{CampaignStatus, JobDetail, JobStatus, NodeStatus, ProcStatus, SessionStatus};
use ferrite_wire::{Fact, ProcessSet, Subject};

use super::spawn;

/// The node on which the questions are asked.
pub(super) struct Place<'a> {
    /// The name of the DVM.
    pub(super) dvm: &'a str,
    /// The name of the node.
    pub(super) hostname: &'a str,
    /// The address by which tools find the server of this node, where they are admitted.
    pub(super) uri: Option<String>,
    /// Reads the memory that a process of this node uses, in bytes; 0 stands for the daemon itself.
    pub(super) memory: &'a dyn Fn(u32) -> Option<u64>,
}

/// The qualifiers of one question.
#[derive(Default)]
struct Wish<'a> {
    nspace: Option<&'a str>,
    rank: Option<u32>,
    hostname: Option<&'a str>,
    set: Option<&'a str>,
    group: Option<&'a str>,
    alloc: Option<&'a str>,
    alloc_ref: Option<&'a str>,
    session: Option<u32>,
    local: bool,
    /// True when the smallest and the largest value are wanted, for which PMIx has no keys.
    extremes: bool,
    /// True when a qualifier that counts cannot be honoured.
    is_odd: bool,
}

/// Qualifiers that are about the way of the answer only.
const OF_THE_WAY: [&CStr; 3] = [sys::PMIX_QUERY_REFRESH_CACHE, sys::PMIX_TIMEOUT, sys::PMIX_RANGE];

impl<'a> Wish<'a> {
    fn of(question: &'a Question) -> Wish<'a> {
        let mut wish = Wish::default();
        for info in &question.qualifiers {
            let text = info.value.as_str();
            let number = info.value.as_i64().and_then(|number| u32::try_from(number).ok());
            if info.is(sys::PMIX_NSPACE) {
                wish.nspace = text;
                wish.is_odd |= text.is_none();
            } else if info.is(sys::PMIX_RANK) {
                // As a signed number the wildcard is -2.
                let signed = || info.value.as_i64().and_then(|number| i32::try_from(number).ok());
                let number = number.or_else(|| signed().map(i32::cast_unsigned));
                wish.rank = number.filter(|rank| *rank != Proc::WILDCARD);
                wish.is_odd |= number.is_none();
            } else if info.is(sys::PMIX_PROCID) {
                match &info.value {
                    Value::Proc(proc) => {
                        wish.nspace = Some(&proc.nspace);
                        wish.rank = Some(proc.rank).filter(|rank| *rank != Proc::WILDCARD);
                    }
                    _ => wish.is_odd = true,
                }
            } else if info.is(sys::PMIX_HOSTNAME) {
                wish.hostname = text;
                wish.is_odd |= text.is_none();
            } else if info.is(sys::PMIX_PSET_NAME) {
                wish.set = text;
            } else if info.is(sys::PMIX_GROUP_ID) {
                wish.group = text;
            } else if info.is(sys::PMIX_ALLOC_ID) {
                wish.alloc = text;
            } else if info.is(sys::PMIX_ALLOC_REQ_ID) {
                wish.alloc_ref = text;
            } else if info.is(sys::PMIX_SESSION_ID) {
                wish.session = number;
                wish.is_odd |= number.is_none();
            } else if info.is(sys::PMIX_QUERY_LOCAL_ONLY) {
                wish.local = info.value != Value::Bool(false);
            } else if info.is(sys::PMIX_QUERY_REPORT_MINMAX) {
                wish.extremes = info.value != Value::Bool(false);
                wish.is_odd |= wish.extremes && question.required.contains(&info.key);
            } else if !OF_THE_WAY.iter().any(|key| info.is(key)) && question.required.contains(&info.key) {
                wish.is_odd = true;
            }
        }
        wish
    }

    fn job(&self, dvm: &str) -> Option<JobId> {
        let number = self.nspace?.strip_prefix(dvm)?.strip_prefix('@')?;
        number.parse().ok().filter(|number| *number > 0).map(JobId)
    }
}

/// The facts that a key needs.
#[derive(Clone, Copy, PartialEq)]
enum Need {
    /// None: the key is answered from what this daemon knows.
    Nothing,
    Nodes,
    Jobs,
    /// The job of the namespace that the question names.
    Job,
    /// That job, and the sessions.
    JobAndSessions,
    Sessions,
    Sets,
    Groups,
}

/// A reader of one key's value from the facts; an error is the reason why it has none.
type Read = fn(&Place<'_>, &Wish<'_>, &Facts<'_>) -> Result<Value, Status>;

/// The keys that are answered. `JOB_KEYS` of a process count with a rank only.
const KEYS: &[(&CStr, Need, Read)] = &[
    (sys::PMIX_QUERY_SUPPORTED_KEYS, Need::Nothing, |_, _, _| Ok(list(KEYS.iter().map(|(key, ..)| *key)))),
    (sys::PMIX_QUERY_SPAWN_SUPPORT, Need::Nothing, |_, _, _| Ok(list(spawn::supported()))),
    (sys::PMIX_QUERY_DEBUG_SUPPORT, Need::Nothing, |_, _, _| Ok(list(spawn::for_debuggers()))),
    (sys::PMIX_SERVER_URI, Need::Nothing, |place, wish, _| server_uri(place, wish)),
    (sys::PMIX_QUERY_NAMESPACES, Need::Jobs, |place, _, facts| namespaces(place, facts)),
    (sys::PMIX_QUERY_NAMESPACE_INFO, Need::Jobs, namespace_info),
    (sys::PMIX_QUERY_JOB_STATUS, Need::Job, |_, _, facts| Ok(Value::Status(job_status(facts.job()?)))),
    (sys::PMIX_QUERY_PROC_TABLE, Need::Job, |place, wish, facts| proc_table(place, wish, facts, wish.local)),
    (sys::PMIX_QUERY_LOCAL_PROC_TABLE, Need::Job, |place, wish, facts| proc_table(place, wish, facts, true)),
    (sys::PMIX_QUERY_RESOLVE_NODE, Need::Job, |_, _, facts| nodes_of(&facts.job()?.procs)),
    (sys::PMIX_QUERY_RESOLVE_PEERS, Need::Job, |place, wish, facts| {
        let job = facts.job()?;
        peers_of(&job.nspace, &job.procs, wish.hostname.unwrap_or(place.hostname))
    }),
    (sys::PMIX_QUERY_MEMORY_USAGE, Need::Job, memory_usage),
    (sys::PMIX_QUERY_ALLOC_STATUS, Need::Sessions, |_, wish, facts| alloc_status(wish, facts)),
    (sys::PMIX_TIME_REMAINING, Need::JobAndSessions, |_, wish, facts| time_remaining(wish, facts)),
    (sys::PMIX_QUERY_NUM_PSETS, Need::Sets, |_, _, facts| Ok(Value::Size(facts.sets()?.len() as u64))),
    (sys::PMIX_QUERY_PSET_NAMES, Need::Sets, |_, _, facts| Ok(join(facts.sets()?.iter().map(|set| set.name.clone())))),
    (sys::PMIX_QUERY_PSET_MEMBERSHIP, Need::Sets, |place, wish, facts| set_members(place, wish.set, facts.sets()?)),
    (sys::PMIX_QUERY_NUM_GROUPS, Need::Groups, |_, _, facts| Ok(Value::Size(facts.groups()?.len() as u64))),
    (sys::PMIX_QUERY_GROUP_NAMES, Need::Groups, |_, _, facts| {
        Ok(join(facts.groups()?.iter().map(|group| group.name.clone())))
    }),
    (sys::PMIX_QUERY_GROUP_MEMBERSHIP, Need::Groups, |place, wish, facts| {
        set_members(place, wish.group, facts.groups()?)
    }),
    (sys::PMIX_QUERY_AVAILABLE_SLOTS, Need::Nodes, |_, wish, facts| {
        let (slots, in_use) = slots(facts, wish)?;
        Ok(Value::U32(slots.saturating_sub(in_use)))
    }),
    (sys::PMIX_NUM_SLOTS, Need::Nodes, |_, wish, facts| Ok(Value::U32(slots(facts, wish)?.0))),
    (sys::PMIX_NUM_ALLOCATED_NODES, Need::Nodes, |_, wish, facts| Ok(Value::U32(up(facts, wish)?.count() as u32))),
    (sys::PMIX_ALLOCATED_NODELIST, Need::Nodes, |_, wish, facts| {
        Ok(join(up(facts, wish)?.map(|node| node.name.clone())))
    }),
    (sys::PMIX_UNIV_SIZE, Need::Nodes, |_, wish, facts| Ok(Value::U32(slots(facts, wish)?.0))),
    (sys::PMIX_JOB_SIZE, Need::Job, |_, _, facts| Ok(Value::U32(facts.job()?.status.procs))),
    (sys::PMIX_JOB_NUM_APPS, Need::Job, |_, _, facts| Ok(Value::U32(facts.job()?.record.apps.len() as u32))),
    (sys::PMIX_NUM_NODES, Need::Job, |_, _, facts| Ok(Value::U32(facts.job()?.status.nodes))),
    (sys::PMIX_JOBID, Need::Job, |_, _, facts| Ok(Value::String(facts.job()?.nspace.clone()))),
    (sys::PMIX_SESSION_ID, Need::Job, |_, _, facts| Ok(Value::U32(facts.job()?.record.session.0))),
    (sys::PMIX_PARENT_ID, Need::Job, |place, _, facts| {
        let parent = facts.job()?.record.parent.ok_or(Status::NOT_FOUND)?;
        Ok(Value::Proc(Proc::new(parent.job.nspace(place.dvm), parent.rank.0)))
    }),
    (sys::PMIX_HOSTNAME, Need::Job, |_, wish, facts| Ok(Value::String(proc(wish, facts)?.node.clone()))),
    (sys::PMIX_APPNUM, Need::Job, |_, wish, facts| Ok(Value::U32(proc(wish, facts)?.app.into()))),
    (sys::PMIX_PROC_STATE_STATUS, Need::Job, |_, wish, facts| {
        Ok(Value::Plain(sys::PMIX_PROC_STATE as u16, proc_state(proc(wish, facts)?.state).into(), 0))
    }),
    (sys::PMIX_PROC_PID, Need::Job, |_, wish, facts| {
        let pid = proc(wish, facts)?.pid.and_then(|pid| i32::try_from(pid).ok());
        pid.map(Value::Pid).ok_or(Status::NOT_FOUND)
    }),
];

fn find(key: &str) -> Option<&'static (&'static CStr, Need, Read)> {
    KEYS.iter().find(|(known, ..)| known.to_bytes() == key.as_bytes())
}

/// Returns the subjects about which the head has to be asked; without any, all answers are known here.
pub(super) fn subjects(questions: &[Question], dvm: &str) -> Vec<Subject> {
    let mut subjects = BTreeSet::new();
    for question in questions {
        let wish = Wish::of(question);
        let job = wish.job(dvm).map(Subject::Job);
        for (_, need, _) in question.keys.iter().filter_map(|key| find(key)) {
            match need {
                Need::Nothing => {}
                Need::Nodes => {
                    let of_session = wish.session.map(|_| Subject::Sessions);
                    subjects.extend([Subject::Nodes].into_iter().chain(of_session));
                }
                Need::Jobs => subjects.extend([Subject::Jobs]),
                Need::Job => subjects.extend(job),
                Need::JobAndSessions => subjects.extend(job.into_iter().chain([Subject::Sessions])),
                Need::Sessions => subjects.extend([Subject::Sessions, Subject::Campaigns]),
                Need::Sets => subjects.extend([Subject::Sets]),
                Need::Groups => subjects.extend([Subject::Groups]),
            }
        }
    }
    subjects.into_iter().collect()
}

/// Answers questions. A key without an answer is left out; the status says so.
///
/// # Errors
/// When no key has an answer: the reason of the first.
pub(super) fn answers(
    place: &Place<'_>,
    questions: &[Question],
    subjects: &[Subject],
    facts: &[Fact],
) -> Result<Vec<Info>, Status> {
    let mut infos = Vec::new();
    let mut missing = None;
    for question in questions {
        let wish = Wish::of(question);
        let facts = Facts { job: wish.job(place.dvm), subjects, facts };
        for key in &question.keys {
            let value = match find(key) {
                _ if wish.is_odd => Err(Status::NOT_SUPPORTED),
                None => Err(Status::NOT_SUPPORTED),
                Some((_, Need::Job, _)) if wish.nspace.is_none() => Err(Status::BAD_PARAM),
                Some((_, _, read)) => read(place, &wish, &facts),
            };
            match value {
                Ok(value) => infos.push(Info { key: key.clone(), value }),
                Err(status) => missing = missing.or(Some(status)),
            }
        }
    }
    match missing {
        Some(status) if infos.is_empty() => Err(status),
        _ => Ok(infos),
    }
}

/// The head's facts, as one question sees them.
struct Facts<'a> {
    job: Option<JobId>,
    subjects: &'a [Subject],
    facts: &'a [Fact],
}

impl<'a> Facts<'a> {
    fn about(&self, subject: Subject) -> Option<&'a Fact> {
        let at = self.subjects.iter().position(|asked| *asked == subject)?;
        self.facts.get(at)
    }

    fn campaigns(&self) -> Result<&'a [CampaignStatus], Status> {
        match self.about(Subject::Campaigns) {
            Some(Fact::Campaigns(campaigns)) => Ok(campaigns),
            _ => Err(Status::NOT_FOUND),
        }
    }

    fn nodes(&self) -> Result<&'a [NodeStatus], Status> {
        match self.about(Subject::Nodes) {
            Some(Fact::Nodes(nodes)) => Ok(nodes),
            _ => Err(Status::NOT_FOUND),
        }
    }

    fn jobs(&self) -> Result<&'a [JobStatus], Status> {
        match self.about(Subject::Jobs) {
            Some(Fact::Jobs(jobs)) => Ok(jobs),
            _ => Err(Status::NOT_FOUND),
        }
    }

    fn job(&self) -> Result<&'a JobDetail, Status> {
        match self.job.and_then(|job| self.about(Subject::Job(job))) {
            Some(Fact::Job(Some(detail))) => Ok(detail),
            _ => Err(Status::NOT_FOUND),
        }
    }

    fn sessions(&self) -> Result<&'a [SessionStatus], Status> {
        match self.about(Subject::Sessions) {
            Some(Fact::Sessions(sessions)) => Ok(sessions),
            _ => Err(Status::NOT_FOUND),
        }
    }

    fn sets(&self) -> Result<&'a [ProcessSet], Status> {
        match self.about(Subject::Sets) {
            Some(Fact::Sets(sets)) => Ok(sets),
            _ => Err(Status::NOT_FOUND),
        }
    }

    fn groups(&self) -> Result<&'a [ProcessSet], Status> {
        match self.about(Subject::Groups) {
            Some(Fact::Groups(groups)) => Ok(groups),
            _ => Err(Status::NOT_FOUND),
        }
    }
}

fn join(words: impl Iterator<Item = String>) -> Value {
    Value::String(words.collect::<Vec<_>>().join(","))
}

fn list(keys: impl Iterator<Item = &'static CStr>) -> Value {
    join(keys.map(|key| key.to_string_lossy().into_owned()))
}

fn server_uri(place: &Place<'_>, wish: &Wish<'_>) -> Result<Value, Status> {
    let is_here = wish.hostname.is_none_or(|name| name == place.hostname);
    place.uri.clone().filter(|_| is_here).map(Value::String).ok_or(Status::NOT_FOUND)
}

fn namespaces(place: &Place<'_>, facts: &Facts<'_>) -> Result<Value, Status> {
    Ok(join(facts.jobs()?.iter().map(|fact| fact.job.nspace(place.dvm))))
}

fn namespace_info(place: &Place<'_>, wish: &Wish<'_>, facts: &Facts<'_>) -> Result<Value, Status> {
    let is_asked = |fact: &&JobStatus| wish.nspace.is_none() || facts.job == Some(fact.job);
    let about = |fact: &JobStatus| {
        let nspace = Info::new(sys::PMIX_NSPACE, fact.job.nspace(place.dvm));
        let told = vec![nspace, Info::new(sys::PMIX_CMD_LINE, fact.command.clone())];
        Info::new(sys::PMIX_QUERY_NAMESPACE_INFO, told)
    };
    let all: Vec<Info> = facts.jobs()?.iter().filter(is_asked).map(about).collect();
    if all.is_empty() && wish.nspace.is_some() { Err(Status::NOT_FOUND) } else { Ok(Value::Infos(all)) }
}

/// Success while the job may still succeed; otherwise the cause of its end.
fn job_status(job: &JobDetail) -> Status {
    match job.status.exit_code {
        Some(code) if code != 0 && job.status.state == JobState::KilledByCmd => Status::JOB_KILLED_BY_CMD,
        Some(code) if code != 0 => Status::ERROR,
        _ => Status::SUCCESS,
    }
}

/// The processes of the job that the question is about: all, or one; `here` = only those of this node.
fn chosen<'a>(
    place: &Place<'_>,
    wish: &Wish<'_>,
    facts: &Facts<'a>,
    here: bool,
) -> Result<impl Iterator<Item = &'a ProcStatus>, Status> {
    let (rank, node) = (wish.rank, if here { Some(place.hostname) } else { wish.hostname }.map(str::to_owned));
    let is_chosen = move |proc: &&ProcStatus| {
        rank.is_none_or(|rank| proc.rank.0 == rank) && node.as_ref().is_none_or(|node| proc.node == *node)
    };
    Ok(facts.job()?.procs.iter().filter(is_chosen))
}

fn proc_table(place: &Place<'_>, wish: &Wish<'_>, facts: &Facts<'_>, here: bool) -> Result<Value, Status> {
    let job = facts.job()?;
    let about = |proc: &ProcStatus| ProcInfo {
        proc: Proc::new(job.nspace.clone(), proc.rank.0),
        hostname: proc.node.clone(),
        executable: job
            .record
            .apps
            .get(usize::from(proc.app))
            .and_then(|app| app.argv.first().cloned())
            .unwrap_or_default(),
        pid: proc.pid.and_then(|pid| i32::try_from(pid).ok()).unwrap_or(0),
        exit_code: 0,
        state: proc_state(proc.state),
    };
    Ok(Value::ProcInfos(chosen(place, wish, facts, here)?.map(about).collect()))
}

/// The nodes of a job's processes, each once, in the order of the ranks.
fn nodes_of(procs: &[ProcStatus]) -> Result<Value, Status> {
    let mut nodes: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    nodes.extend(procs.iter().map(|proc| proc.node.as_str()).filter(|node| seen.insert(*node)));
    if nodes.is_empty() { Err(Status::NOT_FOUND) } else { Ok(Value::String(nodes.join(","))) }
}

/// The processes of a job on a node.
fn peers_of(nspace: &str, procs: &[ProcStatus], hostname: &str) -> Result<Value, Status> {
    let here = procs.iter().filter(|proc| proc.node == hostname);
    let peers: Vec<Proc> = here.map(|proc| Proc::new(nspace, proc.rank.0)).collect();
    if peers.is_empty() { Err(Status::NOT_FOUND) } else { Ok(Value::Procs(peers)) }
}

/// One process, which the question has to name.
fn proc<'a>(wish: &Wish<'_>, facts: &Facts<'a>) -> Result<&'a ProcStatus, Status> {
    let rank = wish.rank.ok_or(Status::BAD_PARAM)?;
    facts.job()?.procs.get(rank as usize).ok_or(Status::NOT_FOUND)
}

/// The memory of the daemon and the mean of the processes on this node, in MB.
fn memory_usage(place: &Place<'_>, wish: &Wish<'_>, facts: &Facts<'_>) -> Result<Value, Status> {
    const MB: f64 = 1024.0 * 1024.0;
    if wish.extremes {
        return Err(Status::NOT_SUPPORTED);
    }
    let read = |proc: &ProcStatus| proc.pid.and_then(|pid| (place.memory)(pid));
    let used: Vec<u64> = chosen(place, wish, facts, true)?.filter_map(read).collect();
    if used.is_empty() || wish.hostname.is_some_and(|name| name != place.hostname) {
        return Err(Status::NOT_FOUND);
    }
    let mean = used.iter().sum::<u64>() as f64 / used.len() as f64 / MB;
    let mut told = vec![Info::new(sys::PMIX_HOSTNAME, place.hostname)];
    let daemon = (place.memory)(0).map(|bytes| Value::Float((bytes as f64 / MB) as f32));
    told.extend(daemon.map(|used| Info::new(sys::PMIX_DAEMON_MEMORY, used)));
    told.push(Info::new(sys::PMIX_CLIENT_AVG_MEMORY, Value::Float(mean as f32)));
    Ok(Value::Infos(told))
}

/// `granted`, or `pending` while its nodes come.
fn alloc_status(wish: &Wish<'_>, facts: &Facts<'_>) -> Result<Value, Status> {
    if wish.alloc.is_none() && wish.alloc_ref.is_none() {
        return Err(Status::BAD_PARAM);
    }
    if facts.campaigns()?.iter().any(|campaign| Some(&*campaign.alloc_id) == wish.alloc) {
        return Ok(Value::from("pending"));
    }
    let is_meant = |session: &&SessionStatus| {
        wish.alloc.is_none_or(|id| *session.alloc_id == *id)
            && wish.alloc_ref.is_none_or(|name| session.req_id.as_deref() == Some(name))
    };
    facts.sessions()?.iter().find(is_meant).map(|_| Value::from("granted")).ok_or(Status::NOT_FOUND)
}

/// The seconds until the time limit of a session: that of the named job, or a session that is named itself.
fn time_remaining(wish: &Wish<'_>, facts: &Facts<'_>) -> Result<Value, Status> {
    let session = match (wish.session, wish.nspace) {
        (Some(session), _) => session,
        (None, Some(_)) => facts.job()?.record.session.0,
        (None, None) => return Err(Status::BAD_PARAM),
    };
    let left = facts.sessions()?.iter().find(|one| one.session.0 == session).and_then(|one| one.seconds_left);
    left.map(|seconds| Value::U32(seconds.try_into().unwrap_or(u32::MAX))).ok_or(Status::NOT_FOUND)
}

/// The members of the set or group of this name.
fn set_members(place: &Place<'_>, name: Option<&str>, sets: &[ProcessSet]) -> Result<Value, Status> {
    let name = name.ok_or(Status::BAD_PARAM)?;
    let set = sets.iter().find(|set| set.name == name).ok_or(Status::NOT_FOUND)?;
    Ok(Value::Procs(members(set, place.dvm)))
}

/// The members of a set, by the names that libpmix knows.
pub(super) fn members(set: &ProcessSet, dvm: &str) -> Vec<Proc> {
    let of = |(job, ranks): &(JobId, Vec<ferrite_types::Rank>)| {
        let nspace = job.nspace(dvm);
        ranks.iter().map(|rank| Proc::new(nspace.clone(), rank.0)).collect::<Vec<_>>()
    };
    set.members.iter().flat_map(of).collect()
}

/// The session that the question names.
fn session<'a>(facts: &Facts<'a>, wish: &Wish<'_>) -> Result<Option<&'a SessionStatus>, Status> {
    let Some(number) = wish.session else { return Ok(None) };
    facts.sessions()?.iter().find(|session| session.session.0 == number).map(Some).ok_or(Status::NOT_FOUND)
}

/// The slots, and those in use: of the session that the question names, or of the nodes that it is about. A session's
/// slots on one node are not told.
fn slots(facts: &Facts<'_>, wish: &Wish<'_>) -> Result<(u32, u32), Status> {
    match session(facts, wish)? {
        Some(_) if wish.hostname.is_some() => Err(Status::NOT_SUPPORTED),
        Some(session) => Ok((session.slots, session.slots_in_use)),
        None => Ok(up(facts, wish)?.fold((0, 0), |(all, used), node| (all + node.slots, used + node.slots_in_use))),
    }
}

/// The nodes with a daemon: all, those of the session that the question names, or the one that it names.
fn up<'a>(facts: &Facts<'a>, wish: &Wish<'_>) -> Result<impl Iterator<Item = &'a NodeStatus> + use<'a>, Status> {
    let name = wish.hostname.map(str::to_owned);
    let nodes = facts.nodes()?;
    let of_session = session(facts, wish)?.map(|session| &session.nodes);
    if name.as_ref().is_some_and(|name| nodes.iter().all(|node| node.name != *name)) {
        return Err(Status::NOT_FOUND);
    }
    let is_meant = move |node: &&NodeStatus| {
        node.daemon.is_some()
            && name.as_ref().is_none_or(|it| node.name == *it)
            && of_session.is_none_or(|nodes| nodes.contains(&node.name))
    };
    Ok(nodes.iter().filter(is_meant))
}

/// The library's number of a state.
fn proc_state(state: ProcState) -> u8 {
    let number = match state {
        ProcState::Init => sys::PMIX_PROC_STATE_PREPPED,
        ProcState::Running => sys::PMIX_PROC_STATE_RUNNING,
        ProcState::Registered | ProcState::ReadyForDebug => sys::PMIX_PROC_STATE_CONNECTED,
        ProcState::IofComplete | ProcState::WaitpidFired | ProcState::Unterminated => sys::PMIX_PROC_STATE_UNTERMINATED,
        ProcState::Terminated => sys::PMIX_PROC_STATE_TERMINATED,
        ProcState::KilledByCmd => sys::PMIX_PROC_STATE_KILLED_BY_CMD,
        ProcState::FailedToStart => sys::PMIX_PROC_STATE_FAILED_TO_START,
        ProcState::AbortedBySig => sys::PMIX_PROC_STATE_ABORTED_BY_SIG,
        ProcState::TermWoSync => sys::PMIX_PROC_STATE_TERM_WO_SYNC,
        ProcState::CommFailed => sys::PMIX_PROC_STATE_COMM_FAILED,
        ProcState::CalledAbort => sys::PMIX_PROC_STATE_CALLED_ABORT,
        ProcState::TermNonZero => sys::PMIX_PROC_STATE_TERM_NON_ZERO,
        ProcState::Error => sys::PMIX_PROC_STATE_ERROR,
    };
    number as u8
}

#[cfg(test)]
mod tests {
    use ferrite_types::Rank;

    use super::*;

    /// The keys that nobody here answers, with the reason.
    const REFUSED: &[(&CStr, &str)] = &[
        (sys::PMIX_QUERY_QUEUE_LIST, "a DVM has no queues of a scheduler"),
        (sys::PMIX_QUERY_QUEUE_STATUS, "a DVM has no queues of a scheduler"),
        (sys::PMIX_QUERY_AUTHORIZATIONS, "the standard does not say what it contains"),
        (sys::PMIX_QUERY_ATTRIBUTE_SUPPORT, "libpmix answers it"),
        (sys::PMIX_QUERY_AVAIL_SERVERS, "libpmix answers it"),
        (sys::PMIX_QUERY_STABLE_ABI_VERSION, "libpmix answers it"),
        (sys::PMIX_QUERY_PROVISIONAL_ABI_VERSION, "libpmix answers it"),
        (sys::PMIX_QUERY_STORAGE_LIST, "libpmix answers it"),
    ];

    /// Keys of qualifiers and of answers, which nobody asks for.
    const NO_QUESTIONS: [&CStr; 6] = [
        sys::PMIX_QUERY_REFRESH_CACHE,
        sys::PMIX_QUERY_LOCAL_ONLY,
        sys::PMIX_QUERY_REPORT_AVG,
        sys::PMIX_QUERY_REPORT_MINMAX,
        sys::PMIX_QUERY_QUALIFIERS,
        sys::PMIX_QUERY_RESULTS,
    ];

    #[test]
    fn every_key_of_queries_is_answered_or_refused_with_a_reason() {
        let bindings = include_str!("../../../pmix-sys/src/bindings.rs");
        let keys = bindings.lines().filter(|line| line.starts_with("pub const PMIX_QUERY_"));
        let keys: Vec<&str> =
            keys.filter_map(|line| line.split_once("c\"")?.1.split_once('"')).map(|it| it.0).collect();
        assert!(keys.len() > 20, "{keys:?}");
        for key in keys {
            let is = |known: &CStr| known.to_bytes() == key.as_bytes();
            let known = [
                find(key).is_some(),
                REFUSED.iter().any(|(known, reason)| is(known) && !reason.is_empty()),
                NO_QUESTIONS.iter().any(|known| is(known)),
            ];
            assert_eq!(known.iter().filter(|known| **known).count(), 1, "{key}");
        }
    }

    fn ask(keys: &[&CStr], qualifiers: Vec<Info>, required: &[&CStr]) -> Question {
        let text = |key: &&CStr| key.to_string_lossy().into_owned();
        Question { keys: keys.iter().map(text).collect(), qualifiers, required: required.iter().map(text).collect() }
    }

    fn answer(question: Question, facts: &[Fact]) -> Result<Vec<Value>, Status> {
        let place = Place { dvm: "d", hostname: "n0", uri: None, memory: &|_| None };
        let questions = [question];
        let subjects = subjects(&questions, "d");
        let infos = answers(&place, &questions, &subjects, facts)?;
        Ok(infos.into_iter().map(|info| info.value).collect())
    }

    fn sets() -> Fact {
        let set = |name: &str, ranks: &[u32]| ProcessSet {
            name: name.to_owned(),
            members: vec![(JobId(3), ranks.iter().copied().map(Rank).collect())],
        };
        Fact::Sets(vec![set("land", &[2]), set("sea", &[0, 1])])
    }

    #[test]
    fn sets_are_counted_named_and_taken_apart() {
        let all = answer(ask(&[sys::PMIX_QUERY_NUM_PSETS, sys::PMIX_QUERY_PSET_NAMES], vec![], &[]), &[sets()]);
        assert_eq!(all, Ok(vec![Value::Size(2), Value::from("land,sea")]));
        let members = |name: &str| {
            let name = vec![Info::new(sys::PMIX_PSET_NAME, name)];
            answer(ask(&[sys::PMIX_QUERY_PSET_MEMBERSHIP], name, &[]), &[sets()])
        };
        assert_eq!(members("sea"), Ok(vec![Value::Procs(vec![Proc::new("d@3", 0), Proc::new("d@3", 1)])]));
        assert_eq!(members("sky"), Err(Status::NOT_FOUND));
        assert_eq!(answer(ask(&[sys::PMIX_QUERY_PSET_MEMBERSHIP], vec![], &[]), &[sets()]), Err(Status::BAD_PARAM));
    }

    /// A session has its own slots, also on nodes that others use.
    #[test]
    fn the_slots_of_a_session_are_told_to_who_names_it() {
        let node = |name: &str, slots, slots_in_use| NodeStatus {
            name: name.to_owned(),
            daemon: Some(ferrite_types::DaemonRank(1)),
            state: "up".to_owned(),
            slots,
            slots_in_use,
            max_slots: 0,
            cores: 8,
            resources: Vec::new(),
            jobs: Vec::new(),
        };
        let session = SessionStatus {
            session: ferrite_types::SessionId(7),
            alloc_id: "a1".into(),
            req_id: None,
            nodes: vec!["n1".to_owned()],
            slots: 2,
            slots_in_use: 1,
            children: Vec::new(),
            jobs: Vec::new(),
            reserved: false,
            paused: false,
            parent: None,
            owner: None,
            seconds_left: None,
            warns_s: None,
            warned: false,
        };
        let (nodes, sessions) = (Fact::Nodes(vec![node("n0", 4, 0), node("n1", 4, 3)]), Fact::Sessions(vec![session]));
        let keys = [
            sys::PMIX_NUM_SLOTS,
            sys::PMIX_QUERY_AVAILABLE_SLOTS,
            sys::PMIX_NUM_ALLOCATED_NODES,
            sys::PMIX_ALLOCATED_NODELIST,
        ];
        let all = answer(ask(&keys, vec![], &[]), std::slice::from_ref(&nodes));
        assert_eq!(all, Ok(vec![Value::U32(8), Value::U32(5), Value::U32(2), Value::from("n0,n1")]));
        let of = |number: u32, more: &[Info]| {
            let named = [Info::new(sys::PMIX_SESSION_ID, number)].into_iter().chain(more.iter().cloned()).collect();
            let question = ask(&keys, named, &[]);
            let facts: Vec<Fact> = subjects(std::slice::from_ref(&question), "d")
                .iter()
                .map(|subject| if *subject == Subject::Nodes { nodes.clone() } else { sessions.clone() })
                .collect();
            answer(question, &facts)
        };
        assert_eq!(of(7, &[]), Ok(vec![Value::U32(2), Value::U32(1), Value::U32(1), Value::from("n1")]));
        assert_eq!(of(8, &[]), Err(Status::NOT_FOUND));
        let on_node = of(7, &[Info::new(sys::PMIX_HOSTNAME, "n1")]);
        assert_eq!(on_node, Ok(vec![Value::U32(1), Value::from("n1")]), "no slots of one node");
    }

    /// libpmix 5 asks the host for what `PMIx_Resolve_nodes` and `PMIx_Resolve_peers` are to say.
    #[test]
    fn the_nodes_of_a_job_and_its_processes_on_one_are_told() {
        let proc = |rank, node: &str| ProcStatus {
            rank: Rank(rank),
            app: 0,
            node: node.to_owned(),
            bound_to: String::new(),
            devices: Vec::new(),
            pid: None,
            state: ProcState::Running,
        };
        let procs = [proc(0, "n1"), proc(1, "n0"), proc(2, "n1")];
        assert_eq!(nodes_of(&procs), Ok(Value::from("n1,n0")));
        assert_eq!(peers_of("d@3", &procs, "n1"), Ok(Value::Procs(vec![Proc::new("d@3", 0), Proc::new("d@3", 2)])));
        assert_eq!(peers_of("d@3", &procs, "n2"), Err(Status::NOT_FOUND));
        assert_eq!(nodes_of(&[]), Err(Status::NOT_FOUND));
    }

    /// The debuggers of PRRTE give the wildcard as a number with a sign.
    #[test]
    fn a_rank_may_have_a_sign() {
        let rank = |value: Value| ask(&[sys::PMIX_QUERY_NUM_PSETS], vec![Info::new(sys::PMIX_RANK, value)], &[]);
        let wish = |value| {
            let question = rank(value);
            let wish = Wish::of(&question);
            (wish.rank, wish.is_odd)
        };
        assert_eq!(wish(Value::Int(-2)), (None, false));
        assert_eq!(wish(Value::Int(3)), (Some(3), false));
        assert_eq!(wish(Value::from("3")), (None, true));
    }

    #[test]
    fn groups_are_counted_named_and_taken_apart() {
        let group = ProcessSet { name: "crew".to_owned(), members: vec![(JobId(3), vec![Rank(1)])] };
        let facts = [Fact::Groups(vec![group])];
        let all = answer(ask(&[sys::PMIX_QUERY_NUM_GROUPS, sys::PMIX_QUERY_GROUP_NAMES], vec![], &[]), &facts);
        assert_eq!(all, Ok(vec![Value::Size(1), Value::from("crew")]));
        let name = vec![Info::new(sys::PMIX_GROUP_ID, "crew")];
        let members = answer(ask(&[sys::PMIX_QUERY_GROUP_MEMBERSHIP], name, &[]), &facts);
        assert_eq!(members, Ok(vec![Value::Procs(vec![Proc::new("d@3", 1)])]));
    }

    #[test]
    fn what_is_not_offered_is_missing_beside_answers_and_an_error_alone() {
        let some = ask(&[sys::PMIX_QUERY_QUEUE_LIST, sys::PMIX_QUERY_NUM_PSETS], vec![], &[]);
        assert_eq!(answer(some, &[sets()]), Ok(vec![Value::Size(2)]));
        assert_eq!(answer(ask(&[sys::PMIX_QUERY_QUEUE_LIST], vec![], &[]), &[]), Err(Status::NOT_SUPPORTED));
        let odd = || vec![Info::new(sys::PMIX_QUERY_REPORT_AVG, true)];
        let num = [sys::PMIX_QUERY_NUM_PSETS];
        assert!(answer(ask(&num, odd(), &[]), &[sets()]).is_ok(), "nobody insists");
        assert_eq!(answer(ask(&num, odd(), &[sys::PMIX_QUERY_REPORT_AVG]), &[sets()]), Err(Status::NOT_SUPPORTED));
        let extremes = || vec![Info::new(sys::PMIX_QUERY_REPORT_MINMAX, true), Info::new(sys::PMIX_NSPACE, "d@3")];
        let memory = ask(&[sys::PMIX_QUERY_MEMORY_USAGE], extremes(), &[]);
        assert_eq!(answer(memory, &[]), Err(Status::NOT_SUPPORTED), "a mean is neither");
        assert_eq!(answer(ask(&[sys::PMIX_JOB_SIZE], vec![], &[]), &[]), Err(Status::BAD_PARAM), "of which job");
        let stranger = vec![Info::new(sys::PMIX_NSPACE, "e@3")];
        assert_eq!(answer(ask(&[sys::PMIX_JOB_SIZE], stranger, &[]), &[]), Err(Status::NOT_FOUND));
    }
}
