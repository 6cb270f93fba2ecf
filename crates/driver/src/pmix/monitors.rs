//! Monitors of files (`PMIx_Process_monitor`): a process names a file that changes while it works. When it has not
//! changed for some checks, those in the range of the request hear of an event. Only [`super::PmixBridge`] uses it.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ferrite_core::{DaemonInput, Input, PmixCall};
use ferrite_pmix::{Info, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::pmix_status::FERRITE_NODES_STAY;
use ferrite_types::{JobId, ProcId};
use ferrite_wire::{EventRange, EventSource, PmixEvent};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_local};

use super::{Shared, calls, events};

/// Monitors that one process may have.
const MOST_OF_PROCESS: usize = 16;
/// Monitors that the processes of a node may have.
const MOST: usize = 1_024;
/// Looks at files at a time. A file system that hangs takes these, and no thread more.
const LOOKS: usize = 16;
/// The time for one look; a file that cannot be looked at for so long counts as one that has not changed.
const LOOK_LIMIT: Duration = Duration::from_secs(1);
/// Longest identifier (bytes).
const LONGEST_ID: usize = 255;

/// A request, in our terms.
#[derive(Debug, PartialEq)]
pub(super) enum Order {
    /// Begins a monitor.
    Begin(Wish),
    /// Ends the monitor of this name, or all of the process.
    Cancel(Option<String>),
}

/// A monitor that is asked for.
#[derive(Debug, PartialEq)]
pub(super) struct Wish {
    path: PathBuf,
    /// The aspects of which one has to change: size, time of access, time of modification.
    aspects: [bool; 3],
    every: Duration,
    drops: u32,
    pub(super) id: Option<String>,
    /// The code of the alert.
    pub(super) code: Status,
    /// Its range: a `PMIX_RANGE_*` number.
    pub(super) range: u8,
    /// The processes of a custom range.
    pub(super) named: Option<Value>,
}

/// Translates a request (spec L102, L137). All that is asked for is done, or the request is refused.
///
/// # Errors
/// `PMIX_ERR_NOT_SUPPORTED` for heartbeats and for unknown directives, `PMIX_ERR_BAD_PARAM` for values that make no
/// sense.
pub(super) fn order(monitor: &Info, code: Status, directives: &[Info]) -> Result<Order, Status> {
    if monitor.is(sys::PMIX_MONITOR_CANCEL) {
        let id = monitor.value.as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        return if directives.is_empty() { Ok(Order::Cancel(id)) } else { Err(Status::NOT_SUPPORTED) };
    }
    // libpmix takes heartbeats itself and passes none on.
    if !monitor.is(sys::PMIX_MONITOR_FILE) {
        return Err(Status::NOT_SUPPORTED);
    }
    let known = [
        sys::PMIX_MONITOR_FILE_SIZE,
        sys::PMIX_MONITOR_FILE_ACCESS,
        sys::PMIX_MONITOR_FILE_MODIFY,
        sys::PMIX_MONITOR_FILE_CHECK_TIME,
        sys::PMIX_MONITOR_FILE_DROPS,
        sys::PMIX_MONITOR_ID,
        sys::PMIX_RANGE,
        sys::PMIX_EVENT_CUSTOM_RANGE,
    ];
    if let Some(other) = directives.iter().find(|info| !known.iter().any(|key| info.is(key))) {
        tracing::warn!(key = other.key, "a directive of PMIx_Process_monitor is not obeyed");
        return Err(Status::NOT_SUPPORTED);
    }
    let given = |key: &CStr| directives.iter().find(|info| info.is(key)).map(|info| &info.value);
    let says = |key| given(key).is_some_and(|value| *value != Value::Bool(false));
    let number = |key| {
        let value = given(key).map(Value::as_i64);
        value.map(|number| number.and_then(|number| u32::try_from(number).ok()).ok_or(Status::BAD_PARAM)).transpose()
    };
    let path = monitor.value.as_str().map(Path::new).filter(|path| path.is_absolute()).ok_or(Status::BAD_PARAM)?;
    let aspects = [sys::PMIX_MONITOR_FILE_SIZE, sys::PMIX_MONITOR_FILE_ACCESS, sys::PMIX_MONITOR_FILE_MODIFY].map(says);
    let every = number(sys::PMIX_MONITOR_FILE_CHECK_TIME)?.unwrap_or(0);
    let drops = number(sys::PMIX_MONITOR_FILE_DROPS)?.unwrap_or(1).max(1);
    let range = match given(sys::PMIX_RANGE) {
        None => sys::PMIX_RANGE_NAMESPACE as u8,
        Some(Value::Range(range)) => *range,
        Some(_) => return Err(Status::BAD_PARAM),
    };
    let ranges = [sys::PMIX_RANGE_NAMESPACE, sys::PMIX_RANGE_SESSION, sys::PMIX_RANGE_GLOBAL, sys::PMIX_RANGE_CUSTOM];
    if !ranges.contains(&range.into()) {
        return Err(Status::NOT_SUPPORTED);
    }
    let id = match given(sys::PMIX_MONITOR_ID) {
        None => None,
        Some(Value::String(id)) if (1..=LONGEST_ID).contains(&id.len()) => Some(id.clone()),
        Some(_) => return Err(Status::BAD_PARAM),
    };
    // The event comes from the DVM: a process may not choose the code of one that only the DVM raises.
    if every == 0 || !aspects.contains(&true) || !is_code_of_alert(code) {
        return Err(Status::BAD_PARAM);
    }
    let named = given(sys::PMIX_EVENT_CUSTOM_RANGE).cloned();
    let every = Duration::from_secs(every.into());
    Ok(Order::Begin(Wish { path: path.to_owned(), aspects, every, drops, id, code, range, named }))
}

fn is_code_of_alert(code: Status) -> bool {
    let is_of_program = code.0 <= sys::PMIX_EXTERNAL_ERR_BASE && code.0 != FERRITE_NODES_STAY.0;
    code.0 == sys::PMIX_MONITOR_FILE_ALERT || is_of_program
}

impl Wish {
    /// The infos of the alert: the process that is affected, and the name of the monitor.
    pub(super) fn alert(&self, proc: Proc) -> Vec<Info> {
        let mut info = vec![Info::new(sys::PMIX_EVENT_AFFECTED_PROC, Value::Proc(proc))];
        info.extend(self.id.iter().map(|id| Info::new(sys::PMIX_MONITOR_ID, id.as_str())));
        info.extend(self.named.iter().map(|named| Info::new(sys::PMIX_EVENT_CUSTOM_RANGE, named.clone())));
        info
    }

    /// Waits until the file has not changed for as many checks as the request allows.
    pub(super) async fn stall(&self, looks: &Arc<Semaphore>) {
        let mut stall = Stall { drops: self.drops, ..Stall::default() };
        let mut open: Option<JoinHandle<Seen>> = None;
        stall.note(look(&self.path, self.aspects, looks, &mut open).await);
        loop {
            tokio::time::sleep(self.every).await;
            if stall.note(look(&self.path, self.aspects, looks, &mut open).await) {
                return;
            }
        }
    }
}

/// Size, access and modification of a file, as far as they count. `None` = there is no such file.
type Seen = Option<[Option<i128>; 3]>;

/// Looks at a file beside the event loop. `Err` when nothing was learnt. A look that hangs goes on in `open`.
async fn look(
    path: &Path,
    aspects: [bool; 3],
    looks: &Arc<Semaphore>,
    open: &mut Option<JoinHandle<Seen>>,
) -> Result<Seen, ()> {
    if open.is_none() {
        let (path, turn) = (path.to_owned(), looks.clone().try_acquire_owned().map_err(|_| ())?);
        *open = Some(tokio::task::spawn_blocking(move || {
            let _turn = turn;
            seen(&path, aspects)
        }));
    }
    let Some(handle) = open.as_mut() else { return Err(()) };
    let result = tokio::time::timeout(LOOK_LIMIT, handle).await.map_err(|_| ())?;
    *open = None;
    result.map_err(|_| ())
}

fn seen(path: &Path, [size, access, modification]: [bool; 3]) -> Seen {
    let there = std::fs::metadata(path).ok()?;
    let time = |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    Some([
        size.then(|| i128::from(there.size())),
        access.then(|| time(there.atime(), there.atime_nsec())),
        modification.then(|| time(there.mtime(), there.mtime_nsec())),
    ])
}

/// Counts the checks at which a file has not changed.
#[derive(Default)]
struct Stall {
    drops: u32,
    misses: u32,
    begun: bool,
    last: Seen,
}

impl Stall {
    /// Notes a check. True when the file has stalled. The first check only tells how the file is.
    fn note(&mut self, check: Result<Seen, ()>) -> bool {
        let is_new = check.is_ok_and(|seen| seen != self.last);
        if let (true, Ok(seen)) = (is_new, check) {
            self.last = seen;
        }
        match is_new || !self.begun {
            true => self.misses = 0,
            false => self.misses += 1,
        }
        self.begun = true;
        self.misses >= self.drops
    }
}

/// The monitors of local processes.
pub(super) struct Monitors {
    next: u64,
    all: BTreeMap<ProcId, BTreeMap<u64, Monitor>>,
    pub(super) looks: Arc<Semaphore>,
}

struct Monitor {
    id: Option<String>,
    /// Its task, once it runs.
    task: Option<JoinHandle<()>>,
}

impl Drop for Monitor {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Default for Monitors {
    fn default() -> Monitors {
        Monitors { next: 0, all: BTreeMap::new(), looks: Arc::new(Semaphore::new(LOOKS)) }
    }
}

impl Monitors {
    /// Makes room for a monitor and returns its number.
    ///
    /// # Errors
    /// `PMIX_ERR_EXISTS` for a name that another one of the process has, `PMIX_ERR_OUT_OF_RESOURCE` for one too many.
    pub(super) fn enter(&mut self, proc: ProcId, id: Option<String>) -> Result<u64, Status> {
        let all = self.all.values().map(BTreeMap::len).sum::<usize>();
        let own = self.all.entry(proc).or_default();
        if id.is_some() && own.values().any(|monitor| monitor.id == id) {
            return Err(Status(sys::PMIX_ERR_EXISTS));
        }
        if own.len() >= MOST_OF_PROCESS || all >= MOST {
            return Err(Status::OUT_OF_RESOURCE);
        }
        self.next += 1;
        own.insert(self.next, Monitor { id, task: None });
        Ok(self.next)
    }

    /// Hands a monitor its task, which ends with it.
    pub(super) fn begin(&mut self, proc: ProcId, number: u64, task: JoinHandle<()>) {
        match self.all.get_mut(&proc).and_then(|own| own.get_mut(&number)) {
            Some(monitor) => monitor.task = Some(task),
            None => task.abort(),
        }
    }

    /// Forgets a monitor whose alert is raised: its task ends by itself.
    pub(super) fn leave(&mut self, proc: ProcId, number: u64) {
        let Some(own) = self.all.get_mut(&proc) else { return };
        if let Some(mut monitor) = own.remove(&number) {
            monitor.task = None;
        }
        if own.is_empty() {
            self.all.remove(&proc);
        }
    }

    /// Ends the monitor of this name, or all of a process.
    ///
    /// # Errors
    /// `PMIX_ERR_NOT_FOUND` when the process has none of that name.
    pub(super) fn cancel(&mut self, proc: ProcId, id: Option<&str>) -> Result<(), Status> {
        let Some(id) = id else {
            self.all.remove(&proc);
            return Ok(());
        };
        let own = self.all.get_mut(&proc).ok_or(Status::NOT_FOUND)?;
        let before = own.len();
        own.retain(|_, monitor| monitor.id.as_deref() != Some(id));
        if own.len() < before { Ok(()) } else { Err(Status::NOT_FOUND) }
    }

    /// Ends the monitors of a job.
    pub(super) fn forget(&mut self, job: JobId) {
        self.all.retain(|proc, _| proc.job != job);
    }
}

impl Shared {
    /// Begins a monitor of a process, or ends some.
    pub(super) fn monitor(self: &Rc<Self>, proc: &Proc, order: Order) -> Result<(), Status> {
        let proc = calls::find(proc, &self.names.borrow()).ok_or(Status::NOT_SUPPORTED)?;
        let wish = match order {
            Order::Begin(wish) => wish,
            Order::Cancel(id) => return self.monitors.borrow_mut().cancel(proc, id.as_deref()),
        };
        // The range is checked now: an alert has nobody whom its refusal could reach.
        self.alert(proc, &wish)?;
        let (number, looks) = {
            let mut monitors = self.monitors.borrow_mut();
            (monitors.enter(proc, wish.id.clone())?, monitors.looks.clone())
        };
        let shared = Rc::clone(self);
        let task = spawn_local(async move {
            wish.stall(&looks).await;
            shared.monitors.borrow_mut().leave(proc, number);
            if let Ok((event, range)) = shared.alert(proc, &wish) {
                // The machine is gone only while this process is ending.
                let call = PmixCall::Alert { proc, event, range };
                let _ = shared.inbox.send(Input::Daemon(DaemonInput::Pmix(call)));
            }
        });
        self.monitors.borrow_mut().begin(proc, number, task);
        Ok(())
    }

    /// The event of a monitor, and its addressees.
    fn alert(&self, proc: ProcId, wish: &Wish) -> Result<(Box<PmixEvent>, EventRange), Status> {
        let info = wish.alert(self.name(proc));
        let event = events::raised(&self.dvm, EventSource::Proc(proc), wish.code, wish.range, &info)?;
        event.ok_or(Status::NOT_SUPPORTED)
    }

    pub(super) fn end_monitors(&self, proc: ProcId) {
        let _ = self.monitors.borrow_mut().cancel(proc, None);
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::Rank;

    use super::*;

    const ALERT: Status = Status(sys::PMIX_MONITOR_FILE_ALERT);

    fn file() -> Info {
        Info::new(sys::PMIX_MONITOR_FILE, "/tmp/file")
    }

    fn good() -> Vec<Info> {
        vec![
            Info::new(sys::PMIX_MONITOR_FILE_CHECK_TIME, 2u32),
            Info::new(sys::PMIX_MONITOR_FILE_SIZE, true),
            Info::new(sys::PMIX_MONITOR_FILE_DROPS, 3u32),
            Info::new(sys::PMIX_MONITOR_ID, "a"),
        ]
    }

    fn with(info: Info) -> Result<(), Status> {
        let kept = good().into_iter().filter(|other| other.key != info.key);
        let all: Vec<Info> = kept.chain([info.clone()]).collect();
        order(&file(), ALERT, &all).map(drop)
    }

    /// Requests (spec L102).
    #[test]
    fn a_request_is_understood_whole_or_refused() {
        let wish = Wish {
            path: PathBuf::from("/tmp/file"),
            aspects: [true, false, false],
            every: Duration::from_secs(2),
            drops: 3,
            id: Some("a".to_owned()),
            code: ALERT,
            range: sys::PMIX_RANGE_NAMESPACE as u8,
            named: None,
        };
        assert_eq!(order(&file(), ALERT, &good()), Ok(Order::Begin(wish)));
        let cancel = |value: Value| order(&Info::new(sys::PMIX_MONITOR_CANCEL, value), Status::SUCCESS, &[]);
        assert_eq!(cancel("a".into()), Ok(Order::Cancel(Some("a".to_owned()))));
        assert_eq!(cancel("".into()), Ok(Order::Cancel(None)));
        let beat = Info::new(sys::PMIX_MONITOR_HEARTBEAT, true);
        assert_eq!(order(&beat, ALERT, &good()), Err(Status::NOT_SUPPORTED));
        assert_eq!(with(Info::new(sys::PMIX_MONITOR_APP_CONTROL, true)), Err(Status::NOT_SUPPORTED));
        assert_eq!(
            with(Info::new(sys::PMIX_RANGE, Value::Range(sys::PMIX_RANGE_RM as u8))),
            Err(Status::NOT_SUPPORTED)
        );
        assert_eq!(with(Info::new(sys::PMIX_MONITOR_FILE_CHECK_TIME, 0u32)), Err(Status::BAD_PARAM));
        assert_eq!(with(Info::new(sys::PMIX_MONITOR_FILE_DROPS, "x")), Err(Status::BAD_PARAM));
        assert_eq!(with(Info::new(sys::PMIX_MONITOR_FILE_SIZE, false)), Err(Status::BAD_PARAM), "nothing to look at");
        assert_eq!(with(Info::new(sys::PMIX_MONITOR_ID, "")), Err(Status::BAD_PARAM));
        let relative = Info::new(sys::PMIX_MONITOR_FILE, "file");
        assert_eq!(order(&relative, ALERT, &good()), Err(Status::BAD_PARAM));
    }

    /// Codes (spec L137).
    #[test]
    fn an_alert_cannot_look_like_another_event_of_the_dvm() {
        let own = Status(sys::PMIX_EXTERNAL_ERR_BASE - 7);
        assert!(order(&file(), own, &good()).is_ok());
        let stays = Status(FERRITE_NODES_STAY.0);
        for code in [Status::EVENT_JOB_END, Status::PROC_ABORTED, Status::SUCCESS, Status(7), stays] {
            assert_eq!(order(&file(), code, &good()), Err(Status::BAD_PARAM), "{code:?}");
        }
    }

    #[test]
    fn a_file_stalls_when_it_has_not_changed_for_so_many_checks() {
        let mut stall = Stall { drops: 2, ..Stall::default() };
        let size = |size: i128| Ok(Some([Some(size), None, None]));
        let checks = [
            (Ok(None), false),
            (Ok(None), false),
            (size(1), false),
            (size(1), false),
            (size(2), false),
            (Err(()), false),
            (size(2), true),
        ];
        for (at, (check, stalls)) in checks.into_iter().enumerate() {
            assert_eq!(stall.note(check), stalls, "check {at}");
        }
    }

    #[test]
    fn monitors_are_bounded_have_names_of_their_own_and_end_with_their_process() {
        let proc = |rank| ProcId { job: JobId(1), rank: Rank(rank) };
        let mut monitors = Monitors::default();
        let first = monitors.enter(proc(0), Some("a".to_owned())).unwrap();
        assert_eq!(monitors.enter(proc(0), Some("a".to_owned())), Err(Status(sys::PMIX_ERR_EXISTS)));
        assert!(monitors.enter(proc(1), Some("a".to_owned())).is_ok(), "names are of one process");
        assert!((1..MOST_OF_PROCESS).all(|_| monitors.enter(proc(0), None).is_ok()));
        assert_eq!(monitors.enter(proc(0), None), Err(Status::OUT_OF_RESOURCE));
        monitors.leave(proc(0), first);
        assert_eq!(monitors.cancel(proc(0), Some("a")), Err(Status::NOT_FOUND));
        assert_eq!(monitors.cancel(proc(1), Some("a")), Ok(()));
        assert!(monitors.cancel(proc(0), None).is_ok() && !monitors.all.contains_key(&proc(0)));
        assert!(monitors.enter(proc(0), None).is_ok());
        monitors.forget(JobId(1));
        assert!(monitors.all.is_empty());
    }

    #[test]
    fn a_file_that_is_written_has_changed_and_looks_are_few_at_a_time() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        assert_eq!(seen(&path, [true; 3]), None);
        std::fs::write(&path, "a").unwrap();
        let before = seen(&path, [true, false, false]);
        std::fs::write(&path, "ab").unwrap();
        assert_ne!(seen(&path, [true, false, false]), before);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (looks, mut open) = (Arc::new(Semaphore::new(1)), None);
            assert_eq!(look(&path, [true, false, false], &looks, &mut open).await, Ok(Some([Some(2), None, None])));
            let _all = looks.clone().try_acquire_owned().unwrap();
            assert_eq!(look(&path, [true; 3], &looks, &mut open).await, Err(()));
        });
    }
}
