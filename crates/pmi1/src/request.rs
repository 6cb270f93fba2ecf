//! Requests of a client: lines of `name=value` words, the first of which is `cmd=`. Bytes may come in portions of any
//! size. Every length is bounded. The first error ends the conversation with its reason.

use crate::spawn::{self, BadSpawn, Lines, Spawn};
use crate::{MAX_KEY, MAX_VALUE};

/// The longest line (bytes): a put with all fields at their limits is shorter.
const MAX_LINE: usize = 4096;

/// A request of a client. Every request but [`Request::Abort`] expects one [`crate::Reply`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// The first one. Answered with `Reply::Init`.
    Init {
        /// 1.
        version: u32,
        /// 0 or 1.
        subversion: u32,
    },
    /// The limits of names and values. Answered with `Reply::Maxes`.
    GetMaxes,
    /// The number of the client's application. Answered with `Reply::Appnum`.
    GetAppnum,
    /// The name of the job's key-value space. Answered with `Reply::MyKvsname`.
    GetMyKvsname,
    /// The number of processes that the job could have. Answered with `Reply::UniverseSize`.
    GetUniverseSize,
    /// Store a value. Answered with `Reply::Put`.
    Put {
        /// The space.
        kvsname: String,
        /// The key; at most [`MAX_KEY`] bytes.
        key: String,
        /// The value; at most [`MAX_VALUE`] bytes.
        value: String,
    },
    /// Read a value. Answered with `Reply::Value` or `Reply::NoSuchKey`.
    Get {
        /// The space.
        kvsname: String,
        /// The key.
        key: String,
    },
    /// Wait for every process of the job. Answered with `Reply::BarrierOut` when all are in.
    BarrierIn,
    /// The client no longer needs PMI. Answered with `Reply::Finalized`.
    Finalize,
    /// End the job. Not answered.
    Abort {
        /// The exit code for the job.
        exit_code: i32,
        /// The client's reason; may be empty.
        message: String,
    },
    /// Start a job. Answered with `Reply::Spawned` or `Reply::SpawnRefused`, once for all its parts.
    Spawn(Result<Spawn, BadSpawn>),
    /// Publish a port under a name. Answered with `Reply::Published`.
    PublishName {
        /// The name; at most [`MAX_VALUE`] bytes, spaces included.
        service: String,
        /// The port; at most [`MAX_VALUE`] bytes, and perhaps empty.
        port: String,
    },
    /// Withdraw a name. Answered with `Reply::Unpublished`.
    UnpublishName {
        /// The name.
        service: String,
    },
    /// Find a name. Answered with `Reply::Port` or `Reply::NoSuchName`.
    LookupName {
        /// The name.
        service: String,
    },
}

/// The reason why a client's bytes are no PMI-1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A line without end.
    #[error("a line is longer than {MAX_LINE} bytes, or {} in a spawn request", spawn::MAX_LINE)]
    LineTooLong,
    /// A spawn request without end.
    #[error("a spawn request has more than {} lines or {} bytes", spawn::MAX_LINES, spawn::MAX_BYTES)]
    SpawnTooLong,
    /// A spawn request without the parts that it has announced.
    #[error("a spawn request has fewer parts than it says")]
    SpawnCutShort,
    /// The bytes are not UTF-8.
    #[error("a line is not UTF-8 text")]
    NotText,
    /// The client speaks the other protocol; `PMI_VERSION` or a build option told it to.
    #[error("the client speaks PMI-2; only PMI-1 is offered")]
    Pmi2,
    /// The line does not begin with `cmd=` or `mcmd=`.
    #[error("a line begins with {start:?} instead of a command")]
    NoCommand {
        /// Its first bytes.
        start: String,
    },
    /// A command that PMI-1 does not have.
    #[error("unknown command {command:?}")]
    UnknownCommand {
        /// Its name.
        command: String,
    },
    /// A field that is missing, no number, or too long.
    #[error("command {command:?} has no valid {field:?}")]
    BadField {
        /// The command's name.
        command: String,
        /// The field's name.
        field: &'static str,
    },
}

/// Collects the bytes of one client and returns its requests.
#[derive(Debug, Default)]
pub struct Parser {
    buffer: Vec<u8>,
    /// The lines of a spawn request so far.
    spawn: Option<Box<Lines>>,
    /// Bytes of the buffer that have no newline.
    searched: usize,
    failed: bool,
}

impl Parser {
    /// Makes a parser for one connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes that were read. It keeps at most one line, if the caller takes all requests
    /// ([`Parser::next_request`]) in between.
    pub fn feed(&mut self, bytes: &[u8]) {
        if !self.failed {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Returns the next complete request. After an error there are no more, and the connection should be closed.
    pub fn next_request(&mut self) -> Option<Result<Request, ParseError>> {
        while !self.failed {
            let limit = if self.spawn.is_some() { spawn::MAX_LINE } else { MAX_LINE };
            let window = &self.buffer[..self.buffer.len().min(limit + 1)];
            let found = window[self.searched..].iter().position(|&byte| byte == b'\n').map(|at| self.searched + at);
            self.searched = if found.is_some() { 0 } else { window.len() };
            let parsed = match found {
                Some(end) => {
                    let line: Vec<u8> = self.buffer.drain(..=end).collect();
                    self.on_line(&line[..end])
                }
                None if self.buffer.len() > limit => Err(ParseError::LineTooLong),
                // PMI-2 has no newlines; waiting for one would hang its client.
                None if self.spawn.is_none() && !begins_like_a_command(&self.buffer) => {
                    Err(not_a_command(&String::from_utf8_lossy(&self.buffer)))
                }
                None => return None,
            };
            match parsed {
                Ok(None) => {}
                Ok(Some(request)) => return Some(Ok(request)),
                Err(error) => {
                    self.failed = true;
                    self.buffer = Vec::new();
                    return Some(Err(error));
                }
            }
        }
        None
    }

    fn on_line(&mut self, line: &[u8]) -> Result<Option<Request>, ParseError> {
        let line = std::str::from_utf8(line).map_err(|_| ParseError::NotText)?;
        if let Some(lines) = &mut self.spawn {
            let Some(spawn) = lines.take(line)? else { return Ok(None) };
            self.spawn = None;
            return Ok(Some(Request::Spawn(spawn)));
        }
        match line.trim_ascii_end() {
            "mcmd=spawn" => {
                self.spawn = Some(Box::new(Lines::new()));
                Ok(None)
            }
            // Some clients end a line with a second newline.
            "" => Ok(None),
            line => parse_line(line).map(Some),
        }
    }
}

/// Returns every request in `bytes` up to the first error; for tests and fuzzing.
///
/// # Errors
/// The first error.
pub fn parse(bytes: &[u8]) -> Result<Vec<Request>, ParseError> {
    let mut parser = Parser::new();
    parser.feed(bytes);
    std::iter::from_fn(|| parser.next_request()).collect()
}

fn parse_line(line: &str) -> Result<Request, ParseError> {
    let Some(rest) = line.strip_prefix("cmd=") else { return Err(not_a_command(line)) };
    let (command, fields) = rest.split_once(' ').unwrap_or((rest, ""));
    let fields = Fields { command, text: fields };
    Ok(match command {
        "init" => {
            Request::Init { version: fields.number("pmi_version")?, subversion: fields.number("pmi_subversion")? }
        }
        "get_maxes" => Request::GetMaxes,
        "get_appnum" => Request::GetAppnum,
        "get_my_kvsname" => Request::GetMyKvsname,
        "get_universe_size" => Request::GetUniverseSize,
        "put" => Request::Put {
            kvsname: fields.word("kvsname")?,
            key: fields.at_most("key", fields.word("key")?, MAX_KEY)?,
            value: fields.at_most("value", fields.rest("value").ok_or_else(|| fields.bad("value"))?, MAX_VALUE)?,
        },
        "get" => Request::Get { kvsname: fields.word("kvsname")?, key: fields.word("key")? },
        "barrier_in" => Request::BarrierIn,
        "finalize" => Request::Finalize,
        "abort" => Request::Abort {
            exit_code: fields.number("exitcode").unwrap_or(1),
            message: fields.rest("message").or_else(|| fields.rest("error_msg")).unwrap_or_default(),
        },
        "publish_name" => fields.publication()?,
        "unpublish_name" => Request::UnpublishName { service: fields.service(fields.rest("service"))? },
        "lookup_name" => Request::LookupName { service: fields.service(fields.rest("service"))? },
        _ => return Err(ParseError::UnknownCommand { command: shortened(command) }),
    })
}

/// True while `bytes` may become the start of a line. Some clients end a line with a second newline.
fn begins_like_a_command(bytes: &[u8]) -> bool {
    let could_be = |start: &[u8]| bytes.iter().zip(start).all(|(byte, wanted)| byte == wanted);
    // The parser waits for the digits of a PMI-2 frame, so that the error can name PMI-2.
    let digits = bytes.len() <= 10 && bytes.iter().take(6).all(|byte| byte.is_ascii_digit() || *byte == b' ');
    // The parser also waits for the rest of a line without words, which is skipped.
    could_be(b"cmd=") || could_be(b"mcmd=") || digits || bytes.trim_ascii().is_empty()
}

/// PMI-2 frames begin with six digits of length.
fn not_a_command(line: &str) -> ParseError {
    let digits = line.bytes().take(6).filter(|byte| byte.is_ascii_digit() || *byte == b' ').count();
    if digits == 6 && line.contains("cmd=") {
        return ParseError::Pmi2;
    }
    ParseError::NoCommand { start: shortened(line) }
}

fn shortened(text: &str) -> String {
    text.chars().take(32).collect()
}

struct Fields<'a> {
    command: &'a str,
    text: &'a str,
}

impl Fields<'_> {
    fn bad(&self, field: &'static str) -> ParseError {
        ParseError::BadField { command: shortened(self.command), field }
    }

    fn word(&self, field: &'static str) -> Result<String, ParseError> {
        let mut words = self.text.split(' ').filter_map(|word| word.split_once('='));
        let found = words.find(|(name, value)| *name == field && !value.is_empty());
        found.map(|(_, value)| value.to_owned()).ok_or_else(|| self.bad(field))
    }

    fn number<T: std::str::FromStr>(&self, field: &'static str) -> Result<T, ParseError> {
        self.word(field)?.parse().map_err(|_| self.bad(field))
    }

    /// Returns everything after `field=`: the last field of a line may contain spaces.
    fn rest(&self, field: &str) -> Option<String> {
        let mut from = 0;
        loop {
            let at = from + self.text.get(from..)?.find(field)?;
            let after = &self.text[at + field.len()..];
            let starts_word = at == 0 || self.text.as_bytes()[at - 1] == b' ';
            match after.strip_prefix('=') {
                Some(value) if starts_word => return Some(value.to_owned()),
                _ => from = at + field.len(),
            }
        }
    }

    /// Splits `service=NAME port=PORT`. A name may contain spaces, a port does not.
    fn publication(&self) -> Result<Request, ParseError> {
        let text = self.rest("service").ok_or_else(|| self.bad("service"))?;
        let (service, port) = text.rsplit_once(" port=").ok_or_else(|| self.bad("port"))?;
        let service = self.service(Some(service.to_owned()))?;
        Ok(Request::PublishName { service, port: self.at_most("port", port.to_owned(), MAX_VALUE)? })
    }

    fn service(&self, name: Option<String>) -> Result<String, ParseError> {
        let name = name.filter(|name| !name.is_empty()).ok_or_else(|| self.bad("service"))?;
        self.at_most("service", name, MAX_VALUE)
    }

    fn at_most(&self, field: &'static str, value: String, limit: usize) -> Result<String, ParseError> {
        if value.len() <= limit { Ok(value) } else { Err(self.bad(field)) }
    }
}

#[cfg(test)]
mod tests;
