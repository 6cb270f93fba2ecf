//! The contact file of a persistent DVM: `prte` writes it, clients find the DVM by it. People can read it as well: a
//! first line in the form of the PMIx rendezvous URI, then one `name value` a line. This module has no I/O: its
//! callers read and write the file.
//!
//! A reader skips unknown lines, so that a file of a newer release still gives the DVM's name and address; `control`
//! decides whether the versions fit.

use std::fmt::Write as _;

use thiserror::Error;

use crate::remote::split_address;

/// Name of the file in the session directory of the DVM. Its writer makes it whole with mode 0600: written beside and
/// renamed.
pub const CONTACT_FILE: &str = "contact";

/// The prefix of the session directory of a persistent DVM: `<base>/prte.<pid>.<random>`. The random part prevents
/// others from creating the directory first.
pub const SESSION_PREFIX: &str = "prte.";

/// The prefix of the session directory of a daemon that admits clients of its node.
pub const DAEMON_SESSION_PREFIX: &str = "prted.";

/// The addresses of a DVM, and its owner's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DvmContact {
    /// Name of the DVM: `<tool>-<host>-<pid>`.
    pub dvm: String,
    /// Endpoints for PMIx tools: `tcp4://host:port`; empty = none.
    pub endpoints: Vec<String>,
    /// Process id of the head, as its user sees it.
    pub pid: u32,
    /// The host of the control socket: the head's, unless `head` names another.
    pub host: String,
    /// The head's host, in the contact file of a daemon on another node, which passes on the bytes of clients.
    pub head: Option<String>,
    /// The time of its beginning (seconds since 1970).
    pub started_s: u64,
    /// The batch job whose allocation it uses, from `SLURM_JOB_ID` and its counterparts.
    pub batch: Option<String>,
    /// True when it is the system's server (`--system-server`).
    pub system: bool,
    /// Path of the control socket.
    pub socket: String,
    /// Version of the control protocol that it speaks; [`crate::control::CONTROL_VERSION`].
    pub control: u16,
    /// The address for clients of other hosts: `host:port`; see [`crate::remote`].
    pub remote: Option<String>,
    /// Path of the key file for these clients, on the head's host.
    pub key: Option<String>,
}

/// The reason why a text is no contact file. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContactError {
    /// The first line is no rendezvous URI.
    #[error("line 1: {text:?} does not begin with the name of a DVM, as prte-host-123@0.0")]
    Uri {
        /// The text of the line.
        text: String,
    },
    /// A required line is missing.
    #[error("there is no line {name:?}")]
    Missing {
        /// The name at the line's beginning.
        name: &'static str,
    },
    /// A line's value cannot be parsed.
    #[error("line {line}: {value:?} is no value of {name:?}")]
    Value {
        /// The number of the line.
        line: usize,
        /// The name at the line's beginning.
        name: &'static str,
        /// The value of the line.
        value: String,
    },
    /// Two lines have the same name, so neither can be trusted.
    #[error("line {line}: a second {name:?}")]
    Twice {
        /// The number of the second line.
        line: usize,
        /// The name of both lines.
        name: &'static str,
    },
}

/// The names of lines; `parse` decides which of them are required.
const NAMES: [&str; 10] = ["pid", "host", "head", "started", "batch", "system", "socket", "control", "remote", "key"];

impl DvmContact {
    /// The rendezvous URI `<dvm>@0.0[;tcp4://host:port...]`: `--report-uri` writes it, `--dvm-uri` takes it.
    #[must_use]
    pub fn uri(&self) -> String {
        let mut uri = format!("{}@0.0", self.dvm);
        self.endpoints.iter().for_each(|endpoint| {
            uri.push(';');
            uri.push_str(endpoint);
        });
        uri
    }

    /// The text of the file. [`DvmContact::parse`] returns names without line breaks and any paths unchanged.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = self.uri() + "\n";
        let mut line = |name: &str, value: &str| {
            // Never fails: the text is in memory.
            let _ = writeln!(text, "{name} {}", escaped(value));
        };
        line("pid", &self.pid.to_string());
        line("host", &self.host);
        self.head.iter().for_each(|host| line("head", host));
        line("started", &self.started_s.to_string());
        self.batch.iter().for_each(|id| line("batch", id));
        line("system", if self.system { "yes" } else { "no" });
        line("socket", &self.socket);
        line("control", &self.control.to_string());
        self.remote.iter().for_each(|address| line("remote", address));
        self.key.iter().for_each(|path| line("key", path));
        text
    }

    /// Reads the text of a contact file.
    ///
    /// # Errors
    /// The first line that is wrong, or what is missing.
    pub fn parse(text: &str) -> Result<DvmContact, ContactError> {
        let first = text.lines().next().unwrap_or_default();
        let (dvm, endpoints) = parse_uri(first).ok_or_else(|| ContactError::Uri { text: first.to_owned() })?;
        let lines = Lines::of(text)?;
        Ok(DvmContact {
            dvm,
            endpoints,
            pid: lines.value("pid", |v| v.parse().ok().filter(|pid| *pid > 0))?,
            host: lines.value("host", not_empty)?,
            head: lines.optional("head", not_empty)?,
            started_s: lines.value("started", |v| v.parse().ok())?,
            batch: lines.optional("batch", not_empty)?,
            system: lines.optional("system", yes_or_no)?.unwrap_or(false),
            socket: lines.value("socket", not_empty)?,
            control: lines.value("control", |v| v.parse().ok())?,
            remote: lines.optional("remote", address)?,
            key: lines.optional("key", not_empty)?,
        })
    }
}

/// The name of the DVM and its endpoints from a rendezvous URI; `None` for any other text. Neither has white space or
/// control characters.
#[must_use]
pub fn parse_uri(uri: &str) -> Option<(String, Vec<String>)> {
    let mut parts = uri.trim_end().split(';');
    let dvm = parts.next()?.strip_suffix("@0.0").filter(|name| !name.is_empty())?;
    let endpoints: Vec<String> = parts.filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let visible = |text: &str| !text.contains(|c: char| c.is_whitespace() || c.is_control());
    (visible(dvm) && endpoints.iter().all(|endpoint| visible(endpoint))).then(|| (dvm.to_owned(), endpoints))
}

/// The batch job of a process, by the variables of the field's schedulers.
#[must_use]
pub fn batch_job(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    const NAMES: [&str; 7] =
        ["SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "PALS_APID"];
    NAMES.iter().find_map(|name| variable(name).filter(|id| !id.is_empty()))
}

/// Directories for the time of a user's logins, to which nobody else may write.
#[must_use]
pub fn runtime_dirs(variable: impl Fn(&str) -> Option<String>, uid: u32) -> Vec<String> {
    let mut dirs: Vec<String> = variable("XDG_RUNTIME_DIR").into_iter().filter(|dir| dir.starts_with('/')).collect();
    let usual = format!("/run/user/{uid}");
    if !dirs.contains(&usual) {
        dirs.push(usual);
    }
    dirs
}

/// The lines after the first one, by name: number and value of each.
#[derive(Default)]
struct Lines([Option<(usize, String)>; NAMES.len()]);

impl Lines {
    fn of(text: &str) -> Result<Lines, ContactError> {
        let mut found = Lines::default();
        for (index, line) in text.lines().enumerate().skip(1) {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            let Some(at) = NAMES.iter().position(|known| *known == name) else { continue };
            if found.0[at].is_some() {
                return Err(ContactError::Twice { line: index + 1, name: NAMES[at] });
            }
            found.0[at] = Some((index + 1, unescaped(value)));
        }
        Ok(found)
    }

    fn optional<T>(&self, name: &'static str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, ContactError> {
        let at = NAMES.iter().position(|known| *known == name);
        let Some((line, value)) = at.and_then(|at| self.0[at].as_ref()) else { return Ok(None) };
        let wrong = || ContactError::Value { line: *line, name, value: value.clone() };
        read(value).ok_or_else(wrong).map(Some)
    }

    fn value<T>(&self, name: &'static str, read: impl Fn(&str) -> Option<T>) -> Result<T, ContactError> {
        self.optional(name, read)?.ok_or(ContactError::Missing { name })
    }
}

fn not_empty(value: &str) -> Option<String> {
    Some(value).filter(|v| !v.is_empty()).map(str::to_owned)
}

fn address(value: &str) -> Option<String> {
    split_address(value).filter(|(_, port)| *port > 0).map(|_| value.to_owned())
}

fn yes_or_no(value: &str) -> Option<bool> {
    match value {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// Escapes a value: a line break in a path must not begin a new line.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescaped(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => plain.push('\n'),
            ('\\', Some('r')) => plain.push('\r'),
            ('\\', Some(other)) => plain.push(other),
            (c, _) => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::CONTROL_VERSION;

    fn contact() -> DvmContact {
        DvmContact {
            dvm: "prte-n0-4711".to_owned(),
            endpoints: vec!["tcp4://10.0.0.1:4000".to_owned(), "tcp6://[::1]:4000".to_owned()],
            pid: 4711,
            host: "n0".to_owned(),
            head: None,
            started_s: 1_790_000_000,
            batch: Some("88".to_owned()),
            system: true,
            socket: "/tmp/prte.4711/control".to_owned(),
            control: CONTROL_VERSION,
            remote: Some("n0:4001".to_owned()),
            key: Some("/home/u/.prte/key".to_owned()),
        }
    }

    #[test]
    fn the_text_can_be_read_by_people() {
        assert_eq!(
            contact().to_text(),
            format!(
                "prte-n0-4711@0.0;tcp4://10.0.0.1:4000;tcp6://[::1]:4000\npid 4711\nhost n0\nstarted 1790000000\nbatch 88\n\
                 system yes\nsocket /tmp/prte.4711/control\ncontrol {CONTROL_VERSION}\nremote n0:4001\nkey /home/u/.prte/key\n"
            )
        );
    }

    #[test]
    fn a_contact_comes_back_as_it_went() {
        let mut least = contact();
        (least.endpoints, least.batch, least.system) = (Vec::new(), None, false);
        (least.remote, least.key) = (None, None);
        let mut odd = contact();
        odd.head = Some("n1".to_owned());
        odd.socket = "/tmp/a \\n b\n\r\\/prte.1/control ".to_owned();
        for contact in [contact(), least, odd] {
            assert_eq!(DvmContact::parse(&contact.to_text()).as_ref(), Ok(&contact));
        }
    }

    #[test]
    fn lines_of_a_newer_release_are_skipped() {
        let text = contact().to_text() + "colour blue\n\nflag\n";
        assert_eq!(DvmContact::parse(&text), Ok(contact()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let text = contact().to_text();
        let told = |text: &str| DvmContact::parse(text).expect_err(text).to_string();
        assert_eq!(told(""), "line 1: \"\" does not begin with the name of a DVM, as prte-host-123@0.0");
        assert_eq!(told(&text.replace("pid 4711", "pid 0")), "line 2: \"0\" is no value of \"pid\"");
        assert_eq!(told(&text.replace("system yes", "system maybe")), "line 6: \"maybe\" is no value of \"system\"");
        assert_eq!(told(&text.replace("socket /", "plug /")), "there is no line \"socket\"");
        assert_eq!(told(&text.replace("n0:4001", "n0")), "line 9: \"n0\" is no value of \"remote\"");
        assert_eq!(told(&(text + "host n1\n")), "line 11: a second \"host\"");
    }

    #[test]
    fn the_batch_job_is_the_first_that_any_scheduler_names() {
        let here = |name: &str| ["", "7"].get(["SLURM_JOB_ID", "PBS_JOBID"].iter().position(|n| *n == name)?).copied();
        assert_eq!(batch_job(|name| here(name).map(str::to_owned)), Some("7".to_owned()));
        assert_eq!(batch_job(|_| None), None);
    }

    #[test]
    fn a_directory_for_logins_is_what_the_environment_names_or_the_usual_one() {
        let dirs = |value: &str| runtime_dirs(|_| Some(value.to_owned()), 7);
        assert_eq!(dirs("/r"), ["/r", "/run/user/7"]);
        assert_eq!(dirs("/run/user/7"), ["/run/user/7"]);
        assert_eq!(dirs("here"), ["/run/user/7"]);
        assert_eq!(runtime_dirs(|_| None, 7), ["/run/user/7"]);
    }

    #[test]
    fn a_rendezvous_uri_is_a_name_and_endpoints() {
        assert_eq!(parse_uri("d@0.0"), Some(("d".to_owned(), Vec::new())));
        assert_eq!(parse_uri("d@0.0;tcp4://h:1\n"), Some(("d".to_owned(), vec!["tcp4://h:1".to_owned()])));
        for bad in ["", "@0.0", "d", "d@1.0", "a b@0.0", ";tcp4://h:1", "d@0.0;tcp4://h:1\0", "d@0.0;;\u{b};x"] {
            assert_eq!(parse_uri(bad), None, "{bad}");
        }
    }
}
