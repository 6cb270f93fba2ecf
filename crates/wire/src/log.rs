//! Texts of `PMIx_Log` for the logs of a node, and those for the DVM's own on their way to the head.

use serde::{Deserialize, Serialize};

use crate::EventSource;

/// A text that a process or a tool logs in one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    /// The process or tool, by its connection.
    pub source: EventSource,
    /// Local time of the call, in seconds since 1970.
    pub time_s: i64,
    /// The channel and the text.
    pub entry: LogEntry,
}

/// The channel of a text, and the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogEntry {
    /// The system's log.
    System {
        /// From 0 (emergency) to 7 (debug).
        priority: u8,
        /// The text.
        text: String,
    },
    /// The job log of the DVM.
    JobLog(String),
    /// An e-mail.
    Mail(Box<Mail>),
}

impl LogEntry {
    /// The bytes of its texts.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            LogEntry::System { text, .. } | LogEntry::JobLog(text) => text.len(),
            LogEntry::Mail(mail) => mail.text.len() + mail.to.len() + mail.subject.len(),
        }
    }
}

/// An e-mail. No part but the text has control characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// The addressees, with commas between them.
    pub to: String,
    /// The sender; empty = whom the mail program takes.
    pub from: String,
    /// The subject; it may be empty.
    pub subject: String,
    /// The text.
    pub text: String,
}
