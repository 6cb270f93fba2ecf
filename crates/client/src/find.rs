//! Which DVMs there are, and the one that is meant. A DVM is found by the contact file in its session directory; it is live when
//! somebody listens on its control socket. Files are believed only when they are the user's own.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ferrite_wire::DvmContact;
use ferrite_wire::dvm_contact::{CONTACT_FILE, SESSION_PREFIX, batch_job, parse_uri};
use rustix::net::SocketFlags;
use thiserror::Error;

use crate::connection::{Connection, ConnectionError, reach};
use crate::remote::Key;
use crate::selector::{Patience, Selector, bare_name, parse_pid};

/// What the search depends on besides files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// Directories in which DVMs make their session directories.
    pub bases: Vec<PathBuf>,
    /// Name of this host.
    pub host: String,
    /// The batch job that we are in.
    pub batch: Option<String>,
}

impl Here {
    /// By the environment, and the parameter `prte_tmpdir_base`.
    #[must_use]
    pub fn of(host: String, tmpdir_base: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Here {
        let mut bases: Vec<PathBuf> = Vec::new();
        let from_environment = variable("TMPDIR").filter(|dir| !dir.is_empty());
        // A batch system gives each shell another TMPDIR, so the common place is looked at as well.
        let all = tmpdir_base.map(str::to_owned).into_iter().chain(from_environment).chain(["/tmp".to_owned()]);
        for base in all.map(PathBuf::from) {
            if !bases.contains(&base) {
                bases.push(base);
            }
        }
        Here { bases, host, batch: batch_job(variable) }
    }
}

/// Why there is no DVM to talk to.
#[derive(Debug, Error)]
pub enum FindError {
    /// None at all.
    #[error("no DVM of yours is running on {host}: there is no live one under {}", places(.bases))]
    None {
        /// This host.
        host: String,
        /// Where was looked.
        bases: Vec<PathBuf>,
    },
    /// None that fits.
    #[error("no DVM that is running on {host} is the one of {wanted}{}", list(.others))]
    NotThere {
        /// What was asked for.
        wanted: String,
        /// This host.
        host: String,
        /// Those that are running.
        others: Vec<DvmContact>,
    },
    /// More than one that fits.
    #[error("several DVMs of yours are running, and nothing says which one is meant{}", list(.candidates))]
    Several {
        /// They.
        candidates: Vec<DvmContact>,
    },
    /// It is on another host.
    #[error("the DVM {dvm} runs on {there}, and this is {host}")]
    Elsewhere {
        /// Its name.
        dvm: String,
        /// Its host.
        there: String,
        /// This host.
        host: String,
    },
    /// It is on another host, and nothing proves that we may talk to it.
    #[error("the DVM {dvm} runs on {there}, and its key {} cannot be read: {cause}", .path.display())]
    Key {
        /// Its name.
        dvm: String,
        /// Its host.
        there: String,
        /// The key file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A file that was named cannot be read.
    #[error("cannot read {path}: {cause}")]
    File {
        /// Its path.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A file that was named does not say what it should.
    #[error("{path} does not hold {what}")]
    Content {
        /// Its path.
        path: PathBuf,
        /// What was expected.
        what: &'static str,
    },
    /// It is there, but that is all.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
}

impl FindError {
    /// What the user can do about it.
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
                "Run this command there, or start that DVM with `prte --listen 0 --report-uri FILE`, and give its file here with \
                 --dvm-uri file:FILE."
            }
            FindError::Key { .. } => {
                "Copy the key file from there, readable for you only, and name the copy with --dvm-key, or run this command there."
            }
            FindError::File { .. } => "Give the file that prte wrote because of --report-pid or --report-uri.",
            FindError::Content { .. } => "If prte is being started just now, try again with --wait-to-connect 10.",
            FindError::Connection(error) => error.next_step(),
        }
    }

    /// True when the DVM that is meant may be on its way.
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
                )
            }
            FindError::Several { .. } | FindError::Elsewhere { .. } | FindError::Key { .. } => false,
        }
    }
}

fn places(bases: &[PathBuf]) -> String {
    bases.iter().map(|b| b.join(format!("{SESSION_PREFIX}*")).display().to_string()).collect::<Vec<_>>().join(" and ")
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

/// All live DVMs of this user on this host, the latest first.
#[must_use]
pub fn live(here: &Here) -> Vec<DvmContact> {
    let mut all: Vec<DvmContact> = here.bases.iter().flat_map(|base| contacts_in(base)).collect();
    all.retain(|contact| contact.host == here.host && is_listening(contact));
    all.sort_by(|a, b| b.started_s.cmp(&a.started_s).then_with(|| a.dvm.cmp(&b.dvm)));
    all.dedup_by(|a, b| a.socket == b.socket);
    all
}

fn contacts_in(base: &Path) -> Vec<DvmContact> {
    let sessions = std::fs::read_dir(base).into_iter().flatten().flatten();
    let named = sessions.filter(|entry| entry.file_name().to_string_lossy().starts_with(SESSION_PREFIX));
    named.filter_map(|entry| trusted_contact(&entry.path())).collect()
}

/// In a directory that everybody may write to, somebody else's file could send our jobs anywhere.
fn trusted_contact(session: &Path) -> Option<DvmContact> {
    let ours = |path: &Path, directory: bool| {
        std::fs::symlink_metadata(path)
            .is_ok_and(|m| m.uid() == rustix::process::geteuid().as_raw() && m.is_dir() == directory && !m.is_symlink())
    };
    let file = session.join(CONTACT_FILE);
    if !ours(session, true) || !ours(&file, false) {
        return None;
    }
    DvmContact::parse(&std::fs::read_to_string(&file).ok()?).ok()
}

/// A dead DVM leaves its files behind, but nobody who listens. A full queue is somebody.
fn is_listening(contact: &DvmContact) -> bool {
    match reach(Path::new(&contact.socket), SocketFlags::NONBLOCK) {
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    }
}

/// Finds the DVM that is meant, and connects to it; as patiently as asked. The key file is for a DVM on another host; without
/// one it is where the contact says.
///
/// # Errors
/// There is no such DVM, or it does not answer.
pub fn connect(
    selector: &Selector,
    key: Option<&Path>,
    patience: Patience,
    here: &Here,
) -> Result<Connection, FindError> {
    // How often the socket of a DVM that is being started is looked for when only a limit was given.
    const GLANCE: Duration = Duration::from_millis(100);
    let began = std::time::Instant::now();
    let mut attempts = 0_u32;
    loop {
        let error = match choose(selector, here).and_then(|contact| open(&contact, key, here)) {
            Ok(connection) => return Ok(connection),
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

/// By the control socket when it is here, else by TCP.
fn open(contact: &DvmContact, key: Option<&Path>, here: &Here) -> Result<Connection, FindError> {
    let is_here = contact.host == here.host;
    // Two containers may have one host name: the socket is there in one of them only.
    let is_far = !is_here || !Path::new(&contact.socket).exists();
    let path = key.or(contact.key.as_deref().map(Path::new));
    if let (true, Some(address), Some(path)) = (is_far, &contact.remote, path) {
        let key = Key::read(path).map_err(|cause| FindError::Key {
            dvm: contact.dvm.clone(),
            there: contact.host.clone(),
            path: path.to_owned(),
            cause,
        })?;
        return Ok(Connection::open_far(contact, address, &key)?);
    }
    if is_here {
        return Ok(Connection::open(contact)?);
    }
    Err(FindError::Elsewhere { dvm: contact.dvm.clone(), there: contact.host.clone(), host: here.host.clone() })
}

/// The contact of the DVM that is meant.
fn choose(selector: &Selector, here: &Here) -> Result<DvmContact, FindError> {
    match selector {
        Selector::Any => any(live(here), here),
        Selector::SystemOnly => the_one(here, "the system server", |c| c.system),
        Selector::SystemFirst => {
            let mut all = live(here);
            match all.iter().position(|c| c.system) {
                Some(at) => Ok(all.swap_remove(at)),
                None => any(all, here),
            }
        }
        Selector::Pid(pid) => the_one(here, &format!("--pid {pid}"), |c| c.pid == *pid),
        Selector::PidFile(path) => {
            let pid = parse_pid(&read(path)?)
                .ok_or_else(|| FindError::Content { path: path.clone(), what: "a process id" })?;
            the_one(here, &format!("--pid {pid} (from {})", path.display()), |c| c.pid == pid)
        }
        Selector::Namespace(name) => the_one(here, &format!("--namespace {name}"), |c| c.dvm == bare_name(name)),
        Selector::Uri(uri) => the_one(here, &format!("--dvm-uri {uri}"), |c| c.dvm == bare_name(uri)),
        Selector::UriFile(path) => by_file(path, here),
    }
}

fn any(mut all: Vec<DvmContact>, here: &Here) -> Result<DvmContact, FindError> {
    if let Some(batch) = &here.batch
        && all.iter().any(|c| c.batch.as_ref() == Some(batch))
    {
        all.retain(|c| c.batch.as_ref() == Some(batch));
    }
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(one), false) => {
            all.push(one);
            Err(FindError::Several { candidates: all })
        }
        (None, _) => Err(FindError::None { host: here.host.clone(), bases: here.bases.clone() }),
    }
}

fn the_one(here: &Here, wanted: &str, fits: impl Fn(&DvmContact) -> bool) -> Result<DvmContact, FindError> {
    let (mut fitting, others): (Vec<_>, Vec<_>) = live(here).into_iter().partition(fits);
    match (fitting.pop(), fitting.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(one), false) => {
            fitting.push(one);
            Err(FindError::Several { candidates: fitting })
        }
        (None, _) => Err(FindError::NotThere { wanted: wanted.to_owned(), host: here.host.clone(), others }),
    }
}

/// A file that the user names is believed: the contact itself, wherever it is, or a URI.
fn by_file(path: &Path, here: &Here) -> Result<DvmContact, FindError> {
    let text = read(path)?;
    let first = text.lines().next().unwrap_or_default();
    match DvmContact::parse(&text) {
        Ok(contact) => Ok(contact),
        Err(_) => {
            let (dvm, _) = parse_uri(first)
                .ok_or_else(|| FindError::Content { path: path.to_owned(), what: "the URI of a DVM" })?;
            the_one(here, &format!("{dvm} (from {})", path.display()), |c| c.dvm == dvm)
        }
    }
}

fn read(path: &Path) -> Result<String, FindError> {
    std::fs::read_to_string(path).map_err(|cause| FindError::File { path: path.to_owned(), cause })
}

#[cfg(test)]
mod tests;
