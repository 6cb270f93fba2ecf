//! Directives of `--output`, `--display` and `--runtime-options` while a line is read. They apply to the whole job, in
//! whichever application of the line they stand. Each value is given or absent; two different values for one directive
//! are an error.

use super::error::UsageError;
use super::words::{self, WordError};

/// A value that may be given several times if it is always the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked<T>(pub(crate) Option<T>);

impl<T> Default for Asked<T> {
    fn default() -> Self {
        Asked(None)
    }
}

impl<T: PartialEq> Asked<T> {
    /// Sets the value; an error when another was given before.
    pub(crate) fn say(&mut self, option: &str, name: &str, value: T) -> Result<(), UsageError> {
        match &self.0 {
            Some(said) if *said != value => Err(UsageError::Conflict {
                what: format!("{option}: {name} is given twice, with different values"),
                next: "It holds for the whole job, whichever program it stands at: keep one of them.".to_owned(),
            }),
            _ => {
                self.0 = Some(value);
                Ok(())
            }
        }
    }
}

/// A word of a list, `name` or `name=value`.
pub(crate) struct Word<'a> {
    /// The option, for messages.
    pub(crate) option: &'a str,
    /// The directive in full.
    pub(crate) name: &'static str,
    /// Text after `=`.
    pub(crate) value: Option<&'a str>,
}

impl<'a> Word<'a> {
    /// Finds the directive that `text` means among those of `option`; the error message lists those that are `built`.
    pub(crate) fn parse<T: Copy>(
        option: &'a str,
        text: &'a str,
        known: &[(&'static str, T)],
        built: fn(&T) -> bool,
    ) -> Result<(Word<'a>, T), UsageError> {
        let (head, value) = match text.split_once('=') {
            Some((head, value)) => (head.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        let (name, what) = words::choose(head, known).map_err(|e| unknown_word(option, head, &e, known, built))?;
        Ok((Word { option, name, value }, what))
    }

    /// Reads a boolean; without a value it is true.
    pub(crate) fn boolean(&self) -> Result<bool, UsageError> {
        let Some(value) = self.value else { return Ok(true) };
        words::boolean(value).ok_or_else(|| {
            UsageError::value(
                self.option,
                format!("{}={value} is neither true nor false", self.name),
                "Write it without a value, or with one of: 1, true, yes, 0, false, no.",
            )
        })
    }

    /// Reads text that may not be empty.
    pub(crate) fn text(&self, example: &str) -> Result<String, UsageError> {
        self.value.filter(|v| !v.is_empty()).map(str::to_owned).ok_or_else(|| {
            UsageError::value(
                self.option,
                format!("{} needs a value", self.name),
                format!("Write it as {}={example}.", self.name),
            )
        })
    }

    /// Returns the error for a directive that the field has and this version does not.
    pub(crate) fn unbuilt(&self, instead: &'static str) -> UsageError {
        UsageError::Unbuilt { option: format!("{} {}", self.option, self.name), instead }
    }
}

fn unknown_word<T>(
    option: &str,
    word: &str,
    error: &WordError,
    known: &[(&'static str, T)],
    built: fn(&T) -> bool,
) -> UsageError {
    match error {
        WordError::Unknown => {
            let all: Vec<_> = known.iter().filter(|(_, what)| built(what)).map(|(name, _)| *name).collect();
            let next = format!("Valid directives: {}. Please check for a typo.", all.join(":"));
            UsageError::value(option, format!("there is no directive {word:?}"), next)
        }
        WordError::Ambiguous(fits) => {
            let next = format!("Write one of them in full: {}.", fits.join(", "));
            UsageError::value(option, format!("{word:?} may mean several directives"), next)
        }
    }
}
