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
const FLAGS: [(&str, Field); 7] = [
    ("tag", |o| &mut o.tag),
    ("tag-detailed", |o| &mut o.tag_detailed),
    ("tag-fullname", |o| &mut o.tag_fullname),
    ("rank", |o| &mut o.rank),
    ("timestamp", |o| &mut o.timestamp),
    ("merge-stderr-to-stdout", |o| &mut o.merge_stderr),
    ("raw", |o| &mut o.raw),
];

#[derive(Clone, Copy)]
enum Output {
    Flag(usize),
    Dir,
    File,
    Copy(bool),
    Xml,
    Pattern,
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
    ("xml", Output::Xml),
    ("pattern", Output::Pattern),
];

impl OutputAsk {
    /// Adds the list of one option.
    pub(crate) fn add(&mut self, option: &str, list: &str) -> Result<(), UsageError> {
        self.said = true;
        // A qualifier follows a colon, and means the same as a word of the list; so both separators are treated alike.
        for text in list.split([',', ':']) {
            let (word, what) = Word::parse(option, text, OUTPUT, |o| !matches!(o, Output::Xml | Output::Pattern))?;
            match what {
                Output::Flag(i) => self.flags[i].say(option, word.name, word.boolean()?)?,
                Output::Dir => self.dir.say(option, word.name, word.text("DIRECTORY")?)?,
                Output::File => self.file.say(option, word.name, word.text("NAME")?)?,
                Output::Copy(yes) => self.copy.say(option, "copy (or nocopy)", word.boolean()? == yes)?,
                Output::Xml => {
                    return Err(
                        word.unbuilt("Use tag-fullname and timestamp for output that a program can take apart.")
                    );
                }
                Output::Pattern => {
                    return Err(word.unbuilt("Use file=NAME: the files are NAME.<job>.<rank>.out and .err."));
                }
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
        Ok(options)
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
