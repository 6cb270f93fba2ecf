//! E-mail by the site's mail program (`ferrite_sendmail`), which reads message and addresses from its standard input
//! (`-t -i`).

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ferrite_types::PmixStatus;
use ferrite_types::pmix_status::{PMIX_ERR_NOT_AVAILABLE, PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_TIMEOUT, PMIX_ERROR};
use ferrite_wire::Mail;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use super::push_escaped;
use crate::extension::command;
use crate::guard;

/// A program that takes longer hangs, and is ended.
const LIMIT: Duration = Duration::from_secs(30);
/// Programs that may run at a time.
const MOST_AT_A_TIME: u32 = 4;
/// Mails that may be sent at once.
const AT_ONCE: u32 = 20;
/// After these one more may be sent in each interval of this length.
const INTERVAL: Duration = Duration::from_secs(15);
/// The longest encoded word that is allowed in a header (RFC 2047, section 2), without its frame.
const ENCODED_WORD: usize = 60;

/// The mail program, and what was sent.
pub(super) struct Mailer {
    program: PathBuf,
    limit: Duration,
    budget: RefCell<Budget>,
}

impl Mailer {
    pub(super) fn new(program: PathBuf) -> Mailer {
        Mailer { program, limit: LIMIT, budget: RefCell::new(Budget::new(Instant::now())) }
    }

    /// Sends a mail in the name of a process (spec L136).
    ///
    /// # Errors
    /// `PMIX_ERR_OUT_OF_RESOURCE` when too many are sent, `PMIX_ERR_NOT_AVAILABLE` when the program cannot be started,
    /// `PMIX_ERR_TIMEOUT` when it hangs, `PMIX_ERROR` when its exit code is not 0.
    pub(super) async fn send(&self, mail: &Mail, source: &str) -> Result<(), PmixStatus> {
        if !self.budget.borrow_mut().enter(Instant::now()) {
            tracing::warn!(source, "too many e-mails are sent");
            return Err(PMIX_ERR_OUT_OF_RESOURCE);
        }
        let result = self.run(&message(mail, source)).await;
        self.budget.borrow_mut().leave();
        result.map_err(|(cause, status)| {
            tracing::warn!(source, cause, program = %self.program.display(), "an e-mail is not sent");
            status
        })
    }

    async fn run(&self, message: &str) -> Result<(), (String, PmixStatus)> {
        let mut command = Command::new(&self.program);
        command.args(["-t", "-i"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit());
        command.kill_on_drop(true);
        command::clean(command.as_std_mut());
        guard::tie(command.as_std_mut());
        let mut child = command.spawn().map_err(|error| (error.to_string(), PMIX_ERR_NOT_AVAILABLE))?;
        let group = child.id().and_then(|id| Pid::from_raw(id as i32));
        match tokio::time::timeout(self.limit, feed(&mut child, message)).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err((status.to_string(), PMIX_ERROR)),
            Ok(Err(error)) => Err((error.to_string(), PMIX_ERROR)),
            Err(_) => {
                // It leads a group of its own, and is not reaped yet: its number is still its own.
                group.map(|group| kill_process_group(group, Signal::KILL));
                Err((format!("it took longer than {} s", self.limit.as_secs()), PMIX_ERR_TIMEOUT))
            }
        }
    }
}

async fn feed(child: &mut Child, message: &str) -> std::io::Result<std::process::ExitStatus> {
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read all of it says by its exit code whether it has sent the mail.
        let _ = stdin.write_all(message.as_bytes()).await;
    }
    child.wait().await
}

/// The mails that may be sent.
struct Budget {
    running: u32,
    left: u32,
    /// The time from which the next interval counts.
    since: Instant,
}

impl Budget {
    fn new(now: Instant) -> Budget {
        Budget { running: 0, left: AT_ONCE, since: now }
    }

    /// Takes one mail out of the budget. False when there is none.
    fn enter(&mut self, now: Instant) -> bool {
        let intervals = now.saturating_duration_since(self.since).as_secs() / INTERVAL.as_secs();
        self.since += INTERVAL * u32::try_from(intervals).unwrap_or(u32::MAX);
        self.left = u32::try_from(intervals).unwrap_or(AT_ONCE).saturating_add(self.left).min(AT_ONCE);
        let may = self.running < MOST_AT_A_TIME && self.left > 0;
        if may {
            (self.running, self.left) = (self.running + 1, self.left - 1);
        }
        may
    }

    fn leave(&mut self) {
        self.running -= 1;
    }
}

/// The message that the program reads. The daemon of the process has refused control characters in the headers.
fn message(mail: &Mail, source: &str) -> String {
    let mut text = format!("To: {}\n", mail.to);
    if !mail.from.is_empty() {
        text.push_str(&format!("From: {}\n", mail.from));
    }
    text.push_str(&format!("Subject: {}\n", header(&mail.subject)));
    text.push_str("MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n");
    text.push_str("Auto-Submitted: auto-generated\n\n");
    for c in mail.text.trim_end_matches('\n').chars() {
        match c {
            '\n' => text.push('\n'),
            c => push_escaped(&mut text, c),
        }
    }
    text.push_str(&format!("\n\n-- \nSent for process {source} by Ferrite.\n"));
    text
}

/// A header's text: other characters than those of ASCII are encoded (RFC 2047, section 4.2).
fn header(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for c in text.chars() {
        let coded: String = match c {
            c if c.is_ascii_alphanumeric() => c.to_string(),
            c => c.to_string().bytes().map(|byte| format!("={byte:02X}")).collect(),
        };
        if words.last().is_some_and(|word| word.len() + coded.len() > ENCODED_WORD) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push_str(&coded);
        }
    }
    let words: Vec<_> = words.iter().map(|word| format!("=?UTF-8?Q?{word}?=")).collect();
    words.join("\n ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mail(subject: &str, text: &str) -> Mail {
        Mail { to: "a@b, c@d".to_owned(), from: "e@f".to_owned(), subject: subject.to_owned(), text: text.to_owned() }
    }

    /// Runs a shell script as the mail program.
    fn sent(script: &str, limit: Duration) -> Result<(), PmixStatus> {
        let dir = tempfile::tempdir().expect("a directory");
        let program = dir.path().join("sendmail");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let mailer = Mailer { limit, ..Mailer::new(program) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(mailer.send(&mail("s", "text"), "[d@1,0]"))
    }

    /// Answers (spec L136).
    #[test]
    fn the_exit_code_of_the_program_is_the_answer_and_one_that_hangs_is_ended() {
        let long = Duration::from_secs(20);
        assert_eq!(sent(r#"[ "$*" = "-t -i" ] && grep -q "^To: a@b, c@d$""#, long), Ok(()));
        assert_eq!(sent("exit 75", long), Err(PMIX_ERROR));
        assert_eq!(sent("sleep 1000 & wait", Duration::from_millis(200)), Err(PMIX_ERR_TIMEOUT));
        let missing = Mailer::new(PathBuf::from("/no/such/program"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        assert_eq!(runtime.block_on(missing.send(&mail("s", ""), "p")), Err(PMIX_ERR_NOT_AVAILABLE));
        assert_eq!(missing.budget.borrow().running, 0);
    }

    #[test]
    fn a_message_has_its_headers_its_text_and_the_name_of_the_process() {
        let text = message(&mail("done", "one\n.\ntwo\r\u{1b}[31m\n\n"), "[d@1,0]");
        let (head, body) = text.split_once("\n\n").unwrap();
        assert!(head.starts_with("To: a@b, c@d\nFrom: e@f\nSubject: done\nMIME-Version: 1.0\n"), "{head}");
        assert_eq!(body, "one\n.\ntwo#015#033[31m\n\n-- \nSent for process [d@1,0] by Ferrite.\n");
    }

    #[test]
    fn a_subject_of_other_letters_is_encoded_in_words_that_are_short_enough() {
        assert_eq!(header("fertig = 5"), "fertig = 5");
        assert_eq!(header("ü=1"), "=?UTF-8?Q?=C3=BC=3D1?=");
        let long = header(&"ü".repeat(60));
        assert!(long.lines().all(|line| line.trim().len() <= 75) && long.lines().count() > 1, "{long}");
    }

    /// Rates (spec L136).
    #[test]
    fn mails_are_few_at_a_time_and_few_in_a_row() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        assert!((0..MOST_AT_A_TIME).all(|_| budget.enter(start)));
        assert!(!budget.enter(start), "so many run");
        (0..MOST_AT_A_TIME).for_each(|_| budget.leave());
        let mut one = |at: Instant| {
            let may = budget.enter(at);
            if may {
                budget.leave();
            }
            may
        };
        assert!((MOST_AT_A_TIME..AT_ONCE).all(|_| one(start)));
        assert!(!one(start + INTERVAL / 2));
        assert!(one(start + INTERVAL) && !one(start + INTERVAL));
        assert!((0..AT_ONCE).all(|_| one(start + INTERVAL * 1_000)) && !one(start + INTERVAL * 1_000));
    }
}
