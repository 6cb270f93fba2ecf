//! `PMIx_Session_control`: translates a request into an order for sessions. Pure; only [`super::PmixBridge`] and its
//! parts use it.

use std::ffi::CStr;

use ferrite_pmix::{Info, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::{SessionId, Signal};
use ferrite_wire::GrowRequest;
use ferrite_wire::control::{SessionChoice, SessionDirective, SessionOrder, Submission};

use super::wish::{Wish, seconds};
use super::{allocate, spawn};

/// Keys that only identify the session or name the request; they do not change the operation.
const BESIDE: [&CStr; 2] = [sys::PMIX_SESSION_CTRL_ID, sys::PMIX_SESSION_ID];

/// Operations that are not offered: a paused session keeps its nodes, and the end of a session is a report from a
/// run-time to a scheduler, not the reverse.
const NOT_OFFERED: [&CStr; 3] = [sys::PMIX_SESSION_PREEMPT, sys::PMIX_SESSION_RESTORE, sys::PMIX_SESSION_COMPLETE];

/// Keys that are refused with every operation: there is nothing here to provision, and orders apply to whole sessions.
const NEVER: [&CStr; 5] = [
    sys::PMIX_SESSION_PROVISION,
    sys::PMIX_SESSION_PROVISION_NODES,
    sys::PMIX_SESSION_PROVISION_IMAGE,
    sys::PMIX_NSPACE,
    sys::PMIX_PROCID,
];

/// Keys that are valid only when a session is made. Ignoring them elsewhere would carry out another operation than the
/// requested one.
const RESOURCES: [&CStr; 7] = [
    sys::PMIX_SESSION_APP,
    sys::PMIX_SESSION_JOB,
    sys::PMIX_SESSION_RESOURCES,
    sys::PMIX_ALLOC_NODE_LIST,
    sys::PMIX_ALLOC_NUM_NODES,
    sys::PMIX_ALLOC_NUM_CPUS,
    sys::PMIX_ALLOC_QUEUE,
];

/// The reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    status: Status,
    cause: String,
}

impl From<allocate::Refusal> for Refusal {
    fn from(refusal: allocate::Refusal) -> Refusal {
        Refusal { status: refusal.status, cause: refusal.cause }
    }
}

impl Refusal {
    fn bad(cause: impl Into<String>) -> Refusal {
        Refusal { status: Status::BAD_PARAM, cause: cause.into() }
    }

    fn unsupported(cause: impl Into<String>) -> Refusal {
        Refusal { status: Status::NOT_SUPPORTED, cause: cause.into() }
    }

    /// Logs the reason, which PMIx cannot carry, and returns the status for the requester.
    pub(super) fn told(self, requester: &Proc) -> Status {
        tracing::info!(?requester, status = ?self.status, cause = self.cause, "an order for a session is refused");
        self.status
    }
}

/// The operation that one info requests.
enum Operation {
    Directive(SessionDirective),
    /// Extends the session; other infos say by how much.
    Extend,
    /// Makes a session; other infos say on which nodes.
    Instantiate,
    NotOffered,
}

/// Translates a request. `required` are the keys that must be obeyed (spec S29).
///
/// # Errors
/// No operation, or more than one; an operation that is not offered; an invalid value.
pub(super) fn order(session: u32, directives: &[Info], required: &[String]) -> Result<SessionOrder, Refusal> {
    if let Some(info) = directives.iter().find(|info| NEVER.iter().any(|key| info.is(key))) {
        return Err(Refusal::unsupported(format!("{} is not offered with orders for sessions", info.key)));
    }
    let mut operations = Vec::new();
    for info in directives {
        operations.extend(operation(info)?.map(|operation| (info, operation)));
    }
    let (info, operation) = match operations.len() {
        0 => return Err(Refusal::bad("no operation is named")),
        1 => operations.remove(0),
        _ => {
            let keys: Vec<&str> = operations.iter().map(|(info, _)| info.key.as_str()).collect();
            return Err(Refusal::bad(format!("more than one operation: {}", keys.join(", "))));
        }
    };
    if let Operation::Instantiate = operation {
        let directive = SessionDirective::Instantiate(Box::new(plan(directives, required)?));
        let job = first_job(directives)?.map(Box::new);
        return Ok(SessionOrder {
            session: Some(SessionId(session)).filter(|id| *id != SessionId::ALL),
            directive,
            job,
        });
    }
    if let Some(info) = directives.iter().find(|info| RESOURCES.iter().any(|key| info.is(key))) {
        return Err(Refusal::unsupported(format!("{} is not offered here; PMIx_Allocation_request extends", info.key)));
    }
    let obeyed = |key: &str| {
        let with_time = matches!(operation, Operation::Extend) && is(key, sys::PMIX_ALLOC_TIME);
        key == info.key || with_time || BESIDE.iter().any(|beside| is(key, beside))
    };
    if let Some(key) = required.iter().find(|key| !obeyed(key)) {
        return Err(Refusal::unsupported(format!("{key} is required, and not offered")));
    }
    let directive = match operation {
        Operation::Directive(directive) => directive,
        Operation::Extend => SessionDirective::Extend { seconds: extension(directives)? },
        Operation::Instantiate | Operation::NotOffered => {
            return Err(Refusal::unsupported(format!("{} is not offered", info.key)));
        }
    };
    Ok(SessionOrder { session: Some(SessionId(session)).filter(|id| *id != SessionId::ALL), directive, job: None })
}

fn operation(info: &Info) -> Result<Option<Operation>, Refusal> {
    let known = [
        (sys::PMIX_SESSION_PAUSE, SessionDirective::Pause),
        (sys::PMIX_SESSION_RESUME, SessionDirective::Resume),
        (sys::PMIX_SESSION_TERMINATE, SessionDirective::Terminate),
        (sys::PMIX_SESSION_SEP, SessionDirective::Separate),
    ];
    if let Some((_, directive)) = known.into_iter().find(|(key, _)| info.is(key)) {
        return Ok(truth(info)?.then_some(Operation::Directive(directive)));
    }
    if info.is(sys::PMIX_SESSION_INSTANTIATE) {
        return Ok(truth(info)?.then_some(Operation::Instantiate));
    }
    if info.is(sys::PMIX_SESSION_EXTEND) {
        return Ok(truth(info)?.then_some(Operation::Extend));
    }
    if info.is(sys::PMIX_SESSION_SIGNAL) {
        return signal(info).map(|signal| Some(Operation::Directive(SessionDirective::Signal(signal))));
    }
    let refused = NOT_OFFERED.iter().any(|key| info.is(key)) && info.value != Value::Bool(false);
    Ok(refused.then_some(Operation::NotOffered))
}

/// True when the operation is requested; its value may be false.
fn truth(info: &Info) -> Result<bool, Refusal> {
    match info.value {
        Value::Bool(asked) => Ok(asked),
        _ => Err(Refusal::bad(format!("{} is neither true nor false", info.key))),
    }
}

fn signal(info: &Info) -> Result<Signal, Refusal> {
    let signal = info.value.as_i64().and_then(Signal::from_number);
    signal.ok_or_else(|| Refusal::bad(format!("{} is no number of a signal", info.key)))
}

/// Returns the resources for a new session: an allocation by its id or name, or nodes, which may stand in an array of
/// resources.
fn plan(directives: &[Info], required: &[String]) -> Result<GrowRequest, Refusal> {
    let mut all = Vec::new();
    for info in directives {
        match &info.value {
            Value::Infos(resources) if info.is(sys::PMIX_SESSION_RESOURCES) => all.extend(resources.iter().cloned()),
            _ if info.is(sys::PMIX_SESSION_RESOURCES) => {
                return Err(Refusal::bad(format!("{} is no array of infos", info.key)));
            }
            _ => all.push(info.clone()),
        }
    }
    let own = |key: &String| {
        let with_it =
            [sys::PMIX_SESSION_INSTANTIATE, sys::PMIX_SESSION_RESOURCES, sys::PMIX_SESSION_APP, sys::PMIX_SESSION_JOB];
        BESIDE.iter().chain(&with_it).any(|known| is(key, known))
    };
    let required: Vec<String> = required.iter().filter(|key| !own(key)).cloned().collect();
    let mut wish = Wish::read(&all, &required)?;
    let alloc_id = wish.id.take();
    Ok(GrowRequest { alloc_id, ..wish.grow(None)? })
}

/// Returns the first job of the session: its programs and their options.
fn first_job(directives: &[Info]) -> Result<Option<Submission>, Refusal> {
    let (mut apps, mut how) = (None, None);
    for info in directives {
        match &info.value {
            Value::Apps(all) if info.is(sys::PMIX_SESSION_APP) && !all.is_empty() && apps.is_none() => apps = Some(all),
            Value::Infos(all) if info.is(sys::PMIX_SESSION_JOB) && how.is_none() => how = Some(all),
            _ if info.is(sys::PMIX_SESSION_APP) => {
                return Err(Refusal::bad(format!("{} is no array of apps, or there are two", info.key)));
            }
            _ if info.is(sys::PMIX_SESSION_JOB) => {
                return Err(Refusal::bad(format!("{} is no array of infos, or there are two", info.key)));
            }
            _ => {}
        }
    }
    let Some(apps) = apps else {
        let alone = || Refusal::bad("PMIX_SESSION_JOB says how programs run, and PMIX_SESSION_APP names none");
        return how.map_or(Ok(None), |_| Err(alone()));
    };
    if apps.iter().any(|app| app.argv.is_empty()) {
        return Err(Refusal::bad("an app of PMIX_SESSION_APP has no program"));
    }
    let refused =
        |refused: spawn::Refused| Refusal { status: refused.status(), cause: format!("the session's job: {refused}") };
    // No job is the target of a session's first job: it has no name of a DVM.
    let job = spawn::wish(how.map_or(&[][..], Vec::as_slice), &[], apps, "", "").map_err(refused)?;
    if job.grow.is_some() || job.session != SessionChoice::Default || job.separate {
        let cause = "the job of a session that is made runs there, on its nodes: name no session and no others for it";
        return Err(Refusal::unsupported(cause));
    }
    Ok(Some(job))
}

fn extension(directives: &[Info]) -> Result<u32, Refusal> {
    let Some(info) = directives.iter().find(|info| info.is(sys::PMIX_ALLOC_TIME)) else {
        return Err(Refusal::bad("an extension without PMIX_ALLOC_TIME"));
    };
    let seconds = seconds(info).ok().filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| Refusal::bad(format!("{} is no number of seconds, or too large a one", info.key)))
}

fn is(key: &str, known: &CStr) -> bool {
    key.as_bytes() == known.to_bytes()
}

#[cfg(test)]
mod tests {
    use ferrite_pmix::App;

    use super::*;

    fn yes(key: &CStr) -> Info {
        Info::new(key, true)
    }
    fn directive(directives: &[Info]) -> SessionDirective {
        order(7, directives, &[]).expect("an order").directive
    }
    fn refused(directives: &[Info]) -> Status {
        order(7, directives, &[]).unwrap_err().status
    }

    #[test]
    fn each_operation_is_an_order() {
        assert_eq!(directive(&[yes(sys::PMIX_SESSION_PAUSE)]), SessionDirective::Pause);
        assert_eq!(directive(&[yes(sys::PMIX_SESSION_RESUME)]), SessionDirective::Resume);
        assert_eq!(directive(&[yes(sys::PMIX_SESSION_TERMINATE)]), SessionDirective::Terminate);
        assert_eq!(directive(&[yes(sys::PMIX_SESSION_SEP)]), SessionDirective::Separate);
        assert_eq!(
            directive(&[Info::new(sys::PMIX_SESSION_SIGNAL, Value::I64(10))]),
            SessionDirective::Signal(Signal(10))
        );
        let time = Info::new(sys::PMIX_ALLOC_TIME, 60u32);
        assert_eq!(directive(&[time, yes(sys::PMIX_SESSION_EXTEND)]), SessionDirective::Extend { seconds: 60 });
    }

    #[test]
    fn a_session_is_named_by_its_number_and_all_by_the_highest() {
        let session = |number| order(number, &[yes(sys::PMIX_SESSION_PAUSE)], &[]).unwrap().session;
        assert_eq!((session(3), session(0), session(u32::MAX)), (Some(SessionId(3)), Some(SessionId::DVM), None));
    }

    /// An order by PMIx is one operation (spec S29).
    #[test]
    fn one_operation_is_asked_for_no_more_and_no_less() {
        assert_eq!(refused(&[]), Status::BAD_PARAM);
        assert_eq!(refused(&[Info::new(sys::PMIX_SESSION_CTRL_ID, "x")]), Status::BAD_PARAM);
        let [pause, resume] = [sys::PMIX_SESSION_PAUSE, sys::PMIX_SESSION_RESUME].map(yes);
        let refusal = order(7, &[pause.clone(), resume], &[]).unwrap_err();
        assert_eq!(refusal.status, Status::BAD_PARAM);
        assert!(refusal.cause.contains("pmix.ssn.pause, pmix.ssn.resume"), "{}", refusal.cause);
        assert_eq!(refused(&[pause.clone(), yes(sys::PMIX_SESSION_INSTANTIATE)]), Status::BAD_PARAM);
        assert_eq!(refused(&[pause.clone(), pause.clone()]), Status::BAD_PARAM);
        let not = Info::new(sys::PMIX_SESSION_RESUME, false);
        assert_eq!(directive(&[not.clone(), pause]), SessionDirective::Pause, "what is false is not asked for");
        assert_eq!(refused(&[not]), Status::BAD_PARAM);
    }

    /// An order by PMIx is one operation (spec S29).
    #[test]
    fn what_is_not_offered_is_refused_as_such() {
        for key in NOT_OFFERED {
            assert_eq!(refused(&[yes(key)]), Status::NOT_SUPPORTED, "{key:?}");
        }
        for key in NEVER.into_iter().chain(RESOURCES) {
            let with = Info::new(key, "n1");
            assert_eq!(refused(&[yes(sys::PMIX_SESSION_PAUSE), with]), Status::NOT_SUPPORTED, "not all of it: {key:?}");
        }
    }

    #[test]
    fn a_session_is_made_on_an_allocation_or_on_nodes() {
        let make = |more: &[Info]| {
            let mut all = vec![yes(sys::PMIX_SESSION_INSTANTIATE)];
            all.extend(more.iter().cloned());
            order(7, &all, &["pmix.ssn.inst".to_owned()])
        };
        let made = |more: &[Info]| match make(more).expect("an order") {
            SessionOrder { session: Some(SessionId(7)), directive: SessionDirective::Instantiate(wish), job: None } => {
                *wish
            }
            other => panic!("{other:?}"),
        };
        let (id, name) = (Info::new(sys::PMIX_ALLOC_ID, "s-17"), Info::new(sys::PMIX_ALLOC_REQ_ID, "mine"));
        let wish = made(&[id.clone(), name, Info::new(sys::PMIX_ALLOC_TIME, 60u32)]);
        assert_eq!((wish.alloc_id.as_deref(), wish.req_id.as_deref()), (Some("s-17"), Some("mine")));
        assert_eq!((wish.hosts.len(), wish.terms.time_limit_s), (0, Some(60)));
        let nodes = Info::new(sys::PMIX_ALLOC_NODE_LIST, "n1:4,n2");
        let wish = made(&[id, Info::new(sys::PMIX_SESSION_RESOURCES, vec![nodes.clone()])]);
        assert_eq!((wish.hosts.len(), wish.terms.reserve), (2, true));
        assert_eq!(made(&[nodes]).hosts.len(), 2);
        assert_eq!(make(&[Info::new(sys::PMIX_SESSION_RESOURCES, "n1")]).unwrap_err().status, Status::BAD_PARAM);
        assert_eq!(make(&[Info::new(sys::PMIX_ALLOC_TARGET, "x")]).unwrap_err().status, Status::NOT_SUPPORTED);
    }

    fn app(words: &[&str]) -> App {
        App { argv: words.iter().map(|word| (*word).to_owned()).collect(), maxprocs: 2, ..App::default() }
    }
    fn with_job(more: Vec<Info>) -> Result<Option<Box<Submission>>, Status> {
        let mut all = vec![yes(sys::PMIX_SESSION_INSTANTIATE), Info::new(sys::PMIX_ALLOC_ID, "a1")];
        all.extend(more);
        order(7, &all, &["pmix.ssn.app".to_owned()]).map(|order| order.job).map_err(|refusal| refusal.status)
    }
    fn apps(apps: Vec<App>) -> Info {
        Info::new(sys::PMIX_SESSION_APP, Value::Apps(apps))
    }

    #[test]
    fn a_session_is_made_with_a_job() {
        let how = Info::new(sys::PMIX_SESSION_JOB, vec![Info::new(sys::PMIX_MAPBY, "node")]);
        let job = with_job(vec![apps(vec![app(&["a.out", "x"]), app(&["b.out"])]), how.clone()]).unwrap().unwrap();
        let programs: Vec<_> = job.spec.apps.iter().map(|app| (app.argv.join(" "), app.np)).collect();
        assert_eq!(programs, [("a.out x".to_owned(), Some(2)), ("b.out".to_owned(), Some(2))]);
        assert_eq!(job.spec.map.by, Some(ferrite_types::MapBy::Node));
        assert_eq!(with_job(vec![how]), Err(Status::BAD_PARAM), "no program");
    }

    #[test]
    fn the_job_of_a_session_that_makes_no_sense_is_refused() {
        for wrong in [Value::from("a.out"), Value::Apps(Vec::new()), Value::Apps(vec![App::default()])] {
            assert_eq!(with_job(vec![Info::new(sys::PMIX_SESSION_APP, wrong)]), Err(Status::BAD_PARAM));
        }
        let one = || apps(vec![app(&["a.out"])]);
        assert_eq!(with_job(vec![one(), one()]), Err(Status::BAD_PARAM));
        for elsewhere in [Info::new(sys::PMIX_SESSION_ID, 3u32), Info::new(sys::PMIX_ADD_HOST, "n9")] {
            let how = Info::new(sys::PMIX_SESSION_JOB, vec![elsewhere]);
            assert_eq!(with_job(vec![one(), how]), Err(Status::NOT_SUPPORTED));
        }
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        assert_eq!(refused(&[Info::new(sys::PMIX_SESSION_PAUSE, "yes")]), Status::BAD_PARAM);
        for signal in [Value::I64(0), Value::I64(-9), Value::I64(65), Value::Bool(true), Value::U64(u64::MAX)] {
            assert_eq!(refused(&[Info::new(sys::PMIX_SESSION_SIGNAL, signal)]), Status::BAD_PARAM);
        }
        let extend = yes(sys::PMIX_SESSION_EXTEND);
        assert_eq!(refused(std::slice::from_ref(&extend)), Status::BAD_PARAM);
        for time in [Value::I64(0), Value::I64(-1), Value::U64(1 << 32), Value::from("soon")] {
            assert_eq!(refused(&[extend.clone(), Info::new(sys::PMIX_ALLOC_TIME, time)]), Status::BAD_PARAM);
        }
    }

    #[test]
    fn what_is_insisted_on_is_obeyed_or_the_whole_is_refused() {
        let name = |key: &CStr| key.to_str().unwrap().to_owned();
        let pause = [yes(sys::PMIX_SESSION_PAUSE), Info::new(sys::PMIX_SESSION_CTRL_ID, "mine")];
        assert!(order(7, &pause, &[name(sys::PMIX_SESSION_PAUSE), name(sys::PMIX_SESSION_CTRL_ID)]).is_ok());
        let refusal = order(7, &pause, &["pmix.unheard.of".to_owned()]).unwrap_err();
        assert_eq!(refusal.status, Status::NOT_SUPPORTED);
        let time = name(sys::PMIX_ALLOC_TIME);
        assert!(order(7, &pause, std::slice::from_ref(&time)).is_err(), "a pause has no length");
        let extend = [yes(sys::PMIX_SESSION_EXTEND), Info::new(sys::PMIX_ALLOC_TIME, 5u32)];
        assert!(order(7, &extend, &[time]).is_ok());
    }
}
