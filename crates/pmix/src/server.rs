//! The server: started once, told about jobs, stopped once. It holds the library, the receiver of upcalls, and the
//! direct modex requests that the library has not answered yet.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_void};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use bytes::Bytes;
use ferrite_pmix_sys as sys;
use ferrite_pmix_sys::{Functions, Library, OpenError, Version};
use serde::{Deserialize, Serialize};

use crate::array::InfoArray;
use crate::flood::Floodgate;
use crate::job::{Compress, describe};
use crate::progress::Progress;
use crate::value::slice;
use crate::{Info, JobInfo, Proc, Status, Upcall, Value, module};

/// The library has one server per process, and its upcalls carry no context.
static ACTIVE: RwLock<Option<Arc<Inner>>> = RwLock::new(None);
/// Opened by the first start and kept: threads of the library may outlive a server.
static LIBRARY: Mutex<Option<&'static Library>> = Mutex::new(None);

/// The identity and directories of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerConfig {
    /// The directory of this daemon, mode 0700; must exist.
    #[serde(with = "crate::protocol::path")]
    pub tmpdir: PathBuf,
    /// Directory in which system-wide tools look; must exist.
    #[serde(with = "crate::protocol::path")]
    pub system_tmpdir: PathBuf,
    /// The name of the DVM, with which the namespaces of its jobs begin.
    pub dvm: String,
    /// The namespace of this server: that of the DVM's daemons, or the one that the caller has given it.
    pub nspace: String,
    /// The server's rank in it.
    pub rank: u32,
    /// This machine's name in job maps.
    pub hostname: String,
    /// True to admit tools, and to report those that vanish. The caller decides how they find the server.
    pub tool_support: bool,
    /// True to look for the machine's topology beside the library's start, because a job follows whose processes get
    /// it ([`crate::SHARED_FROM`]). The library itself shares nothing.
    pub share_topology: bool,
    /// The address of a tool that has started this launcher; it has to be the value of `PMIX_LAUNCHER_RNDZ_URI` too.
    /// The start calls the tool, and returns when it lets the launcher go on (`PMIX_DEBUGGER_RELEASE`);
    /// [`Server::called_by`] has its directives (spec L147).
    pub caller: Option<String>,
}

/// A tool that has started a launcher and lets it go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalledBy {
    /// The tool's name.
    pub tool: Proc,
    /// What the tool asks of the launcher's job (`PMIX_LAUNCH_DIRECTIVES`).
    pub directives: Vec<Info>,
}

/// The reason why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// libpmix could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is a server in this process already.
    #[error("a PMIx server runs in this process already")]
    AlreadyRunning,
    /// A name does not fit into the library's fields.
    #[error("{what} {name:?} is longer than {} bytes or contains a NUL", sys::PMIX_MAX_NSLEN)]
    BadName {
        /// The kind of name: namespace, host or path.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The library refused a call.
    #[error("libpmix {call} failed for {subject}: {status}")]
    Call {
        /// The function.
        call: &'static str,
        /// The namespace, process or directory.
        subject: String,
        /// The library's reason.
        status: Status,
    },
}

type DmodexDone = Box<dyn FnOnce(Result<Bytes, Status>) + Send>;

/// State that the callbacks need; it lives until the last of them is gone.
pub(crate) struct Inner {
    functions: &'static Functions,
    receiver: Box<dyn Fn(Upcall) + Send + Sync>,
    progress: Arc<Progress>,
    me: Proc,
    dvm: String,
    version: Version,
    started: Instant,
    floodgate: Mutex<Floodgate>,
    dmodex: Mutex<Dmodex>,
    /// Callback data of group operations that are not answered yet, as numbers.
    groups: Mutex<BTreeSet<usize>>,
    /// The namespaces of the jobs that are registered.
    jobs: Mutex<BTreeSet<String>>,
}

#[derive(Default)]
struct Dmodex {
    next: usize,
    waiting: BTreeMap<usize, (Proc, DmodexDone)>,
}

impl Inner {
    fn jobs(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes libpmix 7 forget a namespace that is no job's: after its first question it would let the next callers wait
    /// for the registration, without a question.
    pub(crate) fn forget_stranger(&self, nspace: &str) {
        // Its registration, if it comes now, waits for the lock and so comes after this.
        let jobs = self.jobs();
        if self.version.major < 7 || jobs.contains(nspace) {
            return;
        }
        if let Some(whole) = Proc::new(nspace, Proc::WILDCARD).to_raw() {
            // SAFETY: the library copies the name.
            unsafe {
                self.functions.PMIx_server_deregister_nspace(whole.nspace.as_ptr(), Some(ignore), std::ptr::null_mut());
            }
        }
        drop(jobs);
    }

    pub(crate) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    pub(crate) fn receive(&self, upcall: Upcall) {
        (self.receiver)(upcall);
    }

    /// The name of this server.
    pub(crate) fn me(&self) -> &Proc {
        &self.me
    }

    /// True unless this client, or the node, raises more events than it may.
    pub(crate) fn admits_event(&self, source: &Proc, info: &[Info]) -> bool {
        let bytes = postcard::to_stdvec(info).map_or(u64::MAX, |bytes| bytes.len() as u64);
        self.floodgate().admits(source, bytes, self.started.elapsed())
    }

    /// True for the first event of a client that is refused.
    pub(crate) fn is_first_refused_event(&self, source: &Proc) -> bool {
        self.floodgate().is_news(source)
    }

    fn floodgate(&self) -> MutexGuard<'_, Floodgate> {
        self.floodgate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True for a library that answers success when an event is refused by the return value. It takes
    /// "in progress" with a later callback, which others do not expect.
    pub(crate) fn hides_refused_events(&self) -> bool {
        self.version.major == 4
    }

    /// The name of the DVM, with which the namespaces of its jobs begin.
    pub(crate) fn dvm(&self) -> &str {
        &self.dvm
    }

    /// Notes a group operation by its callback data; false for one that waits for its answer already. libpmix 5.0.7
    /// asks twice for the end of a group whose members are all of this node, and a second answer would free its data
    /// again.
    pub(crate) fn begin_group(&self, data: usize) -> bool {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner).insert(data)
    }

    /// Forgets a group operation, which is being answered.
    pub(crate) fn end_group(&self, data: usize) {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner).remove(&data);
    }

    fn dmodex(&self) -> MutexGuard<'_, Dmodex> {
        self.dmodex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails the waiting requests for all processes that `gone` selects. The library forgets such requests silently.
    fn fail_dmodex(&self, status: Status, gone: impl Fn(&Proc) -> bool) {
        let failed: Vec<_> = {
            let mut dmodex = self.dmodex();
            let ids: Vec<_> = dmodex.waiting.iter().filter(|(_, (proc, _))| gone(proc)).map(|(id, _)| *id).collect();
            ids.iter().filter_map(|id| dmodex.waiting.remove(id)).collect()
        };
        for (_, done) in failed {
            done(Err(status));
        }
    }
}

pub(crate) fn active() -> Option<Arc<Inner>> {
    ACTIVE.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn set_active(inner: Option<Arc<Inner>>) {
    *ACTIVE.write().unwrap_or_else(PoisonError::into_inner) = inner;
}

/// The running server; one per process. Dropping it stops it.
pub struct Server {
    inner: Arc<Inner>,
    version: Version,
    running: bool,
}

impl Server {
    /// Opens libpmix and starts its server: a few milliseconds, during which the caller is blocked. `receiver` is
    /// called on the library's thread; it must pass the upcall on and return.
    ///
    /// # Errors
    /// When there is no usable library, a server already, or the library cannot start (its directories, usually).
    pub fn start(config: &ServerConfig, receiver: impl Fn(Upcall) + Send + Sync + 'static) -> Result<Self, Error> {
        let mut library = LIBRARY.lock().unwrap_or_else(PoisonError::into_inner);
        if active().is_some() {
            return Err(Error::AlreadyRunning);
        }
        let opened = match *library {
            Some(opened) => opened,
            None => library.insert(Box::leak(Box::new(Library::open()?))),
        };
        let me = Proc::new(&config.nspace, config.rank);
        raw_proc(&me)?;
        let functions = opened.functions();
        let inner = Arc::new(Inner {
            functions,
            receiver: Box::new(receiver),
            progress: Arc::new(Progress::new(functions)),
            me,
            dvm: config.dvm.clone(),
            version: opened.version(),
            started: Instant::now(),
            floodgate: Mutex::new(Floodgate::new()),
            dmodex: Mutex::default(),
            groups: Mutex::default(),
            jobs: Mutex::default(),
        });
        // This comes before the call, because upcalls may come before it returns.
        set_active(Some(Arc::clone(&inner)));
        if let Err(error) = initialize(opened, config) {
            set_active(None);
            return Err(error);
        }
        let server = Self { inner, version: opened.version(), running: true };
        if config.tool_support {
            server.watch_connections()?;
        }
        Ok(server)
    }

    /// Returns the release of the library.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the tool that [`ServerConfig::caller`] names, and its directives. `None` without one, and for a library
    /// that does not know it.
    pub fn called_by(&self) -> Option<CalledBy> {
        let Value::Proc(tool) = self.own_value(self.inner.me.rank, sys::PMIX_PARENT_ID)? else { return None };
        let directives = match self.own_value(Proc::WILDCARD, sys::PMIX_LAUNCH_DIRECTIVES) {
            Some(Value::Infos(directives)) => directives,
            _ => Vec::new(),
        };
        Some(CalledBy { tool, directives })
    }

    /// Returns a value that the library has for a rank of the server's own namespace.
    fn own_value(&self, rank: u32, key: &CStr) -> Option<Value> {
        let of = Proc::new(&self.inner.me.nspace, rank).to_raw()?;
        let mut here = InfoArray::new(&[Info::new(sys::PMIX_OPTIONAL, true)]);
        let mut value: *mut sys::pmix_value_t = std::ptr::null_mut();
        // SAFETY: the library reads name, key and info during the call, and returns a value of its own.
        let status =
            unsafe { self.inner.functions.PMIx_Get(&of, key.as_ptr(), here.as_mut_ptr(), here.len(), &mut value) };
        if Status(status).into_result().is_err() || value.is_null() {
            return None;
        }
        // SAFETY: the value was allocated with malloc and is now ours.
        unsafe {
            let found = Value::from_raw(value);
            self.inner.functions.PMIx_Value_destruct(value);
            libc::free(value.cast());
            Some(found)
        }
    }

    /// Returns the library's port on 127.0.0.1, unless its listener was replaced.
    pub fn port(&self) -> Option<u16> {
        let env = self.fork_env(&self.inner.me.to_raw()?, "the server itself").ok()?;
        let uri = env.into_iter().find(|(name, _)| name == "PMIX_SERVER_URI41")?.1;
        uri.rsplit(':').next()?.parse().ok()
    }

    /// Tells the library about a job and its local processes. Blocks for the length of one round of the library's
    /// thread: 0.2 ms and about 0.01 ms per local process.
    ///
    /// # Errors
    /// When a name does not fit, or the library refuses.
    pub fn register_job(&self, job: &JobInfo) -> Result<(), Error> {
        let functions = self.inner.functions;
        let whole = raw_proc(&Proc::new(&job.nspace, Proc::WILDCARD))?;
        self.inner.jobs().insert(job.nspace.clone());
        for local in &job.local {
            let proc = sys::pmix_proc_t { rank: local.rank, ..whole };
            // SAFETY: the library copies the name. With a callback the call does not wait; the registration below runs
            // after it.
            let status = unsafe {
                functions.PMIx_server_register_client(
                    &proc,
                    job.uid,
                    job.gid,
                    std::ptr::null_mut(),
                    Some(ignore),
                    std::ptr::null_mut(),
                )
            };
            check("register_client", &job.nspace, status)?;
        }
        let mut infos = InfoArray::new(&describe(job, &LibraryCompress(functions)));
        let count = i32::try_from(job.local.len()).unwrap_or(i32::MAX);
        // SAFETY: without a callback the call returns when the library is done with the array.
        let status = unsafe {
            functions.PMIx_server_register_nspace(
                whole.nspace.as_ptr(),
                count,
                infos.as_mut_ptr(),
                infos.len(),
                None,
                std::ptr::null_mut(),
            )
        };
        check("register_nspace", &job.nspace, status)
    }

    /// Forgets a job and its processes, and fails the requests for their data. Does not block.
    pub fn deregister_job(&self, nspace: &str) {
        self.inner.jobs().remove(nspace);
        if let Some(whole) = Proc::new(nspace, Proc::WILDCARD).to_raw() {
            // SAFETY: the library copies the name.
            unsafe {
                self.inner.functions.PMIx_server_deregister_nspace(
                    whole.nspace.as_ptr(),
                    Some(ignore),
                    std::ptr::null_mut(),
                );
            }
        }
        self.inner.fail_dmodex(Status::NOT_FOUND, |proc| proc.nspace == nspace);
    }

    /// Forgets a namespace of tools that have left; `done` is called on the library's thread. Does not block.
    pub fn forget_tools(&self, nspace: &str, done: impl FnOnce() + Send + 'static) {
        self.deregister_job(nspace);
        // The library's thread takes both in order.
        self.inner.progress().run(Box::new(done));
    }

    /// Defines a process set. Processes of this node get the event `PMIX_PROCESS_SET_DEFINE`. Blocks for one round of
    /// the library's thread.
    ///
    /// # Errors
    /// When a name does not fit, or the library refuses.
    pub fn define_set(&self, name: &str, members: &[Proc]) -> Result<(), Error> {
        let members = members.iter().map(raw_proc).collect::<Result<Vec<_>, _>>()?;
        let c_name = set_name(name)?;
        // SAFETY: the library copies names and members before it returns.
        let status = unsafe {
            self.inner.functions.PMIx_server_define_process_set(members.as_ptr(), members.len(), c_name.as_ptr())
        };
        check("define_process_set", name, status)
    }

    /// Deletes a process set. Processes of this node get the event `PMIX_PROCESS_SET_DELETE`. Blocks for one round of
    /// the library's thread.
    ///
    /// # Errors
    /// When the name does not fit, or the library refuses.
    pub fn delete_set(&self, name: &str) -> Result<(), Error> {
        let c_name = set_name(name)?.into_raw();
        // SAFETY: the library reads the name, which is on the heap, before it returns; it is taken back here.
        let status = unsafe {
            let status = self.inner.functions.PMIx_server_delete_process_set(c_name);
            drop(CString::from_raw(c_name));
            status
        };
        check("delete_process_set", name, status)
    }

    /// Returns the environment by which a registered process finds this server. It names the library's own port: a
    /// process that is started with it bypasses the front door.
    ///
    /// # Errors
    /// When the process was not registered.
    pub fn client_env(&self, nspace: &str, rank: u32) -> Result<Vec<(String, String)>, Error> {
        self.fork_env(&raw_proc(&Proc::new(nspace, rank))?, nspace)
    }

    /// Asks for the data of a local process on behalf of another node. `done` is called once, on the library's thread
    /// as soon as the process has published it, or with an error when its job is deregistered or the server stopped.
    pub fn dmodex_get(&self, proc: &Proc, done: impl FnOnce(Result<Bytes, Status>) + Send + 'static) {
        let Some(raw) = proc.to_raw() else {
            done(Err(Status::BAD_PARAM));
            return;
        };
        let id = {
            let mut dmodex = self.inner.dmodex();
            dmodex.next += 1;
            let id = dmodex.next;
            dmodex.waiting.insert(id, (proc.clone(), Box::new(done)));
            id
        };
        // SAFETY: the library copies the name; the data pointer is a number that is looked up, never followed.
        let status =
            unsafe { self.inner.functions.PMIx_server_dmodex_request(&raw, Some(dmodex_done), id as *mut c_void) };
        if let Err(status) = Status(status).into_result() {
            finish_dmodex(&self.inner, id, Err(status));
        }
    }

    /// Tells processes of this node about an event; their receipt is not confirmed.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn notify(&self, notice: &Notice) -> Result<(), Error> {
        let source = raw_proc(&notice.source)?;
        let mut infos = notice.info.clone();
        let range = match &notice.to {
            Audience::Namespace => sys::PMIX_RANGE_NAMESPACE,
            Audience::Node => sys::PMIX_RANGE_LOCAL,
            Audience::Procs(procs) => {
                infos.push(Info::new(sys::PMIX_EVENT_CUSTOM_RANGE, Value::Procs(procs.clone())));
                sys::PMIX_RANGE_CUSTOM
            }
        };
        let mut told = Box::new(Told { source, infos: InfoArray::new(&infos) });
        let (raw, len) = (told.infos.as_mut_ptr(), told.infos.len());
        let told = Box::into_raw(told);
        // SAFETY: name and array live until the callback, or until the call says that there will be none: libpmix 7
        // reads both on its own thread.
        let status = unsafe {
            self.inner.functions.PMIx_Notify_event(
                notice.code.0,
                &raw const (*told).source,
                range as sys::pmix_data_range_t,
                raw,
                len,
                Some(free_notice),
                told.cast(),
            )
        };
        if Status(status) != Status::SUCCESS {
            // SAFETY: the callback comes only after success, so the notice is still ours.
            drop(unsafe { Box::from_raw(told) });
        }
        check("Notify_event", &notice.source.nspace, status)
    }

    /// Runs `done` on the library's thread: proof that it works.
    pub fn ping(&self, done: impl FnOnce() + Send + 'static) {
        self.inner.progress().run(Box::new(done));
    }

    /// Asks on the library's thread whether `is_all_read`, and runs `done` there with the answer when what was read by
    /// then is handled (spec L133).
    pub fn hear_out(&self, is_all_read: fn() -> bool, done: impl FnOnce(bool) + Send + 'static) {
        let next = self.inner.progress();
        self.inner.progress().run(Box::new(move || {
            let all = is_all_read();
            // The thread has put what it has read behind this, and handles it first.
            next.run(Box::new(move || done(all)));
        }));
    }

    /// Passes output of a process to the tools that asked for it. `done` is called once, on the library's thread, when
    /// the library has sent it.
    ///
    /// # Errors
    /// When the library refuses; `done` is called then too.
    pub fn deliver_output(
        &self,
        source: &Proc,
        channel: OutputChannel,
        data: Bytes,
        done: impl FnOnce() + Send + 'static,
    ) -> Result<(), Error> {
        let mut delivery = Box::new(Delivery {
            source: raw_proc(source)?,
            object: sys::pmix_byte_object_t { bytes: std::ptr::null_mut(), size: data.len() },
            data,
            done: Some(Box::new(done)),
        });
        // The library only reads them.
        delivery.object.bytes = delivery.data.as_ptr().cast_mut().cast();
        let delivery = Box::into_raw(delivery);
        let channel = match channel {
            OutputChannel::Stdout => sys::PMIX_FWD_STDOUT_CHANNEL,
            OutputChannel::Stderr => sys::PMIX_FWD_STDERR_CHANNEL,
        };
        // SAFETY: name and bytes live until the callback, or until the call says that there will be none: the library
        // reads both on its own thread.
        let status = unsafe {
            self.inner.functions.PMIx_server_IOF_deliver(
                &raw const (*delivery).source,
                channel as sys::pmix_iof_channel_t,
                &raw const (*delivery).object,
                std::ptr::null(),
                0,
                Some(delivered),
                delivery.cast(),
            )
        };
        if Status(status) != Status::SUCCESS {
            // SAFETY: the callback comes only after success, so the delivery is still ours.
            drop(unsafe { Box::from_raw(delivery) });
        }
        check("IOF_deliver", &source.nspace, status)
    }

    /// Registers for lost connections, reported as [`Upcall::Lost`].
    fn watch_connections(&self) -> Result<(), Error> {
        let mut codes = [sys::PMIX_ERR_LOST_CONNECTION];
        // SAFETY: the library copies the codes. Without a callback it returns the handler's number, or an error below
        // zero.
        let status = unsafe {
            self.inner.functions.PMIx_Register_event_handler(
                codes.as_mut_ptr(),
                codes.len(),
                std::ptr::null_mut(),
                0,
                Some(module::connection_lost),
                None,
                std::ptr::null_mut(),
            )
        };
        if status >= 0 { Ok(()) } else { check("Register_event_handler", "lost connections", status) }
    }

    /// Stops the server: waits up to 200 ms so that the last answers leave, then finalizes the library.
    pub fn stop(mut self) {
        self.shut_down(true);
    }

    /// Leaves the library as it is, without a wait: for a process that is about to exit and whose clients are gone. The
    /// caller removes its directory. No server can be started after it.
    pub fn abandon(mut self) {
        self.running = false;
        self.inner.progress.close(false);
        self.inner.fail_dmodex(Status::NOT_RUNNING, |_| true);
    }

    fn shut_down(&mut self, flush: bool) {
        if !std::mem::take(&mut self.running) {
            return;
        }
        self.inner.progress.close(flush);
        // SAFETY: it was initialized, and the gate keeps every other thread out from here on.
        unsafe { self.inner.functions.PMIx_server_finalize() };
        set_active(None);
        self.inner.fail_dmodex(Status::NOT_RUNNING, |_| true);
    }

    fn fork_env(&self, proc: &sys::pmix_proc_t, subject: &str) -> Result<Vec<(String, String)>, Error> {
        let mut list: *mut *mut c_char = std::ptr::null_mut();
        // SAFETY: the library makes a list of its own, since ours is null.
        let status = unsafe { self.inner.functions.PMIx_server_setup_fork(proc, &mut list) };
        check("setup_fork", subject, status)?;
        // SAFETY: on success the list is null or ends with a null; it and its texts were allocated with malloc and are
        // now ours.
        unsafe {
            let pairs = module::argv(list);
            let mut next = list;
            while !next.is_null() && !(*next).is_null() {
                libc::free((*next).cast());
                next = next.add(1);
            }
            libc::free(list.cast());
            Ok(pairs.iter().filter_map(|pair| pair.split_once('=')).map(|(n, v)| (n.into(), v.into())).collect())
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shut_down(true);
    }
}

/// An event that the library has not taken over yet.
struct Told {
    source: sys::pmix_proc_t,
    infos: InfoArray,
}

/// Output on its way to a tool.
struct Delivery {
    source: sys::pmix_proc_t,
    data: Bytes,
    object: sys::pmix_byte_object_t,
    done: Option<Box<dyn FnOnce() + Send>>,
}

/// Dropping it, delivered or not, calls `done`.
impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            done();
        }
    }
}

unsafe extern "C" fn delivered(_status: sys::pmix_status_t, delivery: *mut c_void) {
    // SAFETY: `Server::deliver_output` passed it, and the library calls back once.
    drop(unsafe { Box::from_raw(delivery.cast::<Delivery>()) });
}

/// An output stream of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutputChannel {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// An event for local processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// The event.
    pub code: Status,
    /// The process that caused it.
    pub source: Proc,
    /// The processes that get it.
    pub to: Audience,
    /// Further data of the event.
    pub info: Vec<Info>,
}

/// The processes of this node that get an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audience {
    /// All processes of the source's namespace.
    Namespace,
    /// All processes of this node.
    Node,
    /// The listed processes.
    Procs(Vec<Proc>),
}

fn raw_proc(proc: &Proc) -> Result<sys::pmix_proc_t, Error> {
    proc.to_raw().ok_or_else(|| Error::BadName { what: "namespace", name: proc.nspace.clone() })
}

fn set_name(name: &str) -> Result<CString, Error> {
    CString::new(name).map_err(|_| Error::BadName { what: "process set", name: name.to_owned() })
}

fn check(call: &'static str, subject: &str, status: sys::pmix_status_t) -> Result<(), Error> {
    Status(status).into_result().map_err(|status| Error::Call { call, subject: subject.to_owned(), status })
}

fn initialize(library: &Library, config: &ServerConfig) -> Result<(), Error> {
    let tmpdir = config.tmpdir.to_string_lossy().into_owned();
    let infos = [
        Info::new(sys::PMIX_SERVER_TMPDIR, tmpdir.as_str()),
        Info::new(sys::PMIX_SYSTEM_TMPDIR, config.system_tmpdir.to_string_lossy().into_owned()),
        Info::new(sys::PMIX_SERVER_NSPACE, config.nspace.as_str()),
        Info::new(sys::PMIX_SERVER_RANK, Value::Rank(config.rank)),
        Info::new(sys::PMIX_HOSTNAME, config.hostname.as_str()),
        Info::new(sys::PMIX_IOF_LOCAL_OUTPUT, false),
        // True would only make the library write files of its own, for a port that has to stay unknown.
        Info::new(sys::PMIX_SERVER_TOOL_SUPPORT, false),
    ];
    let mut array = InfoArray::new(&infos);
    let mut module = module::table(library.version());
    let module_ptr = (&raw mut module).cast::<sys::pmix_server_module_t>();
    // SAFETY: the library copies the module and the infos; what is behind the entries of 4.2 covers what newer releases
    // read, and the pointer is to all of it.
    let status = unsafe { library.functions().PMIx_server_init(module_ptr, array.as_mut_ptr(), array.len()) };
    check("server_init", &tmpdir, status)
}

struct LibraryCompress<'a>(&'a Functions);

type Generate = unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> sys::pmix_status_t;

impl LibraryCompress<'_> {
    /// Returns the list itself when the library cannot shorten it, which the library understands too.
    fn compress(&self, generate: Generate, list: &str) -> Value {
        let plain = || Value::from(list);
        let Ok(list) = CString::new(list) else {
            return plain();
        };
        let mut regex: *mut c_char = std::ptr::null_mut();
        // SAFETY: the library gets a heap copy (it may write to it) and returns memory from malloc.
        let status = unsafe { generate(list.as_ptr(), &mut regex) };
        if Status(status).into_result().is_err() || regex.is_null() {
            return plain();
        }
        // SAFETY: what was just generated may contain NUL bytes, and only the library's own loader knows its length;
        // the copy is taken before the value and the regex are given back.
        unsafe {
            let mut value: sys::pmix_value_t = std::mem::zeroed();
            let loaded = self.0.PMIx_Value_load(&mut value, regex.cast(), sys::PMIX_REGEX as u16);
            let bytes = slice(value.data.bo.bytes.cast::<u8>(), value.data.bo.size).to_vec();
            self.0.PMIx_Value_destruct(&mut value);
            libc::free(regex.cast());
            if Status(loaded).into_result().is_ok() { Value::Regex(bytes) } else { plain() }
        }
    }
}

impl Compress for LibraryCompress<'_> {
    fn nodes(&self, list: &str) -> Value {
        self.compress(self.0.PMIx_generate_regex, list)
    }

    fn ranks(&self, list: &str) -> Value {
        self.compress(self.0.PMIx_generate_ppn, list)
    }
}

fn finish_dmodex(inner: &Inner, id: usize, result: Result<Bytes, Status>) {
    let waiting = inner.dmodex().waiting.remove(&id);
    if let Some((_, done)) = waiting {
        done(result);
    }
}

unsafe extern "C" fn dmodex_done(status: sys::pmix_status_t, bytes: *mut c_char, len: usize, id: *mut c_void) {
    // SAFETY: the library's blob is valid during the call, and stays its own.
    let blob = Bytes::copy_from_slice(unsafe { slice(bytes.cast::<u8>(), len) });
    if let Some(inner) = active() {
        finish_dmodex(&inner, id as usize, Status(status).into_result().map(|()| blob));
    }
}

unsafe extern "C" fn ignore(_status: sys::pmix_status_t, _data: *mut c_void) {}

unsafe extern "C" fn free_notice(_status: sys::pmix_status_t, told: *mut c_void) {
    // SAFETY: `Server::notify` passed it, and the library calls back once.
    drop(unsafe { Box::from_raw(told.cast::<Told>()) });
}
