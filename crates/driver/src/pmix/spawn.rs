//! Translates a spawn request (`PMIx_Spawn`) of a PMIx tool or a process into a submission. Pure but for files that it
//! names. Unknown keys are for the library or the process and are ignored, as in the standard. Keys that would change
//! what runs, and are not offered, are refused by name; a value that cannot be parsed is an error.

use std::ffi::CStr;
use std::path::PathBuf;

use ferrite_client::Preloads;
use ferrite_pmix::{App, Info, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_rm::hostlist;
use ferrite_types::{
    AppContext, DebugStop, Duration, EnvOp, HostSelection, JobSpec, Rank, SessionId, StdinTarget, StopPoint,
};
use ferrite_wire::bad_set_name;
use ferrite_wire::control::{SessionChoice, Submission, Watch};
use thiserror::Error;

use super::{adding, beside, placing};

/// The reason why a spawn request is refused. The words are for the log, because PMIx cannot carry them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Refused {
    /// The request cannot be parsed, or contradicts itself.
    #[error("{0}")]
    Malformed(String),
    /// The request needs a feature that is not offered.
    #[error("not supported: {0}")]
    NotSupported(&'static str),
    /// A required key is not offered.
    #[error("{0} is required, and not offered")]
    Required(String),
}

impl Refused {
    /// Returns the status for the requester.
    pub(super) fn status(&self) -> Status {
        match self {
            Refused::Malformed(_) => Status::BAD_PARAM,
            Refused::NotSupported(_) | Refused::Required(_) => Status::NOT_SUPPORTED,
        }
    }
}

impl From<String> for Refused {
    fn from(cause: String) -> Refused {
        Refused::Malformed(cause)
    }
}

/// Keys that change the environment.
const OF_ENVIRONMENT: [&CStr; 4] =
    [sys::PMIX_SET_ENVAR, sys::PMIX_UNSET_ENVAR, sys::PMIX_APPEND_ENVAR, sys::PMIX_PREPEND_ENVAR];

/// Keys that are refused, whether or not they are required: a job without their effect would be another one (spec
/// L140).
const NOT_OFFERED: [(&CStr, &str); 5] = [
    (sys::PMIX_ADD_ENVAR, "pmix.envar.add: set the variable with pmix.envar.set, or where the job starts"),
    (sys::PMIX_FIRST_ENVAR, "pmix.envar.first: put the value in front with pmix.envar.prepnd"),
    (sys::PMIX_INDEX_ARGV, "pmix.indxargv: the processes of an app have the same arguments"),
    (sys::PMIX_FORKEXEC_AGENT, "pmix.fe.agnt: make the agent the program"),
    (sys::PMIX_DO_NOT_LAUNCH, "pmix.dnl: pdvm and prterun show a map without a job"),
];

/// Keys for the library of the tool that shows the output: a process that spawns has none (spec L140).
const SHOWN_BY_TOOLS: [(&CStr, &str); 5] = [
    (sys::PMIX_IOF_OUTPUT_TO_FILE, "pmix.iof.file: the output goes where that of the spawning job goes"),
    (sys::PMIX_IOF_OUTPUT_TO_DIRECTORY, "pmix.iof.dir: the output goes where that of the spawning job goes"),
    (sys::PMIX_IOF_FILE_PATTERN, "pmix.iof.fpt: the output goes where that of the spawning job goes"),
    (sys::PMIX_IOF_XML_OUTPUT, "pmix.iof.xml: the output goes where that of the spawning job goes"),
    (sys::PMIX_IOF_OUTPUT_RAW, "pmix.iof.raw: the output goes where that of the spawning job goes"),
];

/// Keys of a job and of each of its apps: placement, environment, nodes to be added.
const OF_BOTH: [&CStr; 17] = [
    sys::PMIX_SET_ENVAR,
    sys::PMIX_UNSET_ENVAR,
    sys::PMIX_APPEND_ENVAR,
    sys::PMIX_PREPEND_ENVAR,
    sys::PMIX_MAPPER,
    sys::PMIX_MAPBY,
    sys::PMIX_PPR,
    sys::PMIX_CPU_LIST,
    sys::PMIX_CPUS_PER_PROC,
    sys::PMIX_NO_PROCS_ON_HEAD,
    sys::PMIX_NO_OVERSUBSCRIBE,
    sys::PMIX_RANKBY,
    sys::PMIX_BINDTO,
    sys::PMIX_REPORT_BINDINGS,
    sys::PMIX_ADD_HOST,
    sys::PMIX_ADD_HOSTFILE,
    sys::PMIX_COSPAWN_APP,
];

/// Keys of a job alone, for the DVM or for the library.
const OF_JOB: [&CStr; 35] = [
    sys::PMIX_DISPLAY_MAP,
    sys::PMIX_DISPLAY_MAP_DETAILED,
    sys::PMIX_DISPLAY_ALLOCATION,
    sys::PMIX_NOTIFY_COMPLETION,
    sys::PMIX_NOTIFY_JOB_EVENTS,
    sys::PMIX_NOTIFY_PROC_TERMINATION,
    sys::PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION,
    sys::PMIX_DEBUG_STOP_ON_EXEC,
    sys::PMIX_DEBUG_STOP_IN_INIT,
    sys::PMIX_DEBUG_STOP_IN_APP,
    sys::PMIX_BREAKPOINT,
    sys::PMIX_TIMEOUT_STACKTRACES,
    sys::PMIX_TIMEOUT_REPORT_STATE,
    sys::PMIX_PERSONALITY,
    sys::PMIX_IOF_TAG_OUTPUT,
    sys::PMIX_IOF_TAG_DETAILED_OUTPUT,
    sys::PMIX_IOF_TAG_FULLNAME_OUTPUT,
    sys::PMIX_IOF_RANK_OUTPUT,
    sys::PMIX_IOF_TIMESTAMP_OUTPUT,
    sys::PMIX_IOF_MERGE_STDERR_STDOUT,
    sys::PMIX_JOB_RECOVERABLE,
    sys::PMIX_JOB_CONTINUOUS,
    sys::PMIX_MAX_RESTARTS,
    sys::PMIX_ABORT_NON_ZERO_TERM,
    sys::PMIX_STDIN_TGT,
    sys::PMIX_TIMEOUT,
    sys::PMIX_SPAWN_TIMEOUT,
    sys::PMIX_JOB_TIMEOUT,
    sys::PMIX_SESSION_ID,
    sys::PMIX_ALLOC_ID,
    sys::PMIX_ALLOC_REQ_ID,
    sys::PMIX_SPAWN_CHILD_SEP,
    sys::PMIX_FWD_STDIN,
    sys::PMIX_FWD_STDOUT,
    sys::PMIX_FWD_STDERR,
];

/// Keys of an app alone.
const OF_APP: [&CStr; 7] = [
    sys::PMIX_HOST,
    sys::PMIX_HOSTFILE,
    sys::PMIX_WDIR,
    sys::PMIX_PSET_NAME,
    sys::PMIX_SET_SESSION_CWD,
    sys::PMIX_PRELOAD_BIN,
    sys::PMIX_PRELOAD_FILES,
];

/// Keys that say who spawns, and ask for nothing.
const OF_THE_CALLER: [&CStr; 9] = [
    sys::PMIX_REQUESTOR_IS_TOOL,
    sys::PMIX_REQUESTOR_IS_CLIENT,
    sys::PMIX_PARENT_ID,
    sys::PMIX_USERID,
    sys::PMIX_GRPID,
    sys::PMIX_CMD_LINE,
    sys::PMIX_SPAWN_TOOL,
    sys::PMIX_NSPACE,
    sys::PMIX_RANK,
];

/// Returns the keys of spawn requests that have an effect.
pub(super) fn supported() -> impl Iterator<Item = &'static CStr> {
    let refused = [sys::PMIX_HOSTFILE, sys::PMIX_COSPAWN_APP];
    OF_JOB.into_iter().chain(OF_BOTH).chain(beside::KEYS).chain(OF_APP).filter(move |key| !refused.contains(key))
}

/// Returns the keys for debuggers that have an effect.
pub(super) fn for_debuggers() -> impl Iterator<Item = &'static CStr> {
    let stops =
        [sys::PMIX_DEBUG_STOP_ON_EXEC, sys::PMIX_DEBUG_STOP_IN_INIT, sys::PMIX_DEBUG_STOP_IN_APP, sys::PMIX_BREAKPOINT];
    stops.into_iter().chain(beside::KEYS)
}

/// Translates a spawn of a process as [`wish`] does.
///
/// # Errors
/// As [`wish`], and keys that only a tool can obey.
pub(super) fn wish_of_process(
    info: &[Info],
    required: &[String],
    apps: &[App],
    dvm: &str,
) -> Result<Submission, Refused> {
    refuse(&SHOWN_BY_TOOLS, info, apps)?;
    wish(info, required, apps, "", dvm)
}

/// Refuses the first of these keys that is there and not false (spec L140).
fn refuse(keys: &[(&CStr, &'static str)], info: &[Info], apps: &[App]) -> Result<(), Refused> {
    let mut all = info.iter().chain(apps.iter().flat_map(|app| &app.info));
    let why = |info: &Info| {
        let (_, why) = keys.iter().find(|(key, _)| info.is(key))?;
        (info.value != Value::Bool(false)).then_some(*why)
    };
    all.find_map(why).map_or(Ok(()), |why| Err(Refused::NotSupported(why)))
}

/// Translates a spawn in `dvm` with required keys: an unknown one of these is an error.
///
/// # Errors
/// As [`submission`].
pub(super) fn wish(
    info: &[Info],
    required: &[String],
    apps: &[App],
    dir: &str,
    dvm: &str,
) -> Result<Submission, Refused> {
    let unknown = |keys: &[String], known: &[&CStr]| {
        let both = || OF_BOTH.iter().chain(&beside::KEYS);
        let is_known = |key: &String| both().chain(known).any(|known| known.to_bytes() == key.as_bytes());
        keys.iter().find(|key| !is_known(key)).cloned()
    };
    let of_apps = || apps.iter().find_map(|app| unknown(&app.required, &OF_APP));
    let of_job: Vec<&CStr> = OF_JOB.into_iter().chain(OF_THE_CALLER).collect();
    match unknown(required, &of_job).or_else(of_apps) {
        Some(key) => Err(Refused::Required(key)),
        None => {
            let mut wish = submission(info, apps, dir)?;
            wish.spec.beside = beside::beside(info, apps, &wish.spec.map, dvm)?;
            Ok(wish)
        }
    }
}

/// Applies the directives of a tool to the job of the launcher that it has started; returns the keys that nobody knows
/// (spec L147).
///
/// # Errors
/// As [`submission`]; placement and the like are given on the launcher's command line.
pub(super) fn direct(info: &[Info], submission: &mut Submission) -> Result<Vec<String>, Refused> {
    const OF_THE_COMMAND_LINE: [&CStr; 5] = [
        sys::PMIX_SESSION_ID,
        sys::PMIX_ALLOC_ID,
        sys::PMIX_ALLOC_REQ_ID,
        sys::PMIX_STDIN_TGT,
        sys::PMIX_SPAWN_CHILD_SEP,
    ];
    let places = |info: &&Info| {
        let of_both = OF_BOTH.iter().filter(|key| !OF_ENVIRONMENT.contains(key));
        let mut keys = of_both.chain(&OF_APP).chain(&beside::KEYS);
        keys.any(|key| info.is(key)) || OF_THE_COMMAND_LINE.iter().any(|key| info.is(key))
    };
    if let Some(info) = info.iter().find(places) {
        let cause = format!("{}: it is given on the launcher's command line", info.key);
        return Err(Refused::Malformed(cause));
    }
    for info in info {
        apply(info, &mut submission.spec)?;
    }
    if let Some(stop) = debug_stop(info)? {
        submission.spec.stop = Some(stop);
    }
    submission.watch = watch(info)?;
    submission.env.extend(env_ops(info)?);
    let is_known = |info: &Info| OF_JOB.iter().chain(&OF_BOTH).chain(&OF_THE_CALLER).any(|key| info.is(key));
    Ok(info.iter().filter(|info| !is_known(info)).map(|info| info.key.clone()).collect())
}

/// Translates a spawn; `dir` is the directory of an app that names none.
///
/// # Errors
/// The value that cannot be parsed or is not offered, in words.
pub(super) fn submission(info: &[Info], apps: &[App], dir: &str) -> Result<Submission, Refused> {
    refuse(&NOT_OFFERED, info, apps)?;
    let mut spec = JobSpec::new(apps.iter().map(|app| app_context(app, dir)).collect::<Result<_, _>>()?);
    for info in info {
        apply(info, &mut spec)?;
    }
    preload(apps, &mut spec)?;
    if let Some(info) = info.iter().find(|info| info.is(sys::PMIX_PSET_NAME)) {
        return Err(Refused::Malformed(format!("{}: a process set is of one program: give it with the app", info.key)));
    }
    spec.stop = debug_stop(info)?;
    placing::place(info, apps, dir, &mut spec)?;
    let env = env_ops(info)?;
    let grow = adding::grow(info, apps, dir)?;
    let (session, separate, personality) = (session(info, apps)?, separate(info)?, personality(info)?);
    let watch = watch(info)?;
    Ok(Submission { env, grow, session, separate, personality, watch, ..Submission::of(spec) })
}

/// Returns the session of the job: its number comes before its allocation's id, and the id before the requester's own
/// name for it. An MPI library passes the keys of an `MPI_Info` with each app, as text, and perhaps by the name of the
/// attribute (spec S2).
fn session(info: &[Info], apps: &[App]) -> Result<SessionChoice, String> {
    let all = || info.iter().chain(apps.iter().flat_map(|app| &app.info));
    let find = |key: &CStr, name: &str| all().find(|info| info.is(key) || info.key.as_bytes() == name.as_bytes());
    let text = |info: &Info| info.value.as_str().map(str::to_owned).ok_or_else(|| format!("{}: no text", info.key));
    if let Some(info) = find(sys::PMIX_SESSION_ID, "PMIX_SESSION_ID") {
        let number = info.value.as_i64().or_else(|| info.value.as_str()?.parse().ok());
        let id = number.and_then(|id| u32::try_from(id).ok());
        return id
            .map(|id| SessionChoice::Id(SessionId(id)))
            .ok_or_else(|| format!("{}: no number of a session", info.key));
    }
    match (find(sys::PMIX_ALLOC_ID, "PMIX_ALLOC_ID"), find(sys::PMIX_ALLOC_REQ_ID, "PMIX_ALLOC_REQ_ID")) {
        (Some(info), _) => text(info).map(|id| SessionChoice::Alloc(id.into())),
        (None, Some(info)) => text(info).map(|name| SessionChoice::Ref(name.into())),
        (None, None) => Ok(SessionChoice::Default),
    }
}

/// Returns the place where processes of the job are to wait for a debugger: a key with true, a rank, or ranks.
fn debug_stop(info: &[Info]) -> Result<Option<DebugStop>, Refused> {
    let keys = [
        (sys::PMIX_DEBUG_STOP_ON_EXEC, StopPoint::Exec),
        (sys::PMIX_DEBUG_STOP_IN_INIT, StopPoint::Init),
        (sys::PMIX_DEBUG_STOP_IN_APP, StopPoint::App),
    ];
    let text = |info: &Info| info.value.as_str().map(str::to_owned).ok_or_else(|| format!("{}: no text", info.key));
    let breakpoint = info.iter().find(|info| info.is(sys::PMIX_BREAKPOINT)).map(text).transpose()?;
    let mut found: Option<DebugStop> = None;
    for (info, at) in info.iter().filter_map(|info| Some((info, keys.iter().find(|(key, _)| info.is(key))?.1))) {
        let Some(ranks) = stopped_ranks(&info.value).ok_or_else(|| format!("{}: no ranks", info.key))? else {
            continue;
        };
        if found.is_some() {
            return Err(Refused::NotSupported("two places at which a job waits for a debugger"));
        }
        found = Some(DebugStop { at, ranks: ranks.named, breakpoint: breakpoint.clone() });
    }
    Ok(found)
}

/// Ranks that stop.
struct StoppedRanks {
    /// `None` = all.
    named: Option<Vec<Rank>>,
}

/// Reads a value that names ranks. The inner `None` means that nobody stops, the outer one that it cannot be read.
#[allow(clippy::option_option, reason = "the three answers are those of the standard")]
fn stopped_ranks(value: &Value) -> Option<Option<StoppedRanks>> {
    let some_of = |ranks: Vec<u32>| match ranks.contains(&Proc::WILDCARD) {
        true => StoppedRanks { named: None },
        false => StoppedRanks { named: Some(ranks.into_iter().map(Rank).collect()) },
    };
    match value {
        Value::Bool(false) => Some(None),
        Value::Bool(true) => Some(Some(StoppedRanks { named: None })),
        Value::Procs(procs) => Some(Some(some_of(procs.iter().map(|proc| proc.rank).collect()))),
        Value::U32s(ranks) => Some(Some(some_of(ranks.clone()))),
        other => Some(Some(some_of(vec![u32::try_from(other.as_i64()?).ok()?]))),
    }
}

/// Returns the personality. The caller has used it to parse its command line; here it is kept and has no effect.
fn personality(info: &[Info]) -> Result<String, String> {
    let Some(info) = info.iter().find(|info| info.is(sys::PMIX_PERSONALITY)) else { return Ok(String::new()) };
    info.value.as_str().map(str::to_owned).ok_or_else(|| format!("{}: no text", info.key))
}

/// Returns whether the job outlives its parent. A job of a tool has no parent job, so there the key has no effect.
fn separate(info: &[Info]) -> Result<bool, String> {
    is_set(info, sys::PMIX_SPAWN_CHILD_SEP)
}

/// Returns the events that the requester wants. That the job is over is told in any case (`PMIX_NOTIFY_COMPLETION`).
fn watch(info: &[Info]) -> Result<Watch, String> {
    Ok(Watch {
        tool: None,
        job: is_set(info, sys::PMIX_NOTIFY_JOB_EVENTS)?,
        ends: is_set(info, sys::PMIX_NOTIFY_PROC_TERMINATION)?,
        failures: is_set(info, sys::PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION)?,
    })
}

fn is_set(info: &[Info], key: &CStr) -> Result<bool, String> {
    match info.iter().find(|info| info.is(key)).map(|info| &info.value) {
        None => Ok(false),
        Some(Value::Bool(is)) => Ok(*is),
        Some(_) => Err(format!("{}: neither true nor false", key.to_string_lossy())),
    }
}

fn app_context(app: &App, dir: &str) -> Result<AppContext, String> {
    let mut env: Vec<EnvOp> = app.env.iter().filter_map(|pair| pair.split_once('=')).map(set).collect();
    let mut context = AppContext {
        argv: app.argv.clone(),
        arg0: app.arg0.clone(),
        np: Some(app.maxprocs).filter(|n| *n > 0),
        submit_dir: app.cwd.clone().unwrap_or_else(|| dir.to_owned()),
        ..AppContext::default()
    };
    for info in &app.info {
        let text = || info.value.as_str().ok_or_else(|| format!("{}: no text", info.key));
        if info.is(sys::PMIX_HOST) {
            let hosts = hostlist::parse(text()?).map_err(|e| format!("{}: {e}", info.key))?;
            context.hosts = HostSelection { hosts: hosts.refs(), ..context.hosts };
        } else if info.is(sys::PMIX_WDIR) {
            context.wdir = Some(text()?.to_owned());
        } else if info.is(sys::PMIX_PSET_NAME) {
            let text = text()?;
            if let Some(why) = bad_set_name(text) {
                return Err(format!("{}: {text:?}: {why}", info.key));
            }
            context.set = Some(text.to_owned());
        } else if info.is(sys::PMIX_HOSTFILE) {
            return Err("a hostfile: name the hosts themselves".to_owned());
        } else {
            env.extend(env_ops(std::slice::from_ref(info))?);
        }
    }
    context.env = env;
    Ok(context)
}

/// Finds the files that the apps bring along: they are read on this node, relative to the directory of their app (spec
/// L70). The processes start in directories of their own, where the files are.
fn preload(apps: &[App], spec: &mut JobSpec) -> Result<(), String> {
    let mut preloads = Preloads::default();
    let search = std::env::var("PATH").unwrap_or_default();
    for (app, context) in apps.iter().zip(&mut spec.apps) {
        let dir = PathBuf::from(&context.submit_dir);
        let brings_along = |info: &Info| info.is(sys::PMIX_PRELOAD_BIN) || info.is(sys::PMIX_PRELOAD_FILES);
        if !dir.is_absolute() && app.info.iter().any(brings_along) {
            return Err("files to bring along, and no directory where they are looked for".to_owned());
        }
        context.session_cwd |= is_set(&app.info, sys::PMIX_SET_SESSION_CWD)?;
        if is_set(&app.info, sys::PMIX_PRELOAD_BIN)? {
            let program = context.argv.first_mut().ok_or("an app without a program")?;
            *program = preloads.add_program(program, &dir, &search).map_err(|error| error.to_string())?;
            context.session_cwd = true;
        }
        for info in app.info.iter().filter(|info| info.is(sys::PMIX_PRELOAD_FILES)) {
            let list = info.value.as_str().ok_or_else(|| format!("{}: no text", info.key))?;
            preloads.add_list(list, &dir).map_err(|error| error.to_string())?;
            context.session_cwd = true;
        }
        if context.session_cwd && context.wdir.is_some() {
            return Err("a working directory, and files or a directory of each process's own".to_owned());
        }
    }
    spec.preload = preloads.into_entries();
    Ok(())
}

fn set((name, value): (&str, &str)) -> EnvOp {
    EnvOp::Set(name.to_owned(), value.to_owned())
}

/// Returns the changes of the environment.
fn env_ops(info: &[Info]) -> Result<Vec<EnvOp>, String> {
    let changes = info.iter().filter(|info| OF_ENVIRONMENT.iter().any(|key| info.is(key)));
    changes.map(|info| env_op(info).ok_or_else(|| format!("{}: no variable", info.key))).collect()
}

fn env_op(info: &Info) -> Option<EnvOp> {
    match &info.value {
        Value::Envar(name, value, _) if info.is(sys::PMIX_SET_ENVAR) => Some(EnvOp::Set(name.clone(), value.clone())),
        Value::Envar(name, value, by) if info.is(sys::PMIX_APPEND_ENVAR) => {
            Some(EnvOp::Append(name.clone(), *by, value.clone()))
        }
        Value::Envar(name, value, by) if info.is(sys::PMIX_PREPEND_ENVAR) => {
            Some(EnvOp::Prepend(name.clone(), *by, value.clone()))
        }
        Value::String(name) if info.is(sys::PMIX_UNSET_ENVAR) => Some(EnvOp::Unset(name.clone())),
        _ => None,
    }
}

fn apply(info: &Info, spec: &mut JobSpec) -> Result<(), String> {
    let wrong = |cause: &dyn std::fmt::Display| format!("{}: {cause}", info.key);
    if let Some((_, flag)) = flags(spec).into_iter().find(|(key, _)| info.is(key)) {
        *flag = !matches!(info.value, Value::Bool(false));
    } else if info.is(sys::PMIX_MAX_RESTARTS) {
        let count = info.value.as_i64().and_then(|n| u32::try_from(n).ok());
        spec.options.max_restarts = count.ok_or_else(|| wrong(&"no number of restarts"))?;
    } else if info.is(sys::PMIX_STDIN_TGT) {
        spec.stdin = Some(stdin_target(&info.value).ok_or_else(|| wrong(&"no rank"))?);
    } else if info.is(sys::PMIX_FWD_STDIN) {
        let is_off = info.value == Value::Bool(false);
        spec.stdin.get_or_insert(if is_off { StdinTarget::None } else { StdinTarget::Rank(Rank(0)) });
    } else if [sys::PMIX_TIMEOUT, sys::PMIX_SPAWN_TIMEOUT, sys::PMIX_JOB_TIMEOUT].iter().any(|key| info.is(key)) {
        let seconds = info.value.as_i64().and_then(|s| u32::try_from(s).ok()).ok_or_else(|| wrong(&"no seconds"))?;
        let limit = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
        let limits = &mut spec.options;
        // The limit of a call of PMIx is that of the call, and not of what it starts.
        let which = if info.is(sys::PMIX_JOB_TIMEOUT) { &mut limits.timeout } else { &mut limits.spawn_timeout };
        *which = [*which, limit].into_iter().flatten().min();
    }
    Ok(())
}

/// Lists the keys that are on or off.
fn flags(spec: &mut JobSpec) -> [(&'static CStr, &mut bool); 14] {
    let JobSpec { output, options, display, .. } = spec;
    [
        (sys::PMIX_DISPLAY_MAP, &mut display.map),
        (sys::PMIX_DISPLAY_MAP_DETAILED, &mut display.map_devel),
        (sys::PMIX_DISPLAY_ALLOCATION, &mut display.allocation),
        (sys::PMIX_IOF_TAG_OUTPUT, &mut output.tag),
        (sys::PMIX_IOF_TAG_DETAILED_OUTPUT, &mut output.tag_detailed),
        (sys::PMIX_IOF_TAG_FULLNAME_OUTPUT, &mut output.tag_fullname),
        (sys::PMIX_IOF_RANK_OUTPUT, &mut output.rank),
        (sys::PMIX_IOF_TIMESTAMP_OUTPUT, &mut output.timestamp),
        (sys::PMIX_IOF_MERGE_STDERR_STDOUT, &mut output.merge_stderr),
        (sys::PMIX_JOB_RECOVERABLE, &mut options.recoverable),
        (sys::PMIX_JOB_CONTINUOUS, &mut options.continuous),
        (sys::PMIX_TIMEOUT_STACKTRACES, &mut options.stack_traces),
        (sys::PMIX_TIMEOUT_REPORT_STATE, &mut options.report_state_on_timeout),
        (sys::PMIX_ABORT_NON_ZERO_TERM, &mut options.error_nonzero_status),
    ]
}

fn stdin_target(value: &Value) -> Option<StdinTarget> {
    const ALL: i64 = u32::MAX as i64 - 1;
    const NONE: i64 = u32::MAX as i64 - 2;
    match value.as_i64()? {
        ALL => Some(StdinTarget::All),
        NONE => Some(StdinTarget::None),
        rank => u32::try_from(rank).ok().map(|rank| StdinTarget::Rank(Rank(rank))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::placing::tests::info;

    fn app(info: Vec<Info>) -> App {
        App {
            argv: vec!["a".to_owned(), "b".to_owned()],
            arg0: None,
            env: vec!["X=1".to_owned(), "broken".to_owned()],
            cwd: Some("/here".to_owned()),
            maxprocs: 3,
            info,
            required: Vec::new(),
        }
    }

    #[test]
    fn a_spawn_says_what_a_command_line_says() {
        let job = [info("pmix.mapby", "ppr:2:node"), info("pmix.iof.tag", true), info("pmix.unknown", 7u32)];
        let wish =
            submission(&job, &[app(vec![info("pmix.host", "n1,n2"), info("pmix.wdir", "/there")])], "/").unwrap();
        let spec = wish.spec;
        assert_eq!(spec.map.by, Some(ferrite_types::MapBy::PerNode(2)));
        assert!(spec.output.tag);
        let context = &spec.apps[0];
        assert_eq!((context.np, context.wdir.as_deref(), context.hosts.hosts.len()), (Some(3), Some("/there"), 2));
        assert_eq!(context.env, [EnvOp::Set("X".to_owned(), "1".to_owned())]);
    }

    /// Nothing that would make another job is ignored (spec L140).
    #[test]
    fn what_is_not_offered_is_refused_by_name_and_what_cannot_be_read_too() {
        let ask = |of_job: Vec<Info>, of_app: Vec<Info>| submission(&of_job, &[app(of_app)], "/").map(drop);
        for (key, _) in NOT_OFFERED {
            for refused in [ask(vec![Info::new(key, true)], vec![]), ask(vec![], vec![Info::new(key, true)])] {
                let refused = refused.unwrap_err();
                assert_eq!(refused.status(), Status::NOT_SUPPORTED);
                assert!(refused.to_string().contains(&*key.to_string_lossy()), "{refused}");
            }
            assert_eq!(ask(vec![Info::new(key, false)], vec![]), Ok(()));
        }
        for key in OF_ENVIRONMENT {
            assert_eq!(ask(vec![Info::new(key, 7u32)], vec![]).unwrap_err().status(), Status::BAD_PARAM, "{key:?}");
            assert_eq!(ask(vec![], vec![Info::new(key, 7u32)]).unwrap_err().status(), Status::BAD_PARAM, "{key:?}");
        }
        for key in [sys::PMIX_HOST, sys::PMIX_WDIR, sys::PMIX_PSET_NAME] {
            assert_eq!(ask(vec![], vec![Info::new(key, 7u32)]).unwrap_err().status(), Status::BAD_PARAM, "{key:?}");
        }
    }

    /// The library of a tool writes the output to files, and a process has none that would (spec L140).
    #[test]
    fn a_process_is_refused_what_only_a_tool_can_show() {
        for (key, _) in SHOWN_BY_TOOLS {
            let job = [Info::new(key, "x")];
            assert!(wish(&job, &[], &[app(vec![])], "/", "d").is_ok(), "{key:?}");
            let refused = wish_of_process(&job, &[], &[app(vec![])], "d").unwrap_err();
            assert_eq!(refused.status(), Status::NOT_SUPPORTED, "{key:?}");
        }
    }

    #[test]
    fn a_spawn_shows_its_map_and_the_allocation() {
        let job = [info("pmix.dispmap", true), info("pmix.dispalloc", true), info("pmix.dispmapdet", false)];
        let display = submission(&job, &[app(vec![])], "/").unwrap().spec.display;
        assert!(display.map && display.allocation && !display.map_devel);
    }

    /// A spawn reads its files on the node of its caller (spec L70).
    #[test]
    fn a_spawn_brings_files_along() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.txt"), "text").unwrap();
        let of = |info: Vec<Info>, dir: Option<String>| submission(&[], &[App { cwd: dir, ..app(info) }], "");
        let here = || Some(dir.path().to_string_lossy().into_owned());
        let spec = of(vec![info("pmix.preloadfiles", "a.txt")], here()).unwrap().spec;
        assert!(spec.apps[0].session_cwd);
        assert_eq!((spec.preload[0].name.as_str(), spec.preload[0].size()), ("a.txt", 4));
        let own = of(vec![info("pmix.ssncwd", true)], here()).unwrap().spec;
        assert!(own.apps[0].session_cwd && own.preload.is_empty());
        let missing = of(vec![info("pmix.preloadfiles", "b.txt")], here()).unwrap_err();
        assert!(missing.to_string().contains("b.txt: No such file"), "{missing}");
        for (of_app, dir) in [
            (vec![info("pmix.preloadbin", true)], here()),
            (vec![info("pmix.preloadfiles", "a.txt"), info("pmix.wdir", "/d")], here()),
            (vec![info("pmix.preloadfiles", "a.txt")], None),
        ] {
            assert_eq!(of(of_app, dir).unwrap_err().status(), Status::BAD_PARAM);
        }
    }

    #[test]
    fn a_limit_of_the_call_is_none_of_the_job() {
        let limits = |info: &[Info]| submission(info, &[app(vec![])], "/").map(|wish| wish.spec.options);
        let limits = |info: &[Info]| limits(info).map(|options| (options.spawn_timeout, options.timeout)).unwrap();
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(limits(&[info("pmix.timeout", 3u32)]), (seconds(3), None));
        assert_eq!(limits(&[info("pmix.sp.time", 3u32), info("pmix.timeout", 5u32)]), (seconds(3), None));
        assert_eq!(limits(&[info("pmix.job.time", 9u32)]), (None, seconds(9)));
        assert_eq!(limits(&[info("pmix.timeout", 0u32)]), (None, None));
        let wrong = submission(&[info("pmix.sp.time", "soon")], &[app(vec![])], "/");
        assert_eq!(wrong.unwrap_err().status(), Status::BAD_PARAM);
    }

    #[test]
    fn a_spawn_has_the_policies_about_failures() {
        let job = [info("pmix.recover", true), info("pmix.continuous", true), info("pmix.abnz", false)];
        let options = submission(&job, &[app(vec![])], "/").unwrap().spec.options;
        assert!(options.recoverable && options.continuous && !options.error_nonzero_status);
    }

    /// In which order names of a session count (spec S2).
    #[test]
    fn a_spawn_may_be_for_an_allocation() {
        let session = |info: &[Info]| submission(info, &[app(vec![])], "").unwrap().session;
        assert_eq!(session(&[]), SessionChoice::Default);
        let (id, name) = (info("pmix.alloc.id", "a1"), info("pmix.alloc.reqid", "mine"));
        assert_eq!(session(std::slice::from_ref(&name)), SessionChoice::Ref("mine".into()));
        assert_eq!(session(&[name, id.clone()]), SessionChoice::Alloc("a1".into()));
        assert_eq!(session(&[id, info("pmix.session.id", 3u32)]), SessionChoice::Id(SessionId(3)));
        assert!(submission(&[info("pmix.session.id", "x")], &[app(vec![])], "").is_err());
        let of_app = |said: Info| submission(&[], &[app(vec![said])], "").unwrap().session;
        assert_eq!(of_app(info("PMIX_ALLOC_ID", "a1")), SessionChoice::Alloc("a1".into()));
        assert_eq!(of_app(info("PMIX_SESSION_ID", "3")), SessionChoice::Id(SessionId(3)));
    }

    #[test]
    fn a_spawn_says_where_its_processes_stop() {
        let stop = |info: &[Info]| submission(info, &[app(vec![])], "").map(|wish| wish.spec.stop);
        let of = |at, ranks: Option<&[u32]>| {
            let ranks = ranks.map(|ranks| ranks.iter().copied().map(Rank).collect());
            Some(DebugStop { at, ranks, breakpoint: None })
        };
        assert_eq!(stop(&[]), Ok(None));
        assert_eq!(stop(&[info("pmix.dbg.exec", true)]), Ok(of(StopPoint::Exec, None)));
        assert_eq!(stop(&[info("pmix.dbg.init", false)]), Ok(None));
        assert_eq!(stop(&[info("pmix.dbg.init", Value::Rank(Proc::WILDCARD))]), Ok(of(StopPoint::Init, None)));
        assert_eq!(stop(&[info("pmix.dbg.init", Value::Rank(3))]), Ok(of(StopPoint::Init, Some(&[3]))));
        assert_eq!(stop(&[info("pmix.dbg.exec", Value::U32s(vec![0, 2]))]), Ok(of(StopPoint::Exec, Some(&[0, 2]))));
        let procs = Value::Procs(vec![Proc::new("", 1), Proc::new("", Proc::WILDCARD)]);
        assert_eq!(stop(&[info("pmix.dbg.exec", procs)]), Ok(of(StopPoint::Exec, None)));
        let named = stop(&[info("pmix.dbg.notify", true), info("pmix.brkpnt", "main")]).unwrap().unwrap();
        assert_eq!((named.at, named.breakpoint.as_deref()), (StopPoint::App, Some("main")));
        for bad in [&[info("pmix.dbg.exec", "yes")][..], &[info("pmix.dbg.exec", true), info("pmix.dbg.init", true)]] {
            assert!(stop(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_spawn_may_be_separate_from_its_parent() {
        let separate = |info: &[Info]| submission(info, &[app(vec![])], "").map(|wish| wish.separate);
        assert_eq!(separate(&[]), Ok(false));
        assert_eq!(separate(&[info("pmix.spchildsep", true)]), Ok(true));
        assert_eq!(separate(&[info("pmix.spchildsep", false)]), Ok(false));
        assert_eq!(separate(&[info("pmix.spchildsep", "yes")]).unwrap_err().status(), Status::BAD_PARAM);
    }

    #[test]
    fn what_must_be_obeyed_and_is_not_offered_is_refused_by_name() {
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        let ask = |of_job: &[&str], of_app: &[&str]| {
            let apps = [App { required: keys(of_app), ..app(vec![]) }];
            wish(&[], &keys(of_job), &apps, "/", "d").map(drop)
        };
        assert_eq!(ask(&["pmix.mapby", "pmix.iof.tag", "pmix.job.time"], &["pmix.host", "pmix.wdir"]), Ok(()));
        for (of_job, of_app, named) in [
            (&["pmix.mapby", "pmix.dbg.jdirs"][..], &[][..], "pmix.dbg.jdirs"),
            (&["pmix.preloadfiles"], &[], "pmix.preloadfiles"),
            (&[], &["pmix.job.time"], "pmix.job.time"),
            (&["my.own"], &[], "my.own"),
        ] {
            let refused = ask(of_job, of_app).unwrap_err();
            assert_eq!(refused.status(), Status::NOT_SUPPORTED);
            assert!(refused.to_string().starts_with(named), "{refused}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        let cause = submission(&[info("pmix.mapby", "moon")], &[app(vec![])], "/").unwrap_err().to_string();
        assert!(cause.starts_with("pmix.mapby: "), "{cause}");
        let cause = submission(&[], &[app(vec![info("pmix.hostfile", "h")])], "/").unwrap_err().to_string();
        assert!(cause.contains("hostfile"), "{cause}");
    }
}
