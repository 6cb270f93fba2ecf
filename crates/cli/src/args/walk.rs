//! The first pass over the arguments, before clap. It does what clap cannot: it tells options from the program and its
//! arguments, splits applications at `:`, accepts long names with one dash, rewrites deprecated options, and refuses
//! those that this version does not have. clap gets one spelling per option, with every value in its place.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};

use super::deprecated::Deprecated;
use super::error::{Place, Taken, UsageError};
use super::ompi::OmpiOption;
use super::tool::{Program, Tool};
use super::unbuilt;
use super::words;

/// The result of walking a command line.
#[derive(Debug)]
pub(crate) enum Walked {
    /// `--help [topic]`.
    Help(Option<String>),
    /// `--version`.
    Version,
    /// Applications to run.
    Apps(Vec<Segment>),
}

/// One application: its options for clap, and its command.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// Canonical tokens.
    pub(crate) options: Vec<String>,
    /// Program and arguments.
    pub(crate) argv: Vec<String>,
    /// The rewritten options: the old spelling and the new one (empty = dropped).
    pub(crate) rewritten: Vec<(String, String)>,
}

/// Options that an application may have once: without the check a second one would be ignored, or win.
const ONCE: &[&str] = &["--map-by", "--rank-by", "--bind-to", "--display", "--runtime-options"];

/// Walks over the arguments (without the name of the command).
pub(crate) fn walk(tool: Tool, command: &mut Command, args: &[String]) -> Result<Walked, UsageError> {
    let mut walk = Walk::new(tool, command, args);
    let mut segments = Vec::new();
    loop {
        walk.apps += 1;
        match walk.segment()? {
            Step::App(segment) => segments.push(segment),
            Step::Help(topic) => return Ok(Walked::Help(topic)),
            Step::Version => return Ok(Walked::Version),
        }
        if !walk.take_colon() {
            return Ok(Walked::Apps(segments));
        }
    }
}

/// An option that names a file with more of the line, and its place among the arguments.
#[derive(Debug)]
pub(super) struct FileNamed {
    /// The option in its canonical spelling.
    pub(super) option: String,
    /// The file.
    pub(super) path: String,
    /// The first argument of the option.
    pub(super) from: usize,
    /// The argument behind it.
    pub(super) to: usize,
}

pub(super) struct Walk<'a> {
    tool: Tool,
    command: &'a mut Command,
    rest: &'a [String],
    /// Number of applications that have begun.
    apps: usize,
    /// The last option of this application, and its value, if the value is an argument of its own.
    last_value: Option<(String, String)>,
}

enum Step {
    App(Segment),
    Help(Option<String>),
    Version,
}

/// The meaning of an option's name.
enum Known {
    /// An option of the command: canonical spelling, number of values, correct form.
    Ours {
        canonical: String,
        values: usize,
        form: String,
    },
    /// An option of older releases.
    Old(&'static Deprecated),
    /// An option of Open MPI's `mpirun`.
    Ompi(&'static OmpiOption),
    /// Refused.
    Unbuilt(&'static str),
    /// An option of another command.
    Elsewhere(&'static str),
    Help,
    Version,
}

/// An option as written: its name with dashes, and the value in the same argument.
struct Written<'a> {
    name: &'a str,
    attached: Option<&'a str>,
    known: Known,
}

impl<'a> Walk<'a> {
    pub(super) fn new(tool: Tool, command: &'a mut Command, args: &'a [String]) -> Walk<'a> {
        Walk { tool, command, rest: args, apps: 0, last_value: None }
    }

    /// Returns the first of these options in front of any program; `None` when there is none, or when the walk finds an
    /// option that ends it (`--help`) or that parsing will refuse.
    pub(super) fn next_file(&mut self, options: &[&str]) -> Result<Option<FileNamed>, UsageError> {
        let count = self.rest.len();
        loop {
            while let Some(token) = self.next_option() {
                let from = count - self.rest.len() - 1;
                let Ok(written) = self.look_up(token) else { return Ok(None) };
                let (canonical, values, form) = match &written.known {
                    Known::Help | Known::Version | Known::Unbuilt(_) | Known::Elsewhere(_) => return Ok(None),
                    Known::Old(old) => (written.name.to_owned(), old.values(), written.name.to_owned()),
                    Known::Ompi(ompi) => (written.name.to_owned(), ompi.takes_value().into(), written.name.to_owned()),
                    Known::Ours { canonical, values, form } => (canonical.clone(), *values, form.clone()),
                };
                let mut value = None;
                for i in 0..values {
                    let attached = written.attached.filter(|_| i == 0);
                    value = Some(self.value(written.name, attached, i, values, &form)?);
                }
                if let Some(path) = value.filter(|_| options.contains(&canonical.as_str())) {
                    return Ok(Some(FileNamed { option: canonical, path, from, to: count - self.rest.len() }));
                }
            }
            match self.rest.iter().position(|word| word == ":") {
                Some(colon) => self.rest = &self.rest[colon + 1..],
                None => return Ok(None),
            }
        }
    }

    /// Returns the first word that is no option.
    pub(super) fn program(&mut self) -> Result<Option<&'a str>, UsageError> {
        self.next_file(&[])?;
        Ok(self.rest.first().map(String::as_str))
    }

    fn segment(&mut self) -> Result<Step, UsageError> {
        let mut segment = Segment::default();
        let mut once = Vec::new();
        self.last_value = None;
        while let Some(token) = self.next_option() {
            let written = self.look_up(token)?;
            self.last_value = None;
            match &written.known {
                Known::Help => return Ok(Step::Help(self.topic(written.attached))),
                Known::Version => return Ok(Step::Version),
                Known::Unbuilt(instead) => {
                    return Err(UsageError::Unbuilt { option: written.name.to_owned(), instead });
                }
                Known::Elsewhere(instead) => {
                    let (option, command) = (written.name.to_owned(), self.tool.name());
                    return Err(UsageError::Foreigner { option, command, instead });
                }
                Known::Old(old) => self.rewrite(&written, old, &mut segment)?,
                Known::Ompi(ompi) => self.of_ompi(&written, ompi, &mut segment)?,
                Known::Ours { canonical, values, form } => {
                    self.check_once(canonical, &mut once)?;
                    self.pass_on(&written, canonical, *values, form, &mut segment)?;
                }
            }
        }
        self.command_of(&mut segment)?;
        Ok(Step::App(segment))
    }

    /// Returns the next argument if it is an option; `--` ends the options.
    fn next_option(&mut self) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        if first.len() < 2 || !first.starts_with('-') {
            return None;
        }
        self.rest = rest;
        (first != "--").then_some(first.as_str())
    }

    fn command_of(&mut self, segment: &mut Segment) -> Result<(), UsageError> {
        let end = self.rest.iter().position(|a| a == ":").unwrap_or(self.rest.len());
        let (argv, rest) = self.rest.split_at(end);
        let several = self.apps > 1 || !rest.is_empty();
        let missing = argv.first().is_none_or(String::is_empty);
        let needed = match self.tool.program() {
            Program::Needed => true,
            Program::Unless(option) => !segment.options.iter().any(|o| o == option),
            Program::Refused => false,
        };
        match (needed, missing && !several) {
            (true, _) if missing => {
                let is_name = |(_, value): &(String, String)| argv.is_empty() && value.parse::<f64>().is_err();
                let taken = Taken(self.last_value.take().filter(is_name));
                return Err(UsageError::MissingExecutable { place: Place(several.then_some(self.apps)), taken });
            }
            (false, false) => return Err(self.superfluous(argv)),
            _ => {}
        }
        segment.argv = argv.to_vec();
        self.rest = rest;
        Ok(())
    }

    fn superfluous(&self, argv: &[String]) -> UsageError {
        let shown = argv.first().map_or(":", String::as_str);
        let next = match self.tool {
            Tool::Prte => "prte runs no program: start it without one, then use prun; or use prterun, which does both.",
            Tool::Pterm => "pterm takes options only; `pterm --help` lists them.",
            Tool::Prun | Tool::Prterun => "With --batch every line of the file names its own program: put it there.",
        };
        UsageError::Conflict { what: format!("{shown:?} is no option of {}", self.tool.name()), next: next.to_owned() }
    }

    fn take_colon(&mut self) -> bool {
        match self.rest.split_first() {
            Some((_, rest)) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Tells `--name`, `--name=value`, `-name`, `-n` and `-nvalue` apart.
    fn look_up(&mut self, token: &'a str) -> Result<Written<'a>, UsageError> {
        let (name, attached) = match token.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (token, None),
        };
        let bare = name.trim_start_matches('-');
        // A single letter with two dashes is a long name. So are several letters with one dash; when there is no such
        // name, they are a letter with its value.
        let single = name.len() == 2;
        if let Some(known) = if single { self.short(bare) } else { self.long(bare) } {
            return Ok(Written { name, attached, known });
        }
        let is_foreign = !single && self.tool.has_jobs() && foreign_name(name).is_some();
        if let Some((name, value)) = split_letter(token).filter(|_| !is_foreign)
            && let Some(known) = self.short(&name[1..])
            && takes_value(&known)
        {
            return Ok(Written { name, attached: Some(value), known });
        }
        Err(self.unknown(name))
    }

    fn long(&self, name: &str) -> Option<Known> {
        let is = |a: &&Arg| a.get_long() == Some(name) || a.get_all_aliases().is_some_and(|all| all.contains(&name));
        self.command.get_arguments().find(is).map(known).or_else(|| other(self.tool, name))
    }

    fn short(&self, letter: &str) -> Option<Known> {
        let wanted = letter.chars().next()?;
        let is = |a: &&Arg| {
            a.get_short() == Some(wanted) || a.get_all_short_aliases().is_some_and(|all| all.contains(&wanted))
        };
        self.command.get_arguments().find(is).map(known).or_else(|| other(self.tool, letter))
    }

    fn unknown(&mut self, name: &str) -> UsageError {
        if let Some(known) = foreign_name(name).filter(|_| self.tool.has_jobs()) {
            let suggestion = Some(known.to_owned());
            return UsageError::UnknownOption { option: name.to_owned(), suggestion, runs_programs: true };
        }
        let asked = self.command.try_get_matches_from_mut([self.tool.name(), name]);
        let suggestion = asked.err().and_then(|e| match e.get(ContextKind::SuggestedArg) {
            Some(ContextValue::String(s)) => Some(s.clone()),
            Some(ContextValue::Strings(all)) => all.first().cloned(),
            _ => None,
        });
        let suggestion = suggestion.map(|like| self.present_name(like));
        UsageError::UnknownOption { option: name.to_owned(), suggestion, runs_programs: self.tool.has_jobs() }
    }

    /// Returns the name of today for one of older releases.
    fn present_name(&self, option: String) -> String {
        match self.long(option.trim_start_matches('-')) {
            Some(Known::Ours { canonical, .. }) => canonical,
            Some(Known::Old(old)) => old.rewritten("").map_or(option, |(new, _)| new.to_owned()),
            _ => option,
        }
    }

    fn topic(&self, attached: Option<&str>) -> Option<String> {
        let next = || self.rest.first().filter(|a| !a.starts_with('-')).cloned();
        attached.map(str::to_owned).or_else(next)
    }

    fn check_once(&self, canonical: &str, seen: &mut Vec<String>) -> Result<(), UsageError> {
        if ONCE.contains(&canonical) && seen.iter().any(|s| s == canonical) {
            let place = Place((self.apps > 1).then_some(self.apps));
            return Err(UsageError::Repeated { option: canonical.to_owned(), place });
        }
        seen.push(canonical.to_owned());
        Ok(())
    }

    fn pass_on(
        &mut self,
        written: &Written<'a>,
        canonical: &str,
        values: usize,
        form: &str,
        segment: &mut Segment,
    ) -> Result<(), UsageError> {
        if values == 0 {
            let on = written.attached.map_or(Some(true), words::boolean).ok_or_else(|| not_boolean(written))?;
            segment.options.extend(on.then(|| canonical.to_owned()));
            return Ok(());
        }
        segment.options.push(canonical.to_owned());
        for i in 0..values {
            let attached = written.attached.filter(|_| i == 0);
            segment.options.push(self.value(written.name, attached, i, values, form)?);
        }
        Ok(())
    }

    fn of_ompi(&mut self, written: &Written<'a>, ompi: &OmpiOption, segment: &mut Segment) -> Result<(), UsageError> {
        if ompi.takes_value() {
            let value = self.value(written.name, written.attached, 0, 1, &format!("{} VALUE", written.name))?;
            return ompi.add_to(&mut segment.options, &value);
        }
        match written.attached.map_or(Some(true), words::boolean) {
            Some(true) => ompi.add_to(&mut segment.options, ""),
            Some(false) => Ok(()),
            None => Err(not_boolean(written)),
        }
    }

    fn rewrite(&mut self, written: &Written<'a>, old: &Deprecated, segment: &mut Segment) -> Result<(), UsageError> {
        let value = match (old.values(), written.attached) {
            (0, None) => String::new(),
            (0, Some(text)) => {
                if !words::boolean(text).ok_or_else(|| not_boolean(written))? {
                    return Ok(());
                }
                String::new()
            }
            _ => self.value(written.name, written.attached, 0, 1, &format!("{} VALUE", written.name))?,
        };
        let new = old.rewritten(&value);
        let shown = new.as_ref().map_or_else(String::new, |(option, value)| format!("{option} {value}"));
        segment.rewritten.push((written.name.to_owned(), shown));
        if let Some((option, value)) = new {
            segment.options.extend([option.to_owned(), value]);
        }
        Ok(())
    }

    /// Returns the next value. An option in place of the first value means that the value is missing.
    fn value(
        &mut self,
        name: &str,
        attached: Option<&str>,
        index: usize,
        values: usize,
        form: &str,
    ) -> Result<String, UsageError> {
        let missing = || UsageError::MissingValue { option: name.to_owned(), values, form: form.to_owned() };
        // Only a value can be missing behind `=`: `--np=$N` with a variable that is not set.
        match attached {
            Some("") if is_number(form) => return Err(missing()),
            Some(value) => return Ok(value.to_owned()),
            None => {}
        }
        let (next, rest) = self.rest.split_first().filter(|(next, _)| *next != ":").ok_or_else(missing)?;
        if index == 0 && self.is_option(next) {
            return Err(missing());
        }
        self.rest = rest;
        self.last_value = Some((name.to_owned(), next.clone()));
        Ok(next.clone())
    }

    fn is_option(&self, token: &str) -> bool {
        let name = token.split_once('=').map_or(token, |(name, _)| name);
        match name.as_bytes() {
            [b'-', letter] if letter.is_ascii_alphabetic() => self.short(&name[1..]).is_some(),
            [b'-', _, _, ..] => self.long(name.trim_start_matches('-')).is_some(),
            _ => false,
        }
    }
}

/// Returns our option for one that launchers of other systems have.
fn foreign_name(name: &str) -> Option<&'static str> {
    Some(match name.trim_start_matches('-') {
        "ntasks" | "nprocs" | "nmu" | "num" => "--np N",
        "ppn" | "ntasks-per-node" | "tasks-per-node" => "-N N (processes per node)",
        "env" | "genv" => "-x NAME=VALUE",
        "hosts" | "nodelist" => "--host NAMES",
        "machinefiles" | "hostfiles" | "f" => "--hostfile FILE",
        "cpus-per-task" => "--map-by slot:PE=N",
        "chdir" => "--wdir DIR",
        _ => return None,
    })
}

/// True for the form of an option whose value is a number.
fn is_number(form: &str) -> bool {
    form.ends_with(" N")
}

/// Splits `-n4` into `-n` and `4`.
fn split_letter(token: &str) -> Option<(&str, &str)> {
    let letter = token.strip_prefix('-')?.chars().next().filter(char::is_ascii_alphabetic)?;
    Some(token.split_at(1 + letter.len_utf8())).filter(|(_, value)| !value.is_empty())
}

fn takes_value(known: &Known) -> bool {
    match known {
        Known::Ours { values, .. } => *values > 0,
        Known::Old(old) => old.values() > 0,
        Known::Ompi(ompi) => ompi.takes_value(),
        Known::Unbuilt(_) | Known::Elsewhere(_) => true,
        Known::Help | Known::Version => false,
    }
}

fn known(arg: &Arg) -> Known {
    match arg.get_id().as_str() {
        "help" => return Known::Help,
        "version" => return Known::Version,
        _ => {}
    }
    let canonical = match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => String::new(),
    };
    let values = match arg.get_action() {
        ArgAction::Set | ArgAction::Append => arg.get_num_args().map_or(1, |n| n.min_values()),
        _ => 0,
    };
    let names = arg.get_value_names().unwrap_or_default();
    let form = names.iter().fold(canonical.clone(), |form, name| format!("{form} {name}"));
    Known::Ours { canonical, values, form }
}

fn other(tool: Tool, name: &str) -> Option<Known> {
    let old = Deprecated::find(name).filter(|_| tool.has_jobs()).map(Known::Old);
    let ompi = || OmpiOption::find(name).filter(|_| tool.has_jobs()).map(Known::Ompi);
    let elsewhere = || unbuilt::elsewhere(tool, name).map(Known::Elsewhere);
    old.or_else(ompi).or_else(elsewhere).or_else(|| unbuilt::advice(tool, name).map(Known::Unbuilt))
}

fn not_boolean(written: &Written<'_>) -> UsageError {
    let value = written.attached.unwrap_or_default();
    UsageError::value(
        written.name,
        format!("{value:?} is neither true nor false"),
        "It takes no value, or one of: 1, true, yes, 0, false, no.",
    )
}
