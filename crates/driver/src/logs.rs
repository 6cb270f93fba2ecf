//! Logs of this node that processes and tools write to by `PMIx_Log`: the system's log, and at the head the job log of
//! the DVM and e-mail. Only the engine calls it.

mod job_log;
mod mail;
mod syslog;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ferrite_core::{DaemonInput, HeadInput, Input, LogId};
use ferrite_types::pmix_status::PMIX_ERR_NOT_SUPPORTED;
use ferrite_types::{JobId, PmixStatus};
use ferrite_wire::{EventSource, LogEntry, LogRecord, StartError};

use self::mail::Mailer;
use crate::spawn::executable;
use crate::{Inbox, local_time, params};

/// The logs.
pub(crate) struct Logs {
    inbox: Inbox,
    dvm: String,
    /// The job log, if the user has asked for one.
    job_log: Option<PathBuf>,
    /// The site's mail program, if it is named.
    mailer: Option<Rc<Mailer>>,
}

impl Logs {
    pub(crate) fn new(inbox: Inbox, dvm: &str, parameters: &[(String, String)]) -> Logs {
        let path = |name| params::value(parameters, name).filter(|path| !path.is_empty()).map(Path::new);
        Logs {
            inbox,
            dvm: dvm.to_owned(),
            // The head may leave its directory later.
            job_log: path("ferrite_job_log").map(|path| std::path::absolute(path).unwrap_or(path.to_path_buf())),
            mailer: path("ferrite_sendmail").map(|program| Rc::new(Mailer::new(program.to_path_buf()))),
        }
    }

    /// Writes a text to its log, or sends it, and answers through the inbox.
    pub(crate) fn take(&self, id: LogId, record: LogRecord) {
        let source = self.name(&record.source);
        let result = match record.entry {
            LogEntry::System { priority, text } => {
                let message = syslog::Message { priority, time_s: record.time_s, source: &source, text: &text };
                syslog::send(Path::new(syslog::SOCKET), &message)
            }
            LogEntry::JobLog(text) => match &self.job_log {
                Some(path) => job_log::append(path, &job_log::line(local_time::now_s(), &source, &text)),
                None => Err(not_asked_for(&source, "the job log", "ferrite_job_log")),
            },
            LogEntry::Mail(mail) => match &self.mailer {
                Some(mailer) => {
                    let (mailer, inbox) = (Rc::clone(mailer), self.inbox.clone());
                    tokio::task::spawn_local(async move {
                        let result = mailer.send(&mail, &source).await;
                        answer(&inbox, id, result);
                    });
                    return;
                }
                None => Err(not_asked_for(&source, "e-mail", "ferrite_sendmail")),
            },
        };
        answer(&self.inbox, id, result);
    }

    /// The name of a process or tool, in one line.
    fn name(&self, source: &EventSource) -> String {
        let (nspace, rank) = match source {
            EventSource::Dvm => (JobId::DAEMONS.nspace(&self.dvm), String::new()),
            EventSource::Proc(proc) => (proc.job.nspace(&self.dvm), proc.rank.to_string()),
            EventSource::Tool(tool) => (tool.nspace.clone(), tool.rank.map_or_else(String::new, |r| r.to_string())),
        };
        in_one_line(&format!("[{nspace},{rank}]"))
    }
}

fn answer(inbox: &Inbox, id: LogId, result: Result<(), PmixStatus>) {
    // The machine is gone only while this process is ending.
    let _ = inbox.send(match id {
        LogId::Daemon(id) => Input::Daemon(DaemonInput::Logged { id, result }),
        LogId::Head(daemon, id) => Input::Head(HeadInput::Logged { daemon, id, result }),
    });
}

fn not_asked_for(source: &str, what: &str, parameter: &str) -> PmixStatus {
    tracing::warn!(source, "a process logs to {what}, and the parameter {parameter} is not set");
    PMIX_ERR_NOT_SUPPORTED
}

/// Looks before a DVM begins whether its logs can be written to: a job that writes there may be hours away.
///
/// # Errors
/// A job log that cannot be opened, or a mail program that cannot be run, with the parameter that names it.
pub(crate) fn check(parameters: &[(String, String)]) -> Result<(), String> {
    let path = |name| params::value(parameters, name).filter(|path| !path.is_empty());
    if let Some(file) = path("ferrite_job_log") {
        let told = |error| {
            format!(
                "the parameter ferrite_job_log names {file:?}, which cannot be written to: {error}.\n\
                 Name a file of yours in a directory that is there, or leave the parameter out."
            )
        };
        job_log::open(Path::new(file)).map_err(told)?;
    }
    if let Some(program) = path("ferrite_sendmail") {
        let list = std::env::var_os("PATH");
        let list = list.as_ref().map(|list| list.as_bytes());
        let told = |error: StartError| {
            format!(
                "the parameter ferrite_sendmail names {program:?}, which cannot be run: {}.\n\
                 Name the site's mail program, or leave the parameter out.",
                error.detail
            )
        };
        executable(program, list, Path::new(".")).map_err(told)?;
    }
    Ok(())
}

/// Returns a text with its control characters as `#012`, so that no text looks like the line of another writer. Ends
/// of lines at its end are left out.
fn in_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.trim_end_matches('\n').chars() {
        push_escaped(&mut line, c);
    }
    line
}

fn push_escaped(line: &mut String, c: char) {
    match c {
        c if c != '\t' && c.is_control() => line.push_str(&format!("#{:03o}", u32::from(c))),
        c => line.push(c),
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::{DaemonRank, ProcId, Rank};
    use ferrite_wire::{Mail, ToolName};

    use super::*;

    fn logs(params: &[(&str, &str)]) -> (Logs, tokio::sync::mpsc::UnboundedReceiver<Input>) {
        let (inbox, outbox) = tokio::sync::mpsc::unbounded_channel();
        let params: Vec<_> = params.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        (Logs::new(inbox, "dvm", &params), outbox)
    }

    /// A wrong place is told before a DVM begins (spec L135, L136).
    #[test]
    fn a_log_that_nobody_can_write_is_refused_with_its_parameter() {
        let dir = tempfile::tempdir().unwrap();
        let said = |name: &str, path: &Path| check(&[(name.to_owned(), path.to_str().unwrap().to_owned())]);
        assert_eq!(said("ferrite_job_log", &dir.path().join("log")), Ok(()));
        let told = said("ferrite_job_log", &dir.path().join("no/log")).unwrap_err();
        assert!(told.contains("ferrite_job_log names") && told.contains("No such file"), "{told}");
        let told = said("ferrite_job_log", dir.path()).unwrap_err();
        assert!(told.contains("Is a directory"), "{told}");
        assert_eq!(said("ferrite_sendmail", Path::new("true")), Ok(()));
        for wrong in ["no-such-mailer", "/etc/passwd", "/no/mailer"] {
            let told = said("ferrite_sendmail", Path::new(wrong)).unwrap_err();
            assert!(told.contains("ferrite_sendmail names") && told.contains("cannot be run"), "{told}");
        }
    }

    fn record(entry: LogEntry) -> LogRecord {
        let source = EventSource::Proc(ProcId { job: JobId(1), rank: Rank(2) });
        LogRecord { source, time_s: 0, entry }
    }

    /// Parameters (spec L135, L136).
    #[test]
    fn without_its_parameter_a_log_of_the_dvm_refuses_what_comes() {
        let (logs, mut outbox) = logs(&[("ferrite_sendmail", "")]);
        let mail = Mail { to: "a@b".to_owned(), from: String::new(), subject: String::new(), text: String::new() };
        for entry in [LogEntry::JobLog("a".to_owned()), LogEntry::Mail(Box::new(mail))] {
            logs.take(LogId::Head(DaemonRank(3), 7), record(entry));
            let said = outbox.try_recv().expect("an answer");
            let Input::Head(HeadInput::Logged { daemon: DaemonRank(3), id: 7, result }) = said else {
                panic!("{said:?}")
            };
            assert_eq!(result, Err(PMIX_ERR_NOT_SUPPORTED));
        }
    }

    #[test]
    fn a_line_of_the_job_log_names_its_process_and_answers_the_daemon_that_asked() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("log");
        let (logs, mut outbox) = logs(&[("ferrite_job_log", file.to_str().unwrap())]);
        logs.take(LogId::Daemon(4), record(LogEntry::JobLog("a\nb\n".to_owned())));
        assert!(matches!(outbox.try_recv(), Ok(Input::Daemon(DaemonInput::Logged { id: 4, result: Ok(()) }))));
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.ends_with(" [dvm@1,2] a#012b\n") && text.lines().count() == 1, "{text:?}");
    }

    #[test]
    fn a_tool_with_an_odd_name_writes_one_line() {
        let tool = ToolName { nspace: "a\n[dvm@1".to_owned(), rank: Some(0) };
        assert_eq!(logs(&[]).0.name(&EventSource::Tool(tool)), "[a#012[dvm@1,0]");
    }
}
