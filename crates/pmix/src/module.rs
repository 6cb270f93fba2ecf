//! The functions that the library calls. Each copies its arguments, hands an [`Upcall`] to the one receiver, and
//! returns; none of them decides or blocks.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::raw::{c_char, c_void};
use std::sync::Arc;

use bytes::Bytes;
use ferrite_pmix_sys as sys;

use crate::array::{InfoArray, PdataArray};
use crate::progress::Progress;
use crate::pulls::{self, Wanted};
use crate::server::{Inner, active};
use crate::value::{self, flag, slice, text, timeout_s};
use crate::{Completer, Info, LogChannel, LogEntry, Proc, Published, Question, Status, Upcall};

const ACCEPTED: sys::pmix_status_t = sys::PMIX_SUCCESS as sys::pmix_status_t;
const DONE: sys::pmix_status_t = sys::PMIX_OPERATION_SUCCEEDED;

/// Returns the table for `PMIx_server_init` of that release. The library itself refuses calls whose entries are null.
pub(crate) fn table(version: sys::Version) -> sys::PaddedModule {
    let mut padded = sys::PaddedModule::empty();
    let module = &mut padded.module;
    module.client_connected2 = Some(client_connected);
    module.client_finalized = Some(client_finalized);
    module.abort = Some(abort);
    module.fence_nb = Some(fence);
    module.direct_modex = Some(direct_modex);
    module.publish = Some(publish);
    module.lookup = Some(lookup);
    module.unpublish = Some(unpublish);
    module.spawn = Some(spawn);
    module.connect = Some(connect);
    module.disconnect = Some(disconnect);
    module.register_events = Some(register_events);
    module.deregister_events = Some(deregister_events);
    module.notify_event = Some(notify_event);
    module.query = Some(query);
    module.tool_connected = Some(tool_connected);
    module.log = Some(log);
    module.allocate = Some(allocate);
    module.job_control = Some(job_control);
    module.monitor = Some(monitor);
    module.iof_pull = Some(iof_pull);
    module.push_stdin = Some(push_stdin);
    module.group = Some(group);
    padded.set_session_control(version, session_control);
    padded
}

/// A callback of the library with its argument, as an answer needs it.
struct Token<F> {
    callback: F,
    data: *mut c_void,
}

// SAFETY: the data pointer is only handed back to the library, on the library's own thread.
unsafe impl<F: Send> Send for Token<F> {}

impl<F> Token<F> {
    fn open(self) -> (F, *mut c_void) {
        (self.callback, self.data)
    }
}

fn answer<T: Send + 'static, F: Send + 'static>(
    progress: Arc<Progress>,
    callback: Option<F>,
    data: *mut c_void,
    deliver: impl FnOnce(F, *mut c_void, Result<T, Status>) + Send + 'static,
) -> Completer<T> {
    let token = Token { callback, data };
    Completer::new(move |result| {
        let hop = Arc::clone(&progress);
        hop.run(Box::new(move || {
            let (callback, data) = token.open();
            if let Some(callback) = callback {
                deliver(callback, data, result);
                progress.answered();
            }
        }));
    })
}

fn status_of<T>(result: &Result<T, Status>) -> sys::pmix_status_t {
    match result {
        Ok(_) => ACCEPTED,
        Err(status) => status.0,
    }
}

fn op_reply(inner: &Inner, callback: sys::pmix_op_cbfunc_t, data: *mut c_void) -> Completer<()> {
    answer(inner.progress(), callback, data, |callback, data, result: Result<(), Status>| {
        // SAFETY: the library gave the pair for one call, which this is.
        unsafe { callback(status_of(&result), data) };
    })
}

/// `asked` is the job whose data were asked for.
fn blob_reply(
    inner: &Inner,
    callback: sys::pmix_modex_cbfunc_t,
    data: *mut c_void,
    asked: Option<Proc>,
) -> Completer<Bytes> {
    answer(inner.progress(), callback, data, move |callback, data, result: Result<Bytes, Status>| {
        let status = status_of(&result);
        let stranger = asked.filter(|_| result.is_err());
        let blob = Box::new(result.unwrap_or_default());
        let (bytes, len) = (blob.as_ptr(), blob.len());
        let blob = Box::into_raw(blob);
        // SAFETY: the library gave the pair for one call; the blob lives until the library calls `release_blob`.
        unsafe { callback(status, bytes.cast(), len, data, Some(release_blob), blob.cast()) };
        if let (Some(inner), Some(proc)) = (active(), stranger) {
            inner.forget_stranger(&proc.nspace);
        }
    })
}

unsafe extern "C" fn release_blob(blob: *mut c_void) {
    // SAFETY: `blob_reply` passed it, and the library releases once.
    drop(unsafe { Box::from_raw(blob.cast::<Bytes>()) });
}

fn info_reply(inner: &Inner, callback: sys::pmix_info_cbfunc_t, data: *mut c_void) -> Completer<Vec<Info>> {
    some_infos_reply(inner, 0, callback, data)
}

/// As [`info_reply`]; from the answer on the library may use `data` for another operation.
fn group_reply(inner: &Inner, callback: sys::pmix_info_cbfunc_t, data: *mut c_void) -> Completer<Vec<Info>> {
    answer(inner.progress(), callback, data, |callback, data, result: Result<Vec<Info>, Status>| {
        active().into_iter().for_each(|inner| inner.end_group(data as usize));
        // SAFETY: the library gave the pair for one call.
        unsafe { send_infos(callback, data, status_of(&result), &result.unwrap_or_default()) };
    })
}

/// As [`info_reply`]; an answer with fewer than `wanted` infos is a partial success.
fn some_infos_reply(
    inner: &Inner,
    wanted: usize,
    callback: sys::pmix_info_cbfunc_t,
    data: *mut c_void,
) -> Completer<Vec<Info>> {
    answer(inner.progress(), callback, data, move |callback, data, result: Result<Vec<Info>, Status>| {
        let is_partial = result.as_ref().is_ok_and(|infos| infos.len() < wanted);
        let status = if is_partial { Status::PARTIAL_SUCCESS.0 } else { status_of(&result) };
        // SAFETY: the library gave the pair for one call.
        unsafe { send_infos(callback, data, status, &result.unwrap_or_default()) };
    })
}

type InfoCallback = unsafe extern "C" fn(
    sys::pmix_status_t,
    *mut sys::pmix_info_t,
    usize,
    *mut c_void,
    sys::pmix_release_cbfunc_t,
    *mut c_void,
);

/// Calls back with infos, on the library's thread.
///
/// # Safety
/// The library gave callback and data for this one call.
unsafe fn send_infos(callback: InfoCallback, data: *mut c_void, status: sys::pmix_status_t, infos: &[Info]) {
    let mut array = Box::new(InfoArray::new(infos));
    let (infos, len) = (array.as_mut_ptr(), array.len());
    let array = Box::into_raw(array);
    // SAFETY: the caller's promise; the array lives until the library calls `release_infos`.
    unsafe { callback(status, infos, len, data, Some(release_infos), array.cast()) };
}

unsafe extern "C" fn release_infos(array: *mut c_void) {
    // SAFETY: `info_reply` passed it, and the library releases once.
    drop(unsafe { Box::from_raw(array.cast::<InfoArray>()) });
}

/// Hands over the upcall that `make` builds. Without a running server (while it stops) the library answers by itself.
fn raise(make: impl FnOnce(&Inner) -> Upcall) -> sys::pmix_status_t {
    let Some(inner) = active() else {
        return Status::NOT_RUNNING.0;
    };
    let upcall = make(&inner);
    inner.receive(upcall);
    ACCEPTED
}

/// As [`raise`], for the call of a process. Without a process it is refused before a completer exists, which would
/// answer as well.
fn raise_from(proc: Option<Proc>, make: impl FnOnce(&Inner, Proc) -> Upcall) -> sys::pmix_status_t {
    match proc {
        Some(proc) => raise(|inner| make(inner, proc)),
        None => Status::BAD_PARAM.0,
    }
}

unsafe extern "C" fn client_connected(
    proc: *const sys::pmix_proc_t,
    _object: *mut c_void,
    _info: *mut sys::pmix_info_t,
    _ninfo: usize,
    callback: sys::pmix_op_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: arguments of the library are valid during the call; so in every function below.
    let proc = unsafe { Proc::from_raw(proc) };
    raise_from(proc, |inner, proc| Upcall::ClientConnected { proc, reply: op_reply(inner, callback, data) })
}

unsafe extern "C" fn client_finalized(
    proc: *const sys::pmix_proc_t,
    _object: *mut c_void,
    callback: sys::pmix_op_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let proc = unsafe { Proc::from_raw(proc) };
    raise_from(proc, |inner, proc| Upcall::ClientFinalized { proc, reply: op_reply(inner, callback, data) })
}

unsafe extern "C" fn abort(
    proc: *const sys::pmix_proc_t,
    _object: *mut c_void,
    status: std::os::raw::c_int,
    message: *const c_char,
    procs: *mut sys::pmix_proc_t,
    nprocs: usize,
    callback: sys::pmix_op_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (proc, message, targets) = unsafe { (Proc::from_raw(proc), text(message), Proc::from_array(procs, nprocs)) };
    raise_from(proc, |inner, proc| Upcall::Abort {
        proc,
        status,
        message,
        targets,
        reply: op_reply(inner, callback, data),
    })
}

unsafe extern "C" fn fence(
    procs: *const sys::pmix_proc_t,
    nprocs: usize,
    info: *const sys::pmix_info_t,
    ninfo: usize,
    blob: *mut c_char,
    blob_len: usize,
    callback: sys::pmix_modex_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (procs, info, bytes) = unsafe {
        (Proc::from_array(procs, nprocs), Info::from_array(info, ninfo), slice(blob.cast::<u8>(), blob_len).to_vec())
    };
    // SAFETY: the blob, alone of all arguments, is given away by the library, which allocated it with malloc.
    unsafe { libc::free(blob.cast()) };
    raise(|inner| Upcall::Fence {
        procs,
        data: Bytes::from(bytes),
        collect: flag(&info, sys::PMIX_COLLECT_DATA),
        timeout_s: timeout_s(&info),
        local_status: local_status(&info),
        reply: blob_reply(inner, callback, data, None),
    })
}

fn local_status(info: &[Info]) -> Status {
    match info.iter().find(|info| info.is(sys::PMIX_LOCAL_COLLECTIVE_STATUS)).map(|info| &info.value) {
        Some(crate::Value::Status(status)) => *status,
        _ => Status::SUCCESS,
    }
}

unsafe extern "C" fn direct_modex(
    proc: *const sys::pmix_proc_t,
    info: *const sys::pmix_info_t,
    ninfo: usize,
    callback: sys::pmix_modex_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (proc, info) = unsafe { (Proc::from_raw(proc), Info::from_array(info, ninfo)) };
    let key = info.iter().find(|info| info.is(sys::PMIX_REQUIRED_KEY));
    let required_key = key.and_then(|info| info.value.as_str()).map(str::to_owned);
    raise_from(proc, |inner, proc| {
        let reply = blob_reply(inner, callback, data, Some(proc.clone()));
        Upcall::DirectModex { proc, required_key, timeout_s: timeout_s(&info), reply }
    })
}

unsafe extern "C" fn connect(
    procs: *const sys::pmix_proc_t,
    nprocs: usize,
    info: *const sys::pmix_info_t,
    ninfo: usize,
    callback: sys::pmix_op_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (procs, info) = unsafe { (Proc::from_array(procs, nprocs), Info::from_array(info, ninfo)) };
    raise(|inner| {
        let reply = op_reply(inner, callback, data);
        Upcall::Connect { procs, timeout_s: timeout_s(&info), reply }
    })
}

unsafe extern "C" fn disconnect(
    procs: *const sys::pmix_proc_t,
    nprocs: usize,
    info: *const sys::pmix_info_t,
    ninfo: usize,
    callback: sys::pmix_op_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (procs, info) = unsafe { (Proc::from_array(procs, nprocs), Info::from_array(info, ninfo)) };
    raise(|inner| {
        let reply = op_reply(inner, callback, data);
        Upcall::Disconnect { procs, timeout_s: timeout_s(&info), reply }
    })
}

// The DVM tells the library of every event of its namespaces; there is no subscription to change.
unsafe extern "C" fn register_events(
    _codes: *mut sys::pmix_status_t,
    _ncodes: usize,
    _info: *const sys::pmix_info_t,
    _ninfo: usize,
    _callback: sys::pmix_op_cbfunc_t,
    _data: *mut c_void,
) -> sys::pmix_status_t {
    DONE
}

unsafe extern "C" fn deregister_events(
    _codes: *mut sys::pmix_status_t,
    _ncodes: usize,
    _callback: sys::pmix_op_cbfunc_t,
    _data: *mut c_void,
) -> sys::pmix_status_t {
    DONE
}

// The return value is the answer: with a callback after `PMIX_SUCCESS` libpmix 4.2 uses a request that it has freed.
unsafe extern "C" fn notify_event(
    code: sys::pmix_status_t,
    source: *const sys::pmix_proc_t,
    range: sys::pmix_data_range_t,
    info: *mut sys::pmix_info_t,
    ninfo: usize,
    callback: sys::pmix_op_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (source, info) = unsafe { (Proc::from_raw(source), Info::from_array(info, ninfo)) };
    let (Some(inner), Some(source)) = (active(), source) else { return Status::NOT_RUNNING.0 };
    // The library passes our own notices to this function as well.
    if source == *inner.me() {
        return DONE;
    }
    let refused = match () {
        () if u32::from(range) > sys::PMIX_RANGE_PROC_LOCAL
            || (u32::from(range) == sys::PMIX_RANGE_CUSTOM && !names_someone(&info)) =>
        {
            Status::BAD_PARAM
        }
        () if Status(code) == Status::DEBUGGER_RELEASE && !releases_someone(inner.dvm(), inner.me(), &info) => {
            Status::NOT_FOUND
        }
        () if !info.iter().all(|info| info.value.can_travel()) => Status::NOT_SUPPORTED,
        () if !inner.admits_event(&source, &info) => Status::OUT_OF_RESOURCE,
        () => {
            inner.receive(Upcall::Event { code: Status(code), source, range, info });
            return DONE;
        }
    };
    if inner.is_first_refused_event(&source) {
        inner.receive(Upcall::Refused { proc: Some(source), service: format!("event {code}: {refused}") });
    }
    if !inner.hides_refused_events() {
        return refused.0;
    }
    op_reply(&inner, callback, data).complete(Err(refused));
    sys::PMIX_OPERATION_IN_PROGRESS
}

fn names_someone(info: &[Info]) -> bool {
    !named(info).is_empty()
}

/// True for a release that names processes, all of them of jobs of this DVM, or the launcher `me` itself: without names
/// it does not say which job waits (spec L56).
fn releases_someone(dvm: &str, me: &Proc, info: &[Info]) -> bool {
    let is_job = |proc: &Proc| proc.nspace.strip_prefix(dvm).is_some_and(|rest| rest.starts_with('@'));
    names_someone(info) && named(info).iter().all(|proc| is_job(proc) || proc.nspace == me.nspace)
}

/// The processes that a custom range names.
fn named(info: &[Info]) -> &[Proc] {
    match info.iter().find(|info| info.is(sys::PMIX_EVENT_CUSTOM_RANGE)).map(|info| &info.value) {
        Some(crate::Value::Proc(proc)) => std::slice::from_ref(proc),
        Some(crate::Value::Procs(procs)) => procs,
        _ => &[],
    }
}

unsafe extern "C" fn query(
    proc: *mut sys::pmix_proc_t,
    queries: *mut sys::pmix_query_t,
    nqueries: usize,
    callback: sys::pmix_info_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (proc, raw) = unsafe { (Proc::from_raw(proc), slice(queries, nqueries)) };
    let questions: Vec<Question> = raw
        .iter()
        .map(|query| Question {
            // SAFETY: see `client_connected`; keys are a list that a null ends.
            keys: unsafe { argv(query.keys) },
            // SAFETY: see `client_connected`.
            qualifiers: unsafe { Info::from_array(query.qualifiers, query.nqual) },
            // SAFETY: see `client_connected`.
            required: unsafe { Info::required_keys(query.qualifiers, query.nqual) },
        })
        .collect();
    let wanted = questions.iter().map(|question| question.keys.len()).sum();
    raise_from(proc, |inner, proc| {
        let reply = some_infos_reply(inner, wanted, callback, data);
        Upcall::Query { proc, questions, reply }
    })
}

/// # Safety
/// `list` is null or a list of C strings that a null ends.
pub(crate) unsafe fn argv(list: *mut *mut c_char) -> Vec<String> {
    let mut words = Vec::new();
    if !list.is_null() {
        // SAFETY: the caller's promise; the loop stops at the null.
        unsafe {
            let mut next = list;
            while !(*next).is_null() {
                words.push(text(*next));
                next = next.add(1);
            }
        }
    }
    words
}

unsafe extern "C" fn tool_connected(
    info: *mut sys::pmix_info_t,
    ninfo: usize,
    callback: sys::pmix_tool_connection_cbfunc_t,
    data: *mut c_void,
) {
    // SAFETY: see `client_connected`.
    let info = unsafe { Info::from_array(info, ninfo) };
    let Some(inner) = active() else { return };
    let reply = answer(inner.progress(), callback, data, |callback, data, result: Result<Proc, Status>| {
        let named = result.and_then(|proc| proc.to_raw().ok_or(Status::BAD_PARAM));
        let mut proc = named.unwrap_or(sys::pmix_proc_t { nspace: [0; 256], rank: 0 });
        // SAFETY: the library gave the pair for one call, and copies the name.
        unsafe { callback(status_of(&named), &mut proc, data) };
    });
    inner.receive(Upcall::ToolConnected { info, reply });
}

unsafe extern "C" fn log(
    proc: *const sys::pmix_proc_t,
    entries: *const sys::pmix_info_t,
    nentries: usize,
    directives: *const sys::pmix_info_t,
    ndirectives: usize,
    callback: sys::pmix_op_cbfunc_t,
    data: *mut c_void,
) {
    // SAFETY: see `client_connected`.
    let (proc, infos, required, directives) = unsafe {
        (
            Proc::from_raw(proc),
            Info::from_array(entries, nentries),
            Info::required_keys(directives, ndirectives),
            Info::from_array(directives, ndirectives),
        )
    };
    let entries: Vec<_> = infos.iter().filter_map(log_entry).collect();
    let is_other = |info: &&Info| log_entry(info).is_none();
    let others = infos.iter().filter(is_other).map(|info| info.key.clone()).collect();
    let Some(inner) = active() else { return };
    let reply = op_reply(&inner, callback, data);
    match proc {
        Some(proc) => inner.receive(Upcall::Log { proc, entries, others, directives, required, reply }),
        None => reply.complete(Err(Status::BAD_PARAM)),
    }
}

fn log_entry(info: &Info) -> Option<LogEntry> {
    let channels = [
        (sys::PMIX_LOG_STDERR, LogChannel::Stderr),
        (sys::PMIX_LOG_STDOUT, LogChannel::Stdout),
        (sys::PMIX_LOG_SYSLOG, LogChannel::Syslog),
        (sys::PMIX_LOG_LOCAL_SYSLOG, LogChannel::Syslog),
        (sys::PMIX_LOG_GLOBAL_SYSLOG, LogChannel::GlobalSyslog),
        (sys::PMIX_LOG_JOB_RECORD, LogChannel::JobRecord),
        (sys::PMIX_LOG_EMAIL, LogChannel::Email),
    ];
    let (_, channel) = channels.into_iter().find(|(key, _)| info.is(key))?;
    Some(match &info.value {
        crate::Value::Infos(mail) if channel == LogChannel::Email => {
            LogEntry { channel, text: String::new(), mail: mail.clone() }
        }
        value => LogEntry { channel, text: value.as_str()?.to_owned(), mail: Vec::new() },
    })
}

unsafe extern "C" fn job_control(
    proc: *const sys::pmix_proc_t,
    targets: *const sys::pmix_proc_t,
    ntargets: usize,
    directives: *const sys::pmix_info_t,
    ndirectives: usize,
    callback: sys::pmix_info_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (proc, targets, required, directives) = unsafe {
        (
            Proc::from_raw(proc),
            Proc::from_array(targets, ntargets),
            Info::required_keys(directives, ndirectives),
            Info::from_array(directives, ndirectives),
        )
    };
    raise_from(proc, |inner, proc| {
        let reply = info_reply(inner, callback, data);
        Upcall::JobControl { proc, targets, directives, required, reply }
    })
}

unsafe extern "C" fn iof_pull(
    procs: *const sys::pmix_proc_t,
    nprocs: usize,
    directives: *const sys::pmix_info_t,
    ndirectives: usize,
    channels: sys::pmix_iof_channel_t,
    _callback: sys::pmix_op_cbfunc_t,
    _data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (from, required, directives) = unsafe {
        (
            Proc::from_array(procs, nprocs),
            Info::required_keys(directives, ndirectives),
            Info::from_array(directives, ndirectives),
        )
    };
    let Some(inner) = active() else { return Status::NOT_RUNNING.0 };
    match pulls::decide(inner.dvm(), &from, &directives, &required, channels.into()) {
        Ok(Wanted { stdout, stderr, stops }) => {
            inner.receive(Upcall::PullOutput { from, stdout, stderr, stops });
            DONE
        }
        Err((status, service)) => {
            inner.receive(Upcall::Refused { proc: None, service: service.to_owned() });
            status.0
        }
    }
}

unsafe extern "C" fn publish(
    proc: *const sys::pmix_proc_t,
    info: *const sys::pmix_info_t,
    ninfo: usize,
    callback: sys::pmix_op_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (proc, info) = unsafe { (Proc::from_raw(proc), Info::from_array(info, ninfo)) };
    raise_from(proc, |inner, proc| Upcall::Publish { proc, info, reply: op_reply(inner, callback, data) })
}

unsafe extern "C" fn lookup(
    proc: *const sys::pmix_proc_t,
    keys: *mut *mut c_char,
    info: *const sys::pmix_info_t,
    ninfo: usize,
    callback: sys::pmix_lookup_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`; keys are a list that a null ends.
    let (proc, keys, info) = unsafe { (Proc::from_raw(proc), argv(keys), Info::from_array(info, ninfo)) };
    let wanted = keys.iter().collect::<BTreeSet<_>>().len();
    raise_from(proc, |inner, proc| {
        let reply =
            answer(inner.progress(), callback, data, move |callback, data, result: Result<Vec<Published>, Status>| {
                let found =
                    result.as_ref().map_or(0, |all| all.iter().map(|one| &one.key).collect::<BTreeSet<_>>().len());
                let is_partial = result.is_ok() && found < wanted;
                let status = if is_partial { Status::PARTIAL_SUCCESS.0 } else { status_of(&result) };
                let mut found = PdataArray::new(&result.unwrap_or_default());
                // SAFETY: the library gave the pair for one call, and packs the array before it returns.
                unsafe { callback(status, found.as_mut_ptr(), found.len(), data) };
            });
        Upcall::Lookup { proc, keys, info, reply }
    })
}

unsafe extern "C" fn unpublish(
    proc: *const sys::pmix_proc_t,
    keys: *mut *mut c_char,
    info: *const sys::pmix_info_t,
    ninfo: usize,
    callback: sys::pmix_op_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `lookup`.
    let (proc, keys, info) = unsafe { (Proc::from_raw(proc), argv(keys), Info::from_array(info, ninfo)) };
    raise_from(proc, |inner, proc| Upcall::Unpublish { proc, keys, info, reply: op_reply(inner, callback, data) })
}

unsafe extern "C" fn spawn(
    proc: *const sys::pmix_proc_t,
    info: *const sys::pmix_info_t,
    ninfo: usize,
    apps: *const sys::pmix_app_t,
    napps: usize,
    callback: sys::pmix_spawn_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (proc, required, info) =
        unsafe { (Proc::from_raw(proc), Info::required_keys(info, ninfo), Info::from_array(info, ninfo)) };
    // SAFETY: see `client_connected`.
    let apps = unsafe { value::apps(apps, napps) };
    raise_from(proc, |inner, proc| {
        let reply = answer(inner.progress(), callback, data, move |callback, data, result: Result<String, Status>| {
            // The library copies the name; a name with a NUL, which no namespace has, counts as none.
            let name = CString::new(result.as_deref().unwrap_or_default()).unwrap_or_default();
            // SAFETY: the library gave the pair for one call; the name lives until it returns.
            unsafe { callback(status_of(&result), name.as_ptr().cast_mut(), data) };
        });
        Upcall::Spawn { proc, info, required, apps, reply }
    })
}

unsafe extern "C" fn allocate(
    proc: *const sys::pmix_proc_t,
    directive: sys::pmix_alloc_directive_t,
    info: *const sys::pmix_info_t,
    ninfo: usize,
    callback: sys::pmix_info_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (proc, required, info) =
        unsafe { (Proc::from_raw(proc), Info::required_keys(info, ninfo), Info::from_array(info, ninfo)) };
    raise_from(proc, |inner, proc| {
        let reply = info_reply(inner, callback, data);
        Upcall::Allocate { proc, directive, info, required, reply }
    })
}

/// libpmix 4.2 has no `PMIx_Session_control`, and 5.0 answers it by itself.
unsafe extern "C" fn session_control(
    proc: *const sys::pmix_proc_t,
    session: u32,
    directives: *const sys::pmix_info_t,
    ndirectives: usize,
    callback: sys::pmix_info_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (proc, required, directives) = unsafe {
        (Proc::from_raw(proc), Info::required_keys(directives, ndirectives), Info::from_array(directives, ndirectives))
    };
    raise_from(proc, |inner, proc| {
        let reply = info_reply(inner, callback, data);
        Upcall::SessionControl { proc, session, directives, required, reply }
    })
}

unsafe extern "C" fn monitor(
    proc: *const sys::pmix_proc_t,
    monitor: *const sys::pmix_info_t,
    error: sys::pmix_status_t,
    directives: *const sys::pmix_info_t,
    ndirectives: usize,
    callback: sys::pmix_info_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`; what is to be watched is one info.
    let (proc, monitor, directives) =
        unsafe { (Proc::from_raw(proc), Info::from_array(monitor, 1), Info::from_array(directives, ndirectives)) };
    let Some(monitor) = monitor.into_iter().next() else { return Status::BAD_PARAM.0 };
    raise_from(proc, |inner, proc| {
        let reply = info_reply(inner, callback, data);
        Upcall::Monitor { proc, monitor, code: Status(error), directives, reply }
    })
}

unsafe extern "C" fn push_stdin(
    source: *const sys::pmix_proc_t,
    targets: *const sys::pmix_proc_t,
    ntargets: usize,
    _directives: *const sys::pmix_info_t,
    _ndirectives: usize,
    bytes: *const sys::pmix_byte_object_t,
    callback: sys::pmix_op_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`; no bytes at all are the end of input.
    let (source, targets, input) = unsafe {
        let input = bytes.as_ref().map(|bytes| slice(bytes.bytes.cast::<u8>(), bytes.size).to_vec());
        (Proc::from_raw(source), Proc::from_array(targets, ntargets), input.unwrap_or_default())
    };
    raise_from(source, |inner, source| {
        let reply = op_reply(inner, callback, data);
        Upcall::PushStdin { source, targets, data: Bytes::from(input), reply }
    })
}

/// The library calls this for connections that broke; the server registers it for that event alone. Connections that
/// break within a second are reported together: the first is the source, the others are among the infos.
pub(crate) unsafe extern "C" fn connection_lost(
    _handler: usize,
    _code: sys::pmix_status_t,
    source: *const sys::pmix_proc_t,
    info: *mut sys::pmix_info_t,
    ninfo: usize,
    _results: *mut sys::pmix_info_t,
    _nresults: usize,
    callback: sys::pmix_event_notification_cbfunc_fn_t,
    data: *mut c_void,
) {
    if let Some(inner) = active() {
        // SAFETY: see `client_connected`.
        let (source, infos) = unsafe { (Proc::from_raw(source), Info::from_array(info, ninfo)) };
        let others = infos.into_iter().filter(|info| info.is(sys::PMIX_PROCID)).filter_map(|info| match info.value {
            crate::Value::Proc(proc) => Some(proc),
            _ => None,
        });
        source.into_iter().chain(others).for_each(|proc| {
            inner.receive(Upcall::Lost { proc });
        });
    }
    if let Some(callback) = callback {
        let done = sys::PMIX_EVENT_ACTION_COMPLETE;
        // SAFETY: the library gave the pair for one call, and we are on its thread.
        unsafe { callback(done, std::ptr::null_mut(), 0, None, std::ptr::null_mut(), data) };
    }
}

unsafe extern "C" fn group(
    operation: sys::pmix_group_operation_t,
    name: *mut c_char,
    procs: *const sys::pmix_proc_t,
    nprocs: usize,
    directives: *const sys::pmix_info_t,
    ndirectives: usize,
    callback: sys::pmix_info_cbfunc_t,
    data: *mut c_void,
) -> sys::pmix_status_t {
    // SAFETY: see `client_connected`.
    let (name, procs, info) =
        unsafe { (text(name), Proc::from_array(procs, nprocs), Info::from_array(directives, ndirectives)) };
    if !active().is_none_or(|inner| inner.begin_group(data as usize)) {
        return ACCEPTED;
    }
    // A refusal goes by the callback as well: libpmix 4.2.2 keeps the clients waiting for another return value.
    raise(|inner| {
        let makes = match operation {
            sys::pmix_group_operation_t_PMIX_GROUP_CONSTRUCT => true,
            sys::pmix_group_operation_t_PMIX_GROUP_DESTRUCT => false,
            _ => {
                group_reply(inner, callback, data).refuse();
                return Upcall::Refused {
                    proc: procs.into_iter().next(),
                    service: format!("group operation {operation}"),
                };
            }
        };
        let (timeout_s, local_status) = (timeout_s(&info), local_status(&info));
        let reply = group_reply(inner, callback, data);
        Upcall::Group { makes, name, procs, info, timeout_s, local_status, reply }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A release that reaches nobody is not answered with success (spec L56).
    #[test]
    fn a_release_names_processes_of_this_dvm() {
        let of = |procs: &[(&str, u32)]| {
            let procs = procs.iter().map(|(nspace, rank)| Proc::new(*nspace, *rank)).collect();
            let me = Proc::new("launcher", 0);
            releases_someone("d", &me, &[Info::new(sys::PMIX_EVENT_CUSTOM_RANGE, crate::Value::Procs(procs))])
        };
        assert!(of(&[("d@1", 0), ("d@2", Proc::WILDCARD), ("launcher", 0)]));
        assert!(!of(&[]) && !of(&[("d", 0)]) && !of(&[("d@1", 0), ("e@1", 0)]));
        assert!(!releases_someone("d", &Proc::new("d@0", 0), &[Info::new(sys::PMIX_EVENT_NON_DEFAULT, true)]));
    }
}
