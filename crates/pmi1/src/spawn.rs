//! A request to start a job, which comes in many lines: one part from `mcmd=spawn` to `endcmd` for each application.
//! A part has `name=value` lines: `nprocs`, `execname`, `arg1` and so on, `info_key_0` with `info_val_0` and so on, and
//! in the first part `preput_key_0` with `preput_val_0` and so on.
//!
//! The protocol has no escapes: a newline in an argument breaks its line. Every line is therefore expected by its name
//! and number, and what does not fit refuses the request instead of changing what it says.

use crate::{MAX_KEY, MAX_VALUE, ParseError};

/// Lines of one request, all parts together.
pub(crate) const MAX_LINES: usize = 16_384;
/// Bytes of one request, all parts together. Linux gives no more to a program's arguments and environment.
pub(crate) const MAX_BYTES: usize = 2 << 20;
/// The longest line (bytes): Linux's limit of one argument, and its name.
pub(crate) const MAX_LINE: usize = (128 << 10) + 64;

/// A job that a client wants to start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spawn {
    /// The applications, in the order of their ranks; at least one.
    pub apps: Vec<SpawnApp>,
    /// The entries that the key-value space of the new job has from its start.
    pub values: Vec<(String, String)>,
}

/// One application of a [`Spawn`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpawnApp {
    /// The program and its arguments; at least the program.
    pub argv: Vec<String>,
    /// Its processes; at least one.
    pub procs: u32,
    /// The entries of its `MPI_Info`, in their order.
    pub info: Vec<(String, String)>,
}

/// The reason why a spawn is refused before anything is started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSpawn {
    /// A line that does not fit; a newline in an argument makes such lines.
    #[error("line {line:?} is not expected there; PMI-1 cannot carry newlines in arguments or values")]
    Unexpected {
        /// Its first characters.
        line: String,
    },
    /// A part without program, or without a number of processes.
    #[error("a part has no {field:?}")]
    Missing {
        /// The field's name.
        field: &'static str,
    },
    /// A count that differs from what has come.
    #[error("{field:?} says {said}, and {come} have come; PMI-1 cannot carry newlines in arguments or values")]
    Count {
        /// The field's name.
        field: &'static str,
        /// The number in the field.
        said: u32,
        /// The number of lines.
        come: usize,
    },
    /// An entry of the key-value space that is too long.
    #[error("the key or the value of entry {key:?} is too long")]
    TooLong {
        /// The start of its key.
        key: String,
    },
}

/// The lines of a request so far.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    lines: usize,
    bytes: usize,
    spawn: Spawn,
    part: Option<Part>,
    total: u32,
    /// The first thing that was wrong; the request is read to its end all the same.
    bad: Option<BadSpawn>,
}

#[derive(Debug, Default)]
struct Part {
    program: Option<String>,
    args: Vec<String>,
    procs: Option<u32>,
    keys: Vec<String>,
    info: Vec<(String, String)>,
    value_keys: Vec<String>,
    values: Vec<(String, String)>,
    counts: Vec<(&'static str, u32)>,
}

impl Lines {
    /// Begins after the first `mcmd=spawn`.
    pub(crate) fn new() -> Lines {
        Lines { part: Some(Part::default()), total: 1, ..Lines::default() }
    }

    /// Takes one line. The request, or why it is refused, comes with its last line.
    ///
    /// # Errors
    /// The lines exceed a limit, or another command comes between two parts: the conversation cannot go on.
    pub(crate) fn take(&mut self, line: &str) -> Result<Option<Result<Spawn, BadSpawn>>, ParseError> {
        self.lines += 1;
        self.bytes += line.len();
        if self.lines > MAX_LINES || self.bytes > MAX_BYTES {
            return Err(ParseError::SpawnTooLong);
        }
        let Some(mut part) = self.part.take() else {
            self.part = Some(Part::default());
            return if line == "mcmd=spawn" { Ok(None) } else { Err(ParseError::SpawnCutShort) };
        };
        if line != "endcmd" {
            let taken = self.field(&mut part, line);
            self.note(taken);
            self.part = Some(part);
            return Ok(None);
        }
        let ended = part.end(&mut self.spawn);
        self.note(ended);
        if self.spawn.apps.len() < self.total as usize {
            return Ok(None);
        }
        Ok(Some(match self.bad.take() {
            None => Ok(std::mem::take(&mut self.spawn)),
            Some(bad) => Err(bad),
        }))
    }

    fn note(&mut self, result: Result<(), BadSpawn>) {
        if let Err(bad) = result {
            self.bad.get_or_insert(bad);
        }
    }

    fn field(&mut self, part: &mut Part, line: &str) -> Result<(), BadSpawn> {
        let unexpected = || BadSpawn::Unexpected { line: line.chars().take(64).collect() };
        let (name, value) = line.split_once('=').ok_or_else(unexpected)?;
        let number = || value.parse::<u32>().map_err(|_| unexpected());
        let is = |prefix: &str, next: usize| name.strip_prefix(prefix).is_some_and(|n| n == next.to_string());
        match name {
            "totspawns" => self.total = number()?,
            // Parts come in their order.
            "spawnssofar" if number()? as usize == self.spawn.apps.len() + 1 => {}
            "execname" if part.program.is_none() && !value.is_empty() => part.program = Some(value.to_owned()),
            "nprocs" if part.procs.is_none() => part.procs = Some(number()?),
            "argcnt" => part.counts.push(("argcnt", number()?)),
            "info_num" => part.counts.push(("info_num", number()?)),
            "preput_num" => part.counts.push(("preput_num", number()?)),
            _ if is("arg", part.args.len() + 1) => part.args.push(value.to_owned()),
            _ if is("info_key_", part.keys.len()) => part.keys.push(value.to_owned()),
            _ if is("preput_key_", part.value_keys.len()) => part.value_keys.push(value.to_owned()),
            _ if is("info_val_", part.info.len()) => {
                let key = part.keys.get(part.info.len()).ok_or_else(unexpected)?;
                part.info.push((key.clone(), value.to_owned()));
            }
            _ if is("preput_val_", part.values.len()) => {
                let key = part.value_keys.get(part.values.len()).ok_or_else(unexpected)?;
                part.values.push((key.clone(), value.to_owned()));
            }
            _ => return Err(unexpected()),
        }
        Ok(())
    }
}

impl Part {
    /// Adds the part to the request. It counts as a part even when it is refused.
    fn end(self, spawn: &mut Spawn) -> Result<(), BadSpawn> {
        let checked = self.check();
        let Part { program, args, procs, info, values, .. } = self;
        let argv = program.into_iter().chain(args).collect();
        spawn.apps.push(SpawnApp { argv, procs: procs.unwrap_or(0), info });
        spawn.values.extend(values);
        checked
    }

    fn check(&self) -> Result<(), BadSpawn> {
        if self.program.is_none() {
            return Err(BadSpawn::Missing { field: "execname" });
        }
        if self.procs.is_none_or(|procs| procs == 0) {
            return Err(BadSpawn::Missing { field: "nprocs" });
        }
        let come = |field| match field {
            "argcnt" => self.args.len(),
            "info_num" => self.info.len(),
            _ => self.values.len(),
        };
        if let Some(&(field, said)) = self.counts.iter().find(|(field, said)| *said as usize != come(field)) {
            return Err(BadSpawn::Count { field, said, come: come(field) });
        }
        let is_long = |(key, value): &&(String, String)| key.len() > MAX_KEY || value.len() > MAX_VALUE;
        match self.values.iter().find(is_long) {
            None => Ok(()),
            Some((key, _)) => Err(BadSpawn::TooLong { key: key.chars().take(64).collect() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Request, parse};

    fn one(lines: &str) -> Result<Spawn, BadSpawn> {
        let text = format!("mcmd=spawn\n{lines}endcmd\n");
        let mut requests = parse(text.as_bytes()).expect("the conversation goes on").into_iter();
        match (requests.next(), requests.next()) {
            (Some(Request::Spawn(spawn)), None) => spawn,
            other => panic!("one spawn, not {other:?}"),
        }
    }

    /// The bytes are those of MPICH 5.0.2, with a shorter port.
    #[test]
    fn a_spawn_of_mpich_says_what_to_start() {
        let spawn = one("nprocs=2\nexecname=/bin/child\ntotspawns=1\nspawnssofar=1\nargcnt=2\narg1=a b \narg2=c=d\n\
            preput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=tag#0$connentry#20$\n\
            info_num=2\ninfo_key_0=wdir\ninfo_val_0=/tmp\ninfo_key_1=foo\ninfo_val_1=bar x=y;z\n")
        .expect("it is sound");
        let text = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let argv = text(&["/bin/child", "a b ", "c=d"]);
        let info = vec![pair("wdir", "/tmp"), pair("foo", "bar x=y;z")];
        assert_eq!(spawn.apps, [SpawnApp { argv, procs: 2, info }]);
        assert_eq!(spawn.values, [pair("PARENT_ROOT_PORT_NAME", "tag#0$connentry#20$")]);
    }

    #[test]
    fn parts_become_the_applications_of_one_job() {
        let spawn = one("nprocs=1\nexecname=a\ntotspawns=2\nspawnssofar=1\nargcnt=1\narg1=cmd=init\nendcmd\n\
            mcmd=spawn\nnprocs=3\nexecname=b\ntotspawns=2\nspawnssofar=2\nargcnt=0\ninfo_num=0\n")
        .expect("it is sound");
        let apps: Vec<_> = spawn.apps.iter().map(|app| (app.argv.join(" "), app.procs)).collect();
        assert_eq!(apps, [("a cmd=init".to_owned(), 1), ("b".to_owned(), 3)]);
    }

    #[test]
    fn a_newline_in_an_argument_refuses_the_spawn_and_nothing_else() {
        for arguments in ["arg1=x\ny\n", "arg1=x\ny=2\n", "arg1=x\narg2=y\n", "arg1=x\narg1=y\n", "arg2=x\n"] {
            let refused = one(&format!("nprocs=1\nexecname=a\nargcnt=1\n{arguments}"));
            assert!(refused.clone().is_err_and(|bad| bad.to_string().contains("newlines")), "{refused:?}");
        }
    }

    #[test]
    fn what_is_missing_or_too_long_is_named() {
        assert_eq!(one("nprocs=1\n"), Err(BadSpawn::Missing { field: "execname" }));
        assert_eq!(one("execname=a\nnprocs=0\n"), Err(BadSpawn::Missing { field: "nprocs" }));
        let long = format!("execname=a\nnprocs=1\npreput_key_0=k\npreput_val_0={}\n", "v".repeat(MAX_VALUE + 1));
        assert_eq!(one(&long), Err(BadSpawn::TooLong { key: "k".to_owned() }));
        assert!(matches!(one("execname=a\nnprocs=1\ninfo_val_0=v\n"), Err(BadSpawn::Unexpected { .. })));
    }

    #[test]
    fn a_spawn_without_end_is_refused_before_it_fills_the_memory() {
        let many = ["mcmd=spawn\n", &"x\n".repeat(MAX_LINES + 1)].concat();
        assert_eq!(parse(many.as_bytes()), Err(ParseError::SpawnTooLong));
        let line = format!("arg1={}\n", "x".repeat(MAX_LINE / 2));
        let large = ["mcmd=spawn\n", &line.repeat(2 * MAX_BYTES / MAX_LINE + 1)].concat();
        assert_eq!(parse(large.as_bytes()), Err(ParseError::SpawnTooLong));
        let parts = ["mcmd=spawn\ntotspawns=4000000000\n", &"endcmd\nmcmd=spawn\n".repeat(MAX_LINES)].concat();
        assert_eq!(parse(parts.as_bytes()), Err(ParseError::SpawnTooLong));
    }

    #[test]
    fn only_another_part_may_come_between_parts() {
        let cut = b"mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=2\nspawnssofar=1\nendcmd\ncmd=get_maxes\n";
        assert_eq!(parse(cut), Err(ParseError::SpawnCutShort));
    }

    #[test]
    fn an_argument_may_be_as_long_as_linux_lets_it() {
        let argument = "x".repeat(128 << 10);
        let spawn = one(&format!("nprocs=1\nexecname=a\nargcnt=1\narg1={argument}\n")).expect("it is sound");
        assert_eq!(spawn.apps[0].argv[1], argument);
    }
}
