//! Finds the live DVMs, and selects one. A DVM is found by the contact file in its session directory; it is live when a
//! process listens on its control socket. Only the user's own files are trusted.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ferrite_wire::DvmContact;
use ferrite_wire::control::{Reply, Request};
use ferrite_wire::dvm_contact::{
    CONTACT_FILE, DAEMON_SESSION_PREFIX, SESSION_PREFIX, batch_job, parse_uri, runtime_dirs,
};
use rustix::fs::{Mode, OFlags, open as open_file, openat};
use rustix::net::SocketFlags;
use rustix::process::Uid;
use thiserror::Error;

use crate::connection::{Channel, Connection, ConnectionError, is_of, reach};
use crate::remote::{Key, KeyError};
use crate::selector::{Patience, Selector, bare_name, parse_pid};

/// The environment of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// Directories in which DVMs make their session directories: the named ones, one after the other, and then the
    /// common ones. DVMs in an earlier group hide those in a later one.
    pub bases: Vec<Vec<PathBuf>>,
    /// Name of this host.
    pub host: String,
    /// Id of the surrounding batch job.
    pub batch: Option<String>,
}

impl Here {
    /// Reads the environment, and the parameter `prte_tmpdir_base`.
    #[must_use]
    pub fn of(host: String, tmpdir_base: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Here {
        let from_environment = variable("TMPDIR").filter(|dir| !dir.is_empty());
        let named = tmpdir_base.map(str::to_owned).into_iter().chain(from_environment);
        // A batch system gives each shell another TMPDIR, so the common places are searched as well.
        let mut common = runtime_dirs(&variable, rustix::process::getuid().as_raw());
        common.push("/tmp".to_owned());
        let mut bases: Vec<Vec<PathBuf>> = Vec::new();
        for group in named.map(|dir| vec![dir]).chain([common]) {
            let mut group: Vec<PathBuf> = group.into_iter().map(PathBuf::from).collect();
            group.retain(|base| !bases.iter().flatten().any(|known| known == base));
            bases.push(group);
        }
        Here { bases, host, batch: batch_job(variable) }
    }
}

/// The reason why no DVM was found.
#[derive(Debug, Error)]
pub enum FindError {
    /// There is no DVM.
    #[error("no DVM of yours is running on {host}: there is no live one under {}", places(.bases))]
    None {
        /// This host.
        host: String,
        /// The searched directories.
        bases: Vec<Vec<PathBuf>>,
    },
    /// No DVM matches.
    #[error("no DVM that is running on {host} is the one of {wanted}{}", list(.others))]
    NotThere {
        /// The user's selection.
        wanted: String,
        /// This host.
        host: String,
        /// The DVMs that run.
        others: Vec<DvmContact>,
    },
    /// More than one DVM matches.
    #[error("several DVMs of yours are running, and nothing says which one is meant{}", list(.candidates))]
    Several {
        /// The matching DVMs.
        candidates: Vec<DvmContact>,
    },
    /// The DVM is on another host.
    #[error("the DVM {dvm} runs on {there}, and this is {host}")]
    Elsewhere {
        /// The DVM's name.
        dvm: String,
        /// The DVM's host.
        there: String,
        /// This host.
        host: String,
    },
    /// The DVM is on another host, and its key cannot be read.
    #[error("the DVM {dvm} runs on {there}, and its key {} {cause}", .path.display())]
    Key {
        /// The DVM's name.
        dvm: String,
        /// The DVM's host.
        there: String,
        /// The key file.
        path: PathBuf,
        /// The error with the key file.
        cause: KeyError,
    },
    /// A named file cannot be read.
    #[error("cannot read {path}: {cause}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// A named file has the wrong content.
    #[error("{path} does not hold {what}")]
    Content {
        /// The file's path.
        path: PathBuf,
        /// The expected content.
        what: &'static str,
    },
    /// A named file belongs to another user.
    #[error("{path} belongs to user {owner}, who may have a DVM of his own listen there")]
    Foreign {
        /// Its path.
        path: PathBuf,
        /// Its owner's user id.
        owner: u32,
    },
    /// The DVM was found, but the connection failed.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
}

impl FindError {
    /// Returns advice for the user.
    #[must_use]
    pub fn next_step(&self) -> &'static str {
        match self {
            FindError::None { .. } => {
                "Start one with `prte --daemonize`, or run the program with prterun, which needs none. If there is one, name it with \
                 --dvm-uri file:PATH, or set TMPDIR as it was when prte was started."
            }
            FindError::NotThere { .. } => "Name one that is running, or start one with `prte --daemonize`.",
            FindError::Several { .. } => "Say which one with --pid, --namespace or --dvm-uri.",
            FindError::Elsewhere { .. } => {
                "Run this command on a node of that DVM, or start it with `prte --listen 0 --report-uri FILE`, and give its file here with \
                 --dvm-uri file:FILE."
            }
            FindError::Key { cause, .. } => cause.next_step(),
            FindError::File { .. } => "Give the file that prte wrote because of --report-pid or --report-uri.",
            FindError::Foreign { .. } => "Name the file that your own prte wrote, or a copy of yours.",
            FindError::Content { .. } => "If prte is being started just now, try again with --wait-to-connect 10.",
            FindError::Connection(error) => error.next_step(),
        }
    }

    /// True when the selected DVM may still be starting.
    fn may_pass(&self) -> bool {
        match self {
            FindError::None { .. }
            | FindError::NotThere { .. }
            | FindError::File { .. }
            | FindError::Content { .. } => true,
            FindError::Connection(error) => {
                matches!(
                    error,
                    ConnectionError::Unreachable { .. }
                        | ConnectionError::FarAway { .. }
                        | ConnectionError::Lost { .. }
                        | ConnectionError::DaemonGone { .. }
                )
            }
            FindError::Several { .. }
            | FindError::Elsewhere { .. }
            | FindError::Key { .. }
            | FindError::Foreign { .. } => false,
        }
    }
}

fn places(bases: &[Vec<PathBuf>]) -> String {
    bases
        .iter()
        .flatten()
        .map(|b| b.join(format!("{SESSION_PREFIX}*")).display().to_string())
        .collect::<Vec<_>>()
        .join(" and ")
}

fn list(contacts: &[DvmContact]) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let line = |c: &DvmContact| {
        let batch = c.batch.as_ref().map_or_else(String::new, |id| format!(", batch job {id}"));
        let system = if c.system { ", system server" } else { "" };
        format!("\n  {}  --pid {}, started {} ago{batch}{system}", c.dvm, c.pid, age(now.saturating_sub(c.started_s)))
    };
    contacts.iter().map(line).collect()
}

fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A DVM that lives, and the connection that has shown it; `None` = its queue of clients was full.
#[derive(Debug)]
struct Live {
    contact: DvmContact,
    stream: Option<UnixStream>,
}

/// Returns all live DVMs of this user on this host, the latest first.
fn live(here: &Here) -> Vec<DvmContact> {
    contacts_of(latest_first(here.bases.iter().flat_map(|group| all_of(here, group)).collect()))
}

fn contacts_of(all: Vec<Live>) -> Vec<DvmContact> {
    all.into_iter().map(|live| live.contact).collect()
}

/// Returns the live DVMs of a group of directories. A daemon of a DVM whose head is there is not asked.
fn all_of(here: &Here, group: &[PathBuf]) -> Vec<Live> {
    let heads = live_in(here, group, SESSION_PREFIX, |_| true);
    let is_new = |daemon: &DvmContact| heads.iter().all(|head| head.contact.dvm != daemon.dvm);
    let daemons = live_in(here, group, DAEMON_SESSION_PREFIX, is_new);
    latest_first(heads.into_iter().chain(daemons).collect())
}

/// Returns the wanted contacts of a group of directories that are live: those of heads or of daemons, by the beginning
/// of the names of their session directories. Only wanted ones are asked whether they live.
fn live_in(here: &Here, group: &[PathBuf], prefix: &str, wanted: impl Fn(&DvmContact) -> bool) -> Vec<Live> {
    let is_wanted = |contact: &DvmContact| contact.host == here.host && wanted(contact);
    let contacts = group.iter().flat_map(|base| contacts_in(base, prefix)).filter(is_wanted);
    latest_first(contacts.filter_map(Live::probe).collect())
}

fn latest_first(mut all: Vec<Live>) -> Vec<Live> {
    all.sort_by(|Live { contact: a, .. }, Live { contact: b, .. }| {
        let by_name = || (&a.dvm, a.head.is_some()).cmp(&(&b.dvm, b.head.is_some()));
        b.started_s.cmp(&a.started_s).then_with(by_name)
    });
    // A DVM may have several daemons on one node, and its head there as well: one contact is enough.
    all.dedup_by(|Live { contact: a, .. }, Live { contact: b, .. }| {
        a.socket == b.socket || (a.dvm == b.dvm && a.head.is_some())
    });
    all
}

fn contacts_in(base: &Path, prefix: &str) -> impl Iterator<Item = DvmContact> {
    let sessions = std::fs::read_dir(base).into_iter().flatten().flatten();
    // Bytes, because a shared directory has many other entries, and each would be checked as text.
    let named = sessions.filter(move |entry| entry.file_name().as_bytes().starts_with(prefix.as_bytes()));
    named.filter_map(|entry| trusted_contact(&entry.path()))
}

/// Reads a contact file that belongs to this user: in a shared directory another user's file could send our jobs
/// anywhere.
fn trusted_contact(session: &Path) -> Option<DvmContact> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let directory = File::from(open_file(session, flags | OFlags::DIRECTORY, Mode::empty()).ok()?);
    let mut file = File::from(openat(&directory, CONTACT_FILE, flags, Mode::empty()).ok()?);
    let is_ours = |file: &File, is_right: fn(&Metadata) -> bool| {
        file.metadata().is_ok_and(|m| m.uid() == rustix::process::geteuid().as_raw() && is_right(&m))
    };
    if !is_ours(&directory, Metadata::is_dir) || !is_ours(&file, Metadata::is_file) {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    DvmContact::parse(&text).ok()
}

impl Live {
    /// Connects, if a process of this user listens. A dead DVM leaves its files behind, but no listener. A full queue
    /// has a listener.
    fn probe(contact: DvmContact) -> Option<Live> {
        match reach(Path::new(&contact.socket), SocketFlags::NONBLOCK) {
            Ok(stream) => is_of(&stream, rustix::process::geteuid()).then_some(Live { contact, stream: Some(stream) }),
            Err(error) => (error.kind() == io::ErrorKind::WouldBlock).then_some(Live { contact, stream: None }),
        }
    }

    /// Uses the connection, or makes one to this DVM, which belongs to this user or to `owner`.
    fn open(self, owner: Uid) -> Result<Channel, ConnectionError> {
        match self.stream {
            Some(stream) => Channel::over(&self.contact, stream),
            None => Channel::open(&self.contact, owner),
        }
    }
}

/// Finds the selected DVM and connects to it, with the given patience. The key file is for a DVM on another host; by
/// default it is where the contact says.
///
/// # Errors
/// When there is no such DVM, or it does not answer.
pub fn connect(
    selector: &Selector,
    key: Option<&Path>,
    patience: Patience,
    here: &Here,
) -> Result<Connection, FindError> {
    patiently(patience, || Ok(open(choose(selector, here)?, key, here)?.greet()?))
}

/// Does the same as [`connect`], and makes the first request with the greeting.
///
/// # Errors
/// When there is no such DVM, or it does not answer.
pub fn connect_and_ask(
    selector: &Selector,
    key: Option<&Path>,
    patience: Patience,
    here: &Here,
    request: &Request,
) -> Result<(Connection, Reply), FindError> {
    patiently(patience, || Ok(open(choose(selector, here)?, key, here)?.greet_and_ask(request.clone())?))
}

/// Does the same as [`connect`], and says nothing to the DVM: the caller speaks JSON lines (docs/service.md).
///
/// # Errors
/// When there is no such DVM, or it cannot be reached.
pub fn connect_silently(
    selector: &Selector,
    key: Option<&Path>,
    patience: Patience,
    here: &Here,
) -> Result<Channel, FindError> {
    patiently(patience, || open(choose(selector, here)?, key, here))
}

/// Tries as often as the patience allows, as long as another attempt may help.
fn patiently<T>(patience: Patience, attempt: impl Fn() -> Result<T, FindError>) -> Result<T, FindError> {
    // Interval between searches for a DVM that is being started, when only a limit was given.
    const GLANCE: Duration = Duration::from_millis(100);
    let began = std::time::Instant::now();
    let mut attempts = 0_u32;
    loop {
        let error = match attempt() {
            Ok(connected) => return Ok(connected),
            Err(error) => error,
        };
        let pause = match (patience.retries, patience.wait) {
            (Some(retries), wait) if attempts < retries => wait.unwrap_or(Duration::from_secs(1)),
            (None, Some(limit)) if began.elapsed() < limit => GLANCE.min(limit - began.elapsed()),
            _ => return Err(error),
        };
        if !error.may_pass() {
            return Err(error);
        }
        attempts += 1;
        std::thread::sleep(pause);
    }
}

/// Connects over the control socket when the head is here, else over TCP if a key file is given, else through the
/// daemon on this node.
fn open(found: Found, key: Option<&Path>, here: &Here) -> Result<Channel, FindError> {
    let Found { live, owner } = found;
    if live.stream.is_some() {
        return Ok(live.open(owner)?);
    }
    let contact = &live.contact;
    let is_here = contact.host == here.host;
    // Two containers may have one host name: the socket exists in one of them only.
    let is_far = !is_here || !Path::new(&contact.socket).exists();
    let path = key.or(contact.key.as_deref().map(Path::new));
    let is_its = |other: &DvmContact| other.dvm == contact.dvm;
    let daemon = || here.bases.iter().find_map(|group| live_in(here, group, DAEMON_SESSION_PREFIX, is_its).pop());
    let is_nearer = key.is_none() && path.is_none_or(|path| !path.exists());
    if is_far
        && (contact.remote.is_none() || is_nearer)
        && let Some(daemon) = daemon()
    {
        return Ok(daemon.open(owner)?);
    }
    if let (true, Some(address), Some(path)) = (is_far, &contact.remote, path) {
        let key = Key::read(path).map_err(|cause| FindError::Key {
            dvm: contact.dvm.clone(),
            there: contact.host.clone(),
            path: path.to_owned(),
            cause,
        })?;
        return Ok(Channel::open_far(contact, address, &key)?);
    }
    if is_here {
        return Ok(live.open(owner)?);
    }
    Err(FindError::Elsewhere { dvm: contact.dvm.clone(), there: contact.host.clone(), host: here.host.clone() })
}

/// The contact of a DVM, and its owner according to the file.
#[derive(Debug)]
struct Found {
    live: Live,
    owner: Uid,
}

impl Found {
    fn ours(live: Live) -> Found {
        Found { live, owner: rustix::process::geteuid() }
    }
}

/// Returns the contact of the selected DVM.
fn choose(selector: &Selector, here: &Here) -> Result<Found, FindError> {
    let found = match selector {
        Selector::Any => any(here),
        Selector::SystemOnly => the_one(here, "the system server", |c| c.system),
        Selector::SystemFirst => match the_one(here, "the system server", |c| c.system) {
            Err(FindError::NotThere { .. }) => any(here),
            other => other,
        },
        Selector::Pid(pid) => the_one(here, &format!("--pid {pid}"), |c| c.pid == *pid),
        Selector::PidFile(path) => {
            let pid = parse_pid(&read(path)?.0)
                .ok_or_else(|| FindError::Content { path: path.clone(), what: "a process id" })?;
            the_one(here, &format!("--pid {pid} (from {})", path.display()), |c| c.pid == pid)
        }
        Selector::Namespace(name) => the_one(here, &format!("--namespace {name}"), |c| c.dvm == bare_name(name)),
        Selector::Uri(uri) => the_one(here, &format!("--dvm-uri {uri}"), |c| c.dvm == bare_name(uri)),
        Selector::UriFile(path) => return by_file(path, here),
    };
    found.map(Found::ours)
}

/// Returns the only DVM of the first directory group that has any: one of the surrounding batch job before others, and
/// one with its head here before one that has only a daemon here. What comes later is not read.
fn any(here: &Here) -> Result<Live, FindError> {
    let is_of_batch = |contact: &DvmContact| here.batch.is_some() && contact.batch == here.batch;
    let is_enough = |heads: &[Live]| match here.batch {
        Some(_) => heads.iter().any(|head| is_of_batch(&head.contact)),
        None => !heads.is_empty(),
    };
    let in_group = |group: &Vec<PathBuf>| {
        let heads = live_in(here, group, SESSION_PREFIX, |_| true);
        if is_enough(&heads) { heads } else { all_of(here, group) }
    };
    let first = here.bases.iter().map(in_group).find(|found| !found.is_empty());
    let mut all = first.ok_or_else(|| FindError::None { host: here.host.clone(), bases: here.bases.clone() })?;
    if all.iter().any(|live| is_of_batch(&live.contact)) {
        all.retain(|live| is_of_batch(&live.contact));
    }
    only(all)
}

/// Returns the DVM that fits, of the first directory group that has one; one with its head here comes first.
fn the_one(here: &Here, wanted: &str, fits: impl Fn(&DvmContact) -> bool) -> Result<Live, FindError> {
    for group in &here.bases {
        for prefix in [SESSION_PREFIX, DAEMON_SESSION_PREFIX] {
            let fitting = live_in(here, group, prefix, &fits);
            if !fitting.is_empty() {
                return only(fitting);
            }
        }
    }
    Err(FindError::NotThere { wanted: wanted.to_owned(), host: here.host.clone(), others: live(here) })
}

/// Returns the only candidate; DVMs with their heads here come before those with only a daemon here.
fn only(mut candidates: Vec<Live>) -> Result<Live, FindError> {
    if candidates.iter().any(|live| live.contact.head.is_none()) {
        candidates.retain(|live| live.contact.head.is_none());
    }
    match (candidates.pop(), candidates.is_empty()) {
        (Some(one), true) => Ok(one),
        (one, _) => {
            candidates.extend(one);
            Err(FindError::Several { candidates: contacts_of(candidates) })
        }
    }
}

/// Reads a file that the user names, trusted if no other user has written it: the contact itself, or a URI.
fn by_file(path: &Path, here: &Here) -> Result<Found, FindError> {
    let (text, owner) = read(path)?;
    let first = text.lines().next().unwrap_or_default();
    if let Ok(contact) = DvmContact::parse(&text) {
        let us = rustix::process::geteuid();
        if owner != us && !owner.is_root() && !us.is_root() {
            return Err(FindError::Foreign { path: path.to_owned(), owner: owner.as_raw() });
        }
        return Ok(Found { live: Live { contact, stream: None }, owner });
    }
    let (dvm, _) =
        parse_uri(first).ok_or_else(|| FindError::Content { path: path.to_owned(), what: "the URI of a DVM" })?;
    the_one(here, &format!("{dvm} (from {})", path.display()), |c| c.dvm == dvm).map(Found::ours)
}

/// Returns the content of a file, and its owner.
fn read(path: &Path) -> Result<(String, Uid), FindError> {
    let both = || {
        let mut file = File::open(path)?;
        let owner = Uid::from_raw(file.metadata()?.uid());
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok((text, owner))
    };
    both().map_err(|cause| FindError::File { path: path.to_owned(), cause })
}

#[cfg(test)]
mod tests;
