//! Requests of a client: lines of `name=value` words, the first of which is `cmd=`. Bytes may come in portions of any
//! size. Every length is bounded. The first error ends the conversation with its reason.

use crate::{MAX_KEY, MAX_VALUE};

/// The longest line (bytes): a put with all fields at their limits is shorter.
const MAX_LINE: usize = 4096;
/// Lines of one spawn request: arguments, variables and keys of one application.
const MAX_SPAWN_LINES: usize = 4096;

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
    /// Start other programs. Refused with `Reply::SpawnRefused` when it is the last part of its request.
    Spawn {
        /// A request for several applications comes in parts, and only the last one is answered.
        last: bool,
    },
    /// Publish a port under a name. Refused with `Reply::PublishRefused`.
    PublishName,
    /// Withdraw a name. Refused with `Reply::UnpublishRefused`.
    UnpublishName,
    /// Find a name. Refused with `Reply::LookupRefused`.
    LookupName,
}

/// The reason why a client's bytes are no PMI-1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A line without end.
    #[error("a line is longer than {MAX_LINE} bytes")]
    LineTooLong,
    /// A spawn request without end.
    #[error("a spawn request has more than {MAX_SPAWN_LINES} lines")]
    SpawnTooLong,
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
    /// The lines of a spawn request so far, and its counters.
    spawn: Option<Spawn>,
    failed: bool,
}

#[derive(Debug)]
struct Spawn {
    lines: usize,
    total: u32,
    so_far: u32,
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
            let parsed = match self.buffer.iter().take(MAX_LINE + 1).position(|&byte| byte == b'\n') {
                Some(end) => {
                    let line: Vec<u8> = self.buffer.drain(..=end).collect();
                    self.on_line(&line[..end])
                }
                None if self.buffer.len() > MAX_LINE => Err(ParseError::LineTooLong),
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
        let line = std::str::from_utf8(line).map_err(|_| ParseError::NotText)?.trim_ascii_end();
        if self.spawn.is_some() {
            return self.on_spawn_line(line);
        }
        match line {
            "mcmd=spawn" => {
                self.spawn = Some(Spawn { lines: 0, total: 1, so_far: 1 });
                Ok(None)
            }
            // Some clients end a line with a second newline.
            "" => Ok(None),
            line => parse_line(line).map(Some),
        }
    }

    fn on_spawn_line(&mut self, line: &str) -> Result<Option<Request>, ParseError> {
        let Some(spawn) = &mut self.spawn else { return Ok(None) };
        spawn.lines += 1;
        if spawn.lines > MAX_SPAWN_LINES {
            return Err(ParseError::SpawnTooLong);
        }
        match line.split_once('=') {
            Some(("totspawns", count)) => spawn.total = count.parse().unwrap_or(1),
            Some(("spawnssofar", count)) => spawn.so_far = count.parse().unwrap_or(1),
            None if line == "endcmd" => {
                let last = spawn.so_far >= spawn.total;
                self.spawn = None;
                return Ok(Some(Request::Spawn { last }));
            }
            _ => {}
        }
        Ok(None)
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
        "publish_name" => Request::PublishName,
        "unpublish_name" => Request::UnpublishName,
        "lookup_name" => Request::LookupName,
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

    fn at_most(&self, field: &'static str, value: String, limit: usize) -> Result<String, ParseError> {
        if value.len() <= limit { Ok(value) } else { Err(self.bad(field)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_conversation_of_an_mpi_program_is_understood() {
        let bytes = b"cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\ncmd=get_appnum\ncmd=get_my_kvsname\n\
            cmd=get kvsname=kvs_1 key=PMI_process_mapping\ncmd=put kvsname=kvs_1 key=P0-bc value=x$y#1 z\n\
            cmd=barrier_in\ncmd=get_universe_size\ncmd=finalize\n";
        let requests = parse(bytes).expect("it is PMI-1");
        let (kvsname, key) = ("kvs_1".to_owned(), "PMI_process_mapping".to_owned());
        let put = Request::Put { kvsname: kvsname.clone(), key: "P0-bc".into(), value: "x$y#1 z".into() };
        assert_eq!(
            requests,
            [
                Request::Init { version: 1, subversion: 1 },
                Request::GetMaxes,
                Request::GetAppnum,
                Request::GetMyKvsname,
                Request::Get { kvsname, key },
                put,
                Request::BarrierIn,
                Request::GetUniverseSize,
                Request::Finalize,
            ]
        );
    }

    #[test]
    fn a_line_without_words_is_skipped_however_it_is_cut() {
        let line = [&[b' '; 12][..], b"\t\r\n"].concat();
        for cut in 0..line.len() {
            let mut parser = Parser::new();
            for part in [&line[..cut], &line[cut..], b"cmd=get_maxes\n"] {
                parser.feed(part);
                let found = parser.next_request();
                assert_eq!(found, part.starts_with(b"cmd").then_some(Ok(Request::GetMaxes)), "cut after {cut} bytes");
            }
        }
        // A vertical tab is no space here, whether its line is whole or not.
        assert!(parse(b"\x0b\n").is_err() && parse(b"\x0b").is_err());
    }

    #[test]
    fn an_abort_keeps_its_message_with_spaces() {
        let requests = parse(b"cmd=abort exitcode=7 message=out of luck\n").expect("it is PMI-1");
        assert_eq!(requests, [Request::Abort { exit_code: 7, message: "out of luck".into() }]);
        let requests = parse(b"cmd=abort exitcode=-1\n").expect("it is PMI-1");
        assert_eq!(requests, [Request::Abort { exit_code: -1, message: String::new() }]);
    }

    #[test]
    fn only_the_last_part_of_a_spawn_is_to_be_answered() {
        let bytes = b"mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=2\nspawnssofar=1\narg1=cmd=init\nendcmd\n\
            mcmd=spawn\ntotspawns=2\nspawnssofar=2\nendcmd\n";
        assert_eq!(parse(bytes), Ok(vec![Request::Spawn { last: false }, Request::Spawn { last: true }]));
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let mut parser = Parser::new();
        parser.feed(&vec![b'x'; MAX_LINE + 1]);
        assert_eq!(parser.next_request(), Some(Err(ParseError::LineTooLong)));
        parser.feed(b"cmd=init\n");
        assert_eq!(parser.next_request(), None, "nothing follows an error");
        assert!(parser.buffer.is_empty());
    }

    #[test]
    fn other_protocols_and_garbage_are_named() {
        assert_eq!(parse(b"    42cmd=fullinit;pmirank=0;"), Err(ParseError::Pmi2), "it sends no newline");
        assert!(matches!(parse(b"\x00\x01"), Err(ParseError::NoCommand { .. })), "no need to wait for a newline");
        assert_eq!(parse(b"cm"), Ok(vec![]), "a start of a line is not judged");
        assert!(matches!(parse(b"GET / HTTP/1.1\n"), Err(ParseError::NoCommand { .. })));
        assert!(matches!(parse(b"cmd=explode\n"), Err(ParseError::UnknownCommand { .. })));
        assert_eq!(parse(b"cmd=put \xff\n"), Err(ParseError::NotText));
        let long = format!("cmd=put kvsname=k key={} value=v\n", "k".repeat(65));
        assert!(matches!(parse(long.as_bytes()), Err(ParseError::BadField { field: "key", .. })));
        assert!(matches!(parse(b"cmd=get kvsname=k\n"), Err(ParseError::BadField { field: "key", .. })));
        assert!(matches!(parse(b"cmd=init pmi_version=x\n"), Err(ParseError::BadField { .. })));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn portions_do_not_matter(cuts in proptest::collection::vec(0usize..120, 0..6)) {
            let text = b"cmd=init pmi_version=1 pmi_subversion=1\nmcmd=spawn\nx=1\nendcmd\ncmd=put kvsname=a key=b value=c d\ncmd=finalize\n";
            let mut parser = Parser::new();
            let mut requests = Vec::new();
            let mut cuts = cuts;
            cuts.push(text.len());
            cuts.sort_unstable();
            let mut from = 0;
            for cut in cuts.into_iter().map(|cut| cut.min(text.len())) {
                parser.feed(&text[from..cut]);
                from = cut;
                requests.extend(std::iter::from_fn(|| parser.next_request()));
            }
            let whole: Vec<_> = parse(text).expect("it is PMI-1").into_iter().map(Ok).collect();
            prop_assert_eq!(requests, whole);
        }
    }
}
