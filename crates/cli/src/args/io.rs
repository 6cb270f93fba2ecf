//! `--output`, `--stdin`.

use ferrite_types::{OutputOptions, Rank, StdinTarget};

use super::ask::{Asked, Word};
use super::error::UsageError;

/// The output directives that were read so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputAsk {
    flags: [Asked<bool>; FLAGS.len()],
    dir: Asked<String>,
    file: Asked<String>,
    copy: Asked<bool>,
    /// True when the line has the option; a default does not apply then.
    pub(crate) said: bool,
}

/// Selects the field of a boolean directive.
type Field = fn(&mut OutputOptions) -> &mut bool;

/// The boolean directives.
const FLAGS: [(&str, Field); 9] = [
    ("tag", |o| &mut o.tag),
    ("tag-detailed", |o| &mut o.tag_detailed),
    ("tag-fullname", |o| &mut o.tag_fullname),
    ("rank", |o| &mut o.rank),
    ("timestamp", |o| &mut o.timestamp),
    ("merge-stderr-to-stdout", |o| &mut o.merge_stderr),
    ("raw", |o| &mut o.raw),
    ("xml", |o| &mut o.xml),
    ("pattern", |o| &mut o.pattern),
];

#[derive(Clone, Copy)]
enum Output {
    Flag(usize),
    Dir,
    File,
    Copy(bool),
}

const OUTPUT: &[(&str, Output)] = &[
    ("tag", Output::Flag(0)),
    ("tag-detailed", Output::Flag(1)),
    ("tag-fullname", Output::Flag(2)),
    ("rank", Output::Flag(3)),
    ("timestamp", Output::Flag(4)),
    ("merge-stderr-to-stdout", Output::Flag(5)),
    ("raw", Output::Flag(6)),
    ("dir", Output::Dir),
    ("file", Output::File),
    ("copy", Output::Copy(true)),
    ("nocopy", Output::Copy(false)),
    ("xml", Output::Flag(7)),
    ("pattern", Output::Flag(8)),
];

/// Longer spellings, which are no prefixes of each other's.
const LONG: [(&str, &str); 2] = [("directory", "dir"), ("filename", "file")];

impl OutputAsk {
    /// Adds the list of one option.
    pub(crate) fn add(&mut self, option: &str, list: &str) -> Result<(), UsageError> {
        self.said = true;
        // A qualifier follows a colon, and means the same as a word of the list; so both separators are treated alike.
        for text in list.split([',', ':']) {
            let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let long = LONG.iter().find(|(long, _)| long.eq_ignore_ascii_case(name.trim()));
            let text = match (long, value) {
                (None, _) => text.to_owned(),
                (Some((_, short)), None) => (*short).to_owned(),
                (Some((_, short)), Some(value)) => format!("{short}={value}"),
            };
            let (word, what) = Word::parse(option, &text, OUTPUT, |_| true)?;
            match what {
                Output::Flag(i) => self.flags[i].say(option, word.name, word.boolean()?)?,
                Output::Dir => self.dir.say(option, word.name, word.text("DIRECTORY")?)?,
                Output::File => self.file.say(option, word.name, word.text("NAME")?)?,
                Output::Copy(yes) => self.copy.say(option, "copy (or nocopy)", word.boolean()? == yes)?,
            }
        }
        Ok(())
    }

    /// Returns the options; `dir` and `file` exclude each other.
    pub(crate) fn finish(self, option: &str) -> Result<OutputOptions, UsageError> {
        if self.dir.0.is_some() && self.file.0.is_some() {
            return Err(UsageError::Conflict {
                what: format!("{option}: dir and file are both given"),
                next: "Keep dir=D for a directory per process, or file=N for files with a common name.".to_owned(),
            });
        }
        let mut options = OutputOptions {
            dir: self.dir.0,
            file: self.file.0,
            copy: self.copy.0.unwrap_or(false),
            ..OutputOptions::default()
        };
        for ((_, field), asked) in FLAGS.iter().zip(&self.flags) {
            *field(&mut options) = asked.0.unwrap_or(false);
        }
        if options.pattern {
            check_pattern(option, options.file.as_deref())?;
        }
        Ok(options)
    }
}

/// Refuses a pattern by which the processes of a job would share a file.
fn check_pattern(option: &str, file: Option<&str>) -> Result<(), UsageError> {
    let wrong = |what: String| {
        let next = "Write it as file=run-%n-%R:pattern, with %n namespace, %r rank, %R rank with leading zeros, \
            %h node, %% percent sign.";
        Err(UsageError::value(option, what, next))
    };
    let Some(file) = file else {
        return wrong("pattern says how the name of a file is read, and there is no file=".to_owned());
    };
    let mut chars = file.chars();
    let mut has_rank = false;
    while let Some(c) = chars.next() {
        match (c, if c == '%' { chars.next() } else { None }) {
            ('%', Some('r' | 'R')) => has_rank = true,
            ('%', Some('n' | 'h' | '%')) => {}
            ('%', other) => {
                let letter = other.map(String::from).unwrap_or_default();
                return wrong(format!("file={file}: there is no %{letter}"));
            }
            _ => {}
        }
    }
    match has_rank {
        true => Ok(()),
        false => wrong(format!("file={file}: without %r or %R all processes would write to one file")),
    }
}

/// Parses `--stdin rank|all|none`.
pub(crate) fn stdin(text: &str) -> Result<StdinTarget, UsageError> {
    match text.to_ascii_lowercase().as_str() {
        "all" => Ok(StdinTarget::All),
        "none" => Ok(StdinTarget::None),
        digits if digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse().map(|n| StdinTarget::Rank(Rank(n))).map_err(|_| ())
        }
        _ => Err(()),
    }
    .map_err(|()| {
        UsageError::value(
            "--stdin",
            format!("{text:?} is not a rank"),
            "Give the rank that reads standard input (0 without this option), or `all`, or `none`.",
        )
    })
}
