//! Parses one line of a list of jobs: words as for a shell, or a JSON object. Pure. Both become the words of a `prun`
//! line, so that a job means the same in either form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::order::After;
use crate::args::{Connect, Environment, Parsed, Parser, Run, Tool, UsageError, WHICH_DVM};

/// A job, as its line describes it.
#[derive(Clone, Debug)]
pub struct BatchLine {
    /// The name that the author has given the job.
    pub id: Option<String>,
    /// The job; defaults from parameters are not applied yet.
    pub run: Run,
    /// File for its standard output.
    pub stdout: Option<String>,
    /// File for its standard error; the same name as `stdout` = one file for both.
    pub stderr: Option<String>,
    /// Number of further runs after a failure; `None` = the list's number.
    pub retries: Option<u32>,
    /// The jobs of the list that it waits for.
    pub after: After,
}

/// Why a line describes no job.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    /// A quote that does not end.
    #[error("the quote {0} is not closed")]
    Quote(char),
    /// A character that only a shell understands.
    #[error("{0} is for a shell, and a line is not run by one: quote it, or write {{\"cmd\": \"...\"}}")]
    Shell(char),
    /// JSON that does not describe a job.
    #[error("{0}")]
    Json(String),
    /// Neither or both of argv and cmd.
    #[error("give one of argv and cmd")]
    Program,
    /// `output` together with `stdout` or `stderr`, which it stands for.
    #[error("output stands for stdout and stderr: give it, or them")]
    Output,
    /// A word among the options that belongs to none.
    #[error("options: there is a word that belongs to no option; the program goes into argv")]
    Options,
    /// An option of the command, not of one job.
    #[error("{0} belongs to the prun command and not to a line")]
    Outer(&'static str),
    /// The error that `prun` would report for it.
    #[error("{0}")]
    Usage(#[from] UsageError),
}

/// A job as a JSON object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    id: Option<Id>,
    argv: Option<Vec<String>>,
    cmd: Option<String>,
    np: Option<u32>,
    host: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    timeout: Option<u32>,
    priority: Option<i64>,
    #[serde(default)]
    options: Vec<String>,
    stdout: Option<String>,
    stderr: Option<String>,
    output: Option<String>,
    retries: Option<u32>,
    #[serde(default)]
    after: Vec<Id>,
    #[serde(default)]
    after_any: Vec<Id>,
}

/// The name that a user gives something in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a text or a number")]
pub(crate) enum Id {
    Text(String),
    Number(i64),
}

/// A job as the fields of a JSON object describe it.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub(crate) argv: Option<Vec<String>>,
    pub(crate) cmd: Option<String>,
    pub(crate) np: Option<u32>,
    pub(crate) host: Option<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: Option<String>,
    /// The most seconds that it may run.
    pub(crate) timeout: Option<u32>,
    pub(crate) priority: Option<i64>,
    /// Further options of `prun`.
    pub(crate) options: Vec<String>,
}

/// Stands for the program of a job while its options are read.
const PROGRAM: &str = "program";

/// Number of different options that are kept as they were read. Many jobs of a list have the same, or name one of the
/// nodes.
const KEPT: usize = 1_024;

/// Reads lines. It keeps the definitions of options: making them costs more than reading a line.
pub struct LineParser {
    parser: Parser,
    environment: Environment,
    /// Options that were read, and the jobs that they describe. To read options costs more than all else that is done
    /// for a line.
    kept: BTreeMap<Vec<String>, Run>,
    /// The most words of such options.
    longest: usize,
}

impl LineParser {
    /// Makes a parser; `-x` forwards variables of this environment.
    #[must_use]
    pub fn new(mut environment: Environment) -> LineParser {
        // It chooses the DVM of the command, and a line has none of its own.
        environment.remove(WHICH_DVM);
        LineParser { parser: Parser::new(Tool::Prun), environment, kept: BTreeMap::new(), longest: 0 }
    }

    /// Returns the job of a line; `None` when the line is empty or a comment.
    ///
    /// # Errors
    /// The first fault of the line.
    pub fn parse(&mut self, line: &str) -> Result<Option<BatchLine>, LineError> {
        let line = line.trim();
        if !is_job(line) {
            return Ok(None);
        }
        if line.starts_with('{') {
            return self.described(line).map(Some);
        }
        let mut words = words(line)?;
        let run = match self.program_of(&words) {
            Some(at) => {
                let argv = words.split_off(at);
                self.run_with(words, argv)?
            }
            None => {
                let run = self.run(&words)?;
                self.keep_options_of(&words, &run);
                run
            }
        };
        Ok(Some(BatchLine { id: None, run, stdout: None, stderr: None, retries: None, after: After::default() }))
    }

    fn described(&mut self, line: &str) -> Result<BatchLine, LineError> {
        let job: Described = serde_json::from_str(line).map_err(|e| LineError::Json(e.to_string()))?;
        let (stdout, stderr) = match (job.output, job.stdout, job.stderr) {
            (None, stdout, stderr) => (stdout, stderr),
            (Some(both), None, None) => (Some(both.clone()), Some(both)),
            _ => return Err(LineError::Output),
        };
        let Described {
            id, retries, after, after_any, argv, cmd, np, host, env, cwd, timeout, priority, options, ..
        } = job;
        let run = self.run_of(Fields { argv, cmd, np, host, env, cwd, timeout, priority, options })?;
        let texts = |ids: Vec<Id>| ids.into_iter().map(Id::into_text).collect();
        let after = After { ok: texts(after), any: texts(after_any) };
        Ok(BatchLine { id: id.map(Id::into_text), run, stdout, stderr, retries, after })
    }

    /// Returns the job that fields describe.
    ///
    /// # Errors
    /// The first fault of them.
    pub(crate) fn run_of(&mut self, job: Fields) -> Result<Run, LineError> {
        let argv = match (job.argv, job.cmd) {
            (Some(argv), None) if argv.first().is_some_and(|program| !program.is_empty()) => argv,
            (None, Some(cmd)) => vec!["/bin/sh".to_owned(), "-c".to_owned(), cmd],
            _ => return Err(LineError::Program),
        };
        let mut words = job.options;
        words.extend(job.np.map(|n| format!("-n={n}")));
        words.extend(job.host.map(|host| format!("--host={host}")));
        words.extend(job.timeout.map(|seconds| format!("--timeout={seconds}")));
        words.extend(job.priority.map(|priority| format!("--priority={priority}")));
        words.extend(job.cwd.map(|dir| format!("--wdir={dir}")));
        words.extend(job.env.iter().map(|(name, value)| format!("--set-env={name}={value}")));
        self.run_with(words, argv)
    }

    /// Returns the position of the program among the words of a line; `None` = its options have to be read first.
    fn program_of(&self, words: &[String]) -> Option<usize> {
        let is_program = |at: usize| words.get(at).is_some_and(|word| !word.is_empty() && !word.starts_with('-'));
        if has_apps(words) {
            return None;
        }
        // An option is read before the words behind it are seen, so the same options end at the same place.
        let is_kept = |at: usize| self.kept.contains_key(&words[..at]);
        let kept = || (1..words.len().min(self.longest + 1)).find(|at| is_program(*at) && is_kept(*at));
        is_program(0).then_some(0).or_else(kept)
    }

    /// Keeps the options of a line that was read in full.
    fn keep_options_of(&mut self, words: &[String], run: &Run) {
        if let [app] = &run.spec.apps[..]
            && let Some(options) = words.strip_suffix(&app.argv[..])
            && !has_apps(words)
        {
            self.keep(options.to_vec(), run.clone());
        }
    }

    fn keep(&mut self, options: Vec<String>, run: Run) {
        if self.kept.len() == KEPT && !self.kept.contains_key(&options) {
            self.kept.clear();
        }
        self.longest = self.longest.max(options.len());
        self.kept.insert(options, run);
    }

    /// Returns the job with these options and this program.
    fn run_with(&mut self, options: Vec<String>, argv: Vec<String>) -> Result<Run, LineError> {
        let mut run = match self.kept.get(&options) {
            Some(run) => run.clone(),
            None => {
                let words: Vec<String> = options.iter().cloned().chain([PROGRAM.to_owned()]).collect();
                let run = self.run(&words)?;
                if !matches!(&run.spec.apps[..], [app] if app.argv == [PROGRAM]) {
                    return Err(LineError::Options);
                }
                self.keep(options, run.clone());
                run
            }
        };
        run.spec.apps[0].argv = argv;
        Ok(run)
    }

    fn run(&mut self, words: &[String]) -> Result<Run, LineError> {
        let run = match self.parser.parse(words, &self.environment)? {
            Parsed::Run(run) => *run,
            Parsed::Print(_) => return Err(LineError::Outer("--help (or --version)")),
        };
        let outer = [
            ("--batch", run.batch.is_some()),
            ("--detach", run.detach),
            ("--report-pid", run.report_pid.is_some()),
            ("--prtemca", !run.params.is_empty()),
            ("--forward-signals", run.forward_signals.is_some()),
            ("an option that chooses the DVM", run.connect.as_ref().is_some_and(|c| *c != Connect::default())),
        ];
        match outer.iter().find(|(_, said)| *said) {
            Some((what, _)) => Err(LineError::Outer(what)),
            None => Ok(run),
        }
    }
}

/// True when the words of a line are several applications. In an array `:` is an argument like any other.
fn has_apps(words: &[String]) -> bool {
    words.iter().any(|word| word == ":")
}

/// True for a line that is to be a job: it is not empty, and no comment. It may still have
/// faults. A list that is cancelled looks at each of its lines so, and reads none in full.
pub(crate) fn is_job(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#')
}

/// Returns the name that the author has given the job of a line, whatever else is wrong with the line.
pub(crate) fn id_of(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        id: Option<Id>,
    }
    if !line.trim_start().starts_with('{') {
        return None;
    }
    serde_json::from_str::<Named>(line).ok()?.id.map(Id::into_text)
}

impl Id {
    fn into_text(self) -> String {
        match self {
            Id::Text(text) => text,
            Id::Number(number) => number.to_string(),
        }
    }
}

/// Splits a line as a shell does, without expansions. Characters with a meaning for a shell are refused, so that no
/// program gets `>` as an argument.
pub(crate) fn words(line: &str) -> Result<Vec<String>, LineError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' => return Err(LineError::Shell(c)),
            _ => {
                let word = word.get_or_insert_default();
                match c {
                    '\'' => single_quoted(&mut chars, word)?,
                    '"' => double_quoted(&mut chars, word)?,
                    // At the end of a line a backslash is dropped: there is no next line.
                    '\\' => word.extend(chars.next()),
                    c => word.push(c),
                }
            }
        }
    }
    words.extend(word);
    Ok(words)
}

fn single_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), LineError> {
    for c in chars {
        match c {
            '\'' => return Ok(()),
            c => word.push(c),
        }
    }
    Err(LineError::Quote('\''))
}

fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), LineError> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '$' | '`' => return Err(LineError::Shell(c)),
            '\\' => match chars.next() {
                Some(special @ ('"' | '\\' | '$' | '`')) => word.push(special),
                Some(other) => word.extend(['\\', other]),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err(LineError::Quote('"'))
}

#[cfg(test)]
mod tests {
    use ferrite_wire::control::SessionChoice;
    use proptest::prelude::*;

    use super::*;

    fn parse(line: &str) -> Result<Option<BatchLine>, LineError> {
        LineParser::new([("HERE".to_owned(), "1".to_owned())].into()).parse(line)
    }

    fn argv(line: &str) -> Vec<String> {
        parse(line).unwrap().unwrap().run.spec.apps[0].argv.clone()
    }

    #[test]
    fn a_line_is_seen_to_be_a_job_as_it_is_when_it_is_read_in_full() {
        for line in ["", "  \t", "# a", "  # a", "a", " a #b", "--unknown x", "{", "-n 2 a\r"] {
            assert_eq!(is_job(line), !matches!(parse(line), Ok(None)), "{line:?}");
        }
    }

    #[test]
    fn words_are_those_of_a_shell() {
        assert_eq!(argv(r#"./a 'b c' "d \" e" f\ g h"i"'j' ''"#), ["./a", "b c", "d \" e", "f g", "hij", ""]);
        assert_eq!(argv(r#"echo "\n" '$x > y' \$"#), ["echo", "\\n", "$x > y", "$"]);
        assert_eq!(words("\t a  b \n").unwrap(), ["a", "b"]);
    }

    #[test]
    fn what_a_line_says_does_not_depend_on_the_lines_before() {
        let mut parser = LineParser::new(Environment::new());
        let lines = [
            "a 1",
            "b -n 2 --x",
            "-n 3 a",
            "a : b",
            "a",
            "a ':'",
            "-x",
            r#"{"argv":["c","d"],"np":2}"#,
            r#"{"argv":["d"],"np":2}"#,
            r#"{"argv":["d"],"np":2,"options":["x"]}"#,
            r#"{"argv":["-d"],"np":3}"#,
            r#"{"argv":["d"]}"#,
        ];
        for line in lines.iter().chain(&lines) {
            assert_eq!(format!("{:?}", parser.parse(line)), format!("{:?}", parse_alone(line)), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_words_of_a_line_depend_on_the_lines_before(lines in prop::collection::vec(line_of_pieces(), 2..8)) {
            let mut parser = LineParser::new(Environment::new());
            for line in lines.iter().chain(&lines) {
                prop_assert_eq!(format!("{:?}", parser.parse(line)), format!("{:?}", parse_alone(line)), "{}", line);
            }
        }
    }

    fn line_of_pieces() -> impl Strategy<Value = String> {
        let pieces = vec![
            "-n",
            "-n=2",
            "2",
            "a",
            "b",
            "-x",
            "--",
            ":",
            "':'",
            "''",
            "--output",
            "tag",
            "--stop-in-app",
            "--wdir",
            "/d",
        ];
        let options = prop::sample::select(vec!["", "-n 2", "-n 2 --tag-output", "--stop-in-app -n 2", "-n 2 --"]);
        let rest = prop::collection::vec(prop::sample::select(pieces), 1..5);
        (options, rest).prop_map(|(options, rest)| format!("{options} {}", rest.join(" ")))
    }

    #[test]
    fn options_are_kept_up_to_a_number_of_kinds() {
        let mut parser = LineParser::new(Environment::new());
        let most = KEPT as u32;
        for n in 1..=most {
            assert_eq!(parser.parse(&format!("-n {n} a")).unwrap().unwrap().run.spec.apps[0].np, Some(n));
        }
        let program =
            |parser: &LineParser, n: u32| parser.program_of(&["-n".to_owned(), n.to_string(), "b".to_owned()]);
        // They are read in full each time, because the program's name begins with a dash.
        parser.parse("-n 2 -- -b").unwrap().unwrap();
        parser.parse("-n 2 -- -b").unwrap().unwrap();
        assert_eq!((parser.kept.len(), program(&parser, 1)), (1, None), "one kind more: all begin anew");
        for n in 2..=most {
            parser.parse(&format!("-n {n} a")).unwrap().unwrap();
        }
        assert_eq!((parser.kept.len(), program(&parser, 1), program(&parser, most)), (KEPT, None, Some(2)));
        parser.parse(&format!("-n {} a", most + 1)).unwrap().unwrap();
        assert_eq!((parser.kept.len(), program(&parser, 1), program(&parser, most + 1)), (1, None, Some(2)));
    }

    fn parse_alone(line: &str) -> Result<Option<BatchLine>, LineError> {
        LineParser::new(Environment::new()).parse(line)
    }

    #[test]
    fn what_only_a_shell_can_do_is_refused() {
        for (line, c) in [("./a > out", '>'), ("./a $HOME", '$'), ("./a \"`b`\"", '`'), ("a; b", ';'), ("a &", '&')] {
            assert_eq!(parse(line).unwrap_err(), LineError::Shell(c), "{line}");
        }
        assert_eq!(parse("./a 'b").unwrap_err(), LineError::Quote('\''));
        assert_eq!(parse("./a \"b").unwrap_err(), LineError::Quote('"'));
    }

    #[test]
    fn empty_lines_and_comments_are_no_jobs() {
        for line in ["", "  \t", "# -n 3 ./a", "  # x"] {
            assert!(parse(line).unwrap().is_none(), "{line}");
        }
    }

    #[test]
    fn a_line_has_the_options_of_prun() {
        let line = parse("-n 3 --host n0:2 --wdir /d -x HERE --output tag ./a -n 4 : -n 1 ./b").unwrap().unwrap();
        let spec = line.run.spec;
        assert_eq!((spec.apps.len(), spec.apps[0].np, spec.apps[1].np), (2, Some(3), Some(1)));
        assert_eq!(spec.apps[0].argv, ["./a", "-n", "4"]);
        assert!(spec.output.tag);
        let more = parse("--add-host n5 --alloc-id a1 ./a").unwrap().unwrap().run;
        assert_eq!((more.grow.hosts.len(), more.session), (1, SessionChoice::Alloc("a1".into())));
    }

    #[test]
    fn an_object_says_the_same() {
        let line = r#"{"id": 7, "argv": ["./a", ":", "-x"], "np": 2, "host": "n1", "env": {"A": "b=c"}, "cwd": "/d",
                       "output": "log", "retries": 3}"#;
        let job = parse(line).unwrap().unwrap();
        let app = &job.run.spec.apps[0];
        assert_eq!((app.argv.join(" "), app.np, app.wdir.as_deref()), ("./a : -x".to_owned(), Some(2), Some("/d")));
        assert_eq!(app.env, [ferrite_types::EnvOp::Set("A".to_owned(), "b=c".to_owned())]);
        assert_eq!((job.id.as_deref(), job.retries), (Some("7"), Some(3)));
        assert_eq!((job.stdout.as_deref(), job.stderr.as_deref()), (Some("log"), Some("log")));
        assert_eq!(argv(r#"{"cmd": "a | b"}"#), ["/bin/sh", "-c", "a | b"]);
        let more =
            parse(r#"{"argv": ["a"], "options": ["--output", "tag", "--alloc-id", "a1"]}"#).unwrap().unwrap().run;
        assert_eq!((more.spec.output.tag, more.session), (true, SessionChoice::Alloc("a1".into())));
    }

    #[test]
    fn wrong_lines_say_what_is_wrong() {
        let told = |line: &str| parse(line).expect_err(line).to_string();
        assert!(told("{\"argv\": [\"a\"], \"nq\": 1}").starts_with("unknown field `nq`"));
        assert!(told("{\"argv\": \"a\"}").starts_with("invalid type"));
        assert_eq!(told("{\"np\": 1}"), "give one of argv and cmd");
        assert_eq!(told("{\"argv\": [], \"np\": 1}"), "give one of argv and cmd");
        assert_eq!(told("{\"cmd\": \"a\", \"output\": \"x\", \"stderr\": \"y\"}"), LineError::Output.to_string());
        for options in [r#"["a"]"#, r#"["-x", "A", "b"]"#, r#"["a", ":", "-n", "2"]"#] {
            let line = format!("{{\"argv\": [\"a\"], \"options\": {options}}}");
            assert_eq!(told(&line), LineError::Options.to_string(), "{line}");
        }
        assert_eq!(told("-n 2"), "no program to run");
        assert_eq!(told("-n hostname"), "no program to run: \"hostname\" is the value of -n");
        assert_eq!(told("--hots n0 ./a"), "unknown option --hots");
        assert_eq!(told("--batch x"), "--batch belongs to the prun command and not to a line");
        assert_eq!(told("--pid 1 ./a"), "an option that chooses the DVM belongs to the prun command and not to a line");
        assert_eq!(told("--help"), "--help (or --version) belongs to the prun command and not to a line");
    }
}
