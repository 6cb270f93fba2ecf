//! How words are taken apart and found. Every vocabulary is a table, and a word's entry shows how it is written:
//! `SPAN` takes no value, `PE=n` needs one, `SHARED[=bool]` may have one.

use super::error::{DirectiveError, Problem};

/// A word as it is listed, and what it means.
pub(super) type Entry<T> = (&'static str, T);

/// An option and its value: the context of every message.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) option: &'static str,
    pub(super) text: &'a str,
}

/// A word that was found in a table.
#[derive(Clone, Copy)]
pub(super) struct Found<'a, T> {
    /// Its name in full.
    pub(super) name: &'static str,
    /// The text behind `=`; present where it is required, and never empty.
    pub(super) value: Option<&'a str>,
    pub(super) means: T,
}

/// Spellings of other releases, which many scripts still have.
const OTHER_SPELLINGS: [(&str, &str); 4] =
    [("socket", "package"), ("sockets", "package"), ("packages", "package"), ("pkg", "package")];

impl<'a> Given<'a> {
    pub(super) fn error(&self, problem: Problem) -> DirectiveError {
        DirectiveError { option: self.option, text: self.text.to_owned(), problem }
    }

    /// Parses the directive before the first colon. A missing colon before a qualifier gets its own message.
    pub(super) fn policy<T: Copy, Q>(
        &self,
        word: &'a str,
        valid: &[Entry<T>],
        qualifiers: &[Entry<Q>],
    ) -> Result<Found<'a, T>, DirectiveError> {
        let asked = bare(word);
        match qualifiers.iter().find(|(form, _)| name(form).eq_ignore_ascii_case(asked)) {
            Some((form, _)) => Err(self.error(Problem::QualifierFirst { word: name(form), option: self.option, form })),
            None => self.find("directive", word, valid),
        }
    }

    /// Returns the entry that a word means, in any case and shortened as long as it is unique.
    pub(super) fn find<T: Copy>(
        &self,
        kind: &'static str,
        word: &'a str,
        valid: &[Entry<T>],
    ) -> Result<Found<'a, T>, DirectiveError> {
        let (form, means) = self.unique(word, valid)?.ok_or_else(|| {
            let forms = valid.iter().map(|(form, _)| if kind == "directive" { name(form) } else { form });
            let valid = forms.collect::<Vec<_>>().join(":");
            self.error(Problem::Unknown { kind, word: word.to_owned(), valid })
        })?;
        let name = name(form);
        let value = word.split_once('=').map(|(_, value)| value);
        match (form.contains('='), form.contains("[=")) {
            (false, _) if value.is_some() => {
                let value = value.unwrap_or_default().to_owned();
                Err(self.error(Problem::NeedlessValue { word: name, value }))
            }
            (true, optional) if value.map_or(!optional, str::is_empty) => {
                Err(self.error(Problem::NoValue { word: name, form }))
            }
            _ => Ok(Found { name, value, means }),
        }
    }

    fn unique<T: Copy>(&self, word: &str, valid: &[Entry<T>]) -> Result<Option<Entry<T>>, DirectiveError> {
        let asked = bare(word).to_ascii_lowercase();
        let other = OTHER_SPELLINGS.iter().find(|(old, _)| *old == asked);
        let asked = other.map_or(asked.as_str(), |(_, now)| now);
        if asked.is_empty() {
            return Ok(None);
        }
        let lower = |form: &str| name(form).to_ascii_lowercase();
        if let Some(exact) = valid.iter().find(|(form, _)| lower(form) == asked) {
            return Ok(Some(*exact));
        }
        let fits: Vec<&Entry<T>> = valid.iter().filter(|(form, _)| lower(form).starts_with(asked)).collect();
        match fits.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(**one)),
            several => {
                let matches = several.iter().map(|(form, _)| name(form)).collect::<Vec<_>>().join(" or ");
                Err(self.error(Problem::Ambiguous { word: word.to_owned(), matches }))
            }
        }
    }

    /// Parses a number from 1 to 65,535.
    pub(super) fn number<T>(&self, found: &Found<'_, T>) -> Result<u16, DirectiveError> {
        let value = found.value.unwrap_or_default();
        let digits = Some(value).filter(|v| v.bytes().all(|b| b.is_ascii_digit()));
        let number = digits.and_then(|v| v.parse().ok()).filter(|n| *n > 0);
        number.ok_or_else(|| self.error(Problem::Number { word: found.name, value: value.to_owned() }))
    }

    /// Parses a boolean; without a value it is true.
    pub(super) fn boolean<T>(&self, found: &Found<'_, T>) -> Result<bool, DirectiveError> {
        let Some(value) = found.value else { return Ok(true) };
        if let Ok(number) = value.parse::<i64>() {
            return Ok(number != 0);
        }
        match value.to_ascii_uppercase().as_str() {
            "T" | "Y" | "TRUE" | "YES" | "ENABLE" => Ok(true),
            "F" | "N" | "FALSE" | "NO" | "DISABLE" => Ok(false),
            _ => Err(self.error(Problem::Boolean { word: found.name, value: value.to_owned() })),
        }
    }

    /// Sets a value; an error when another was given before.
    pub(super) fn say<T: PartialEq>(
        &self,
        place: &mut Option<T>,
        value: T,
        word: &'static str,
    ) -> Result<(), DirectiveError> {
        match place {
            Some(said) if *said != value => Err(self.error(Problem::Twice { word })),
            _ => {
                *place = Some(value);
                Ok(())
            }
        }
    }

    /// Sets one of two opposite words; an error when the other was given before.
    pub(super) fn choose<T: PartialEq>(
        &self,
        place: &mut Option<T>,
        value: T,
        [first, second]: [&'static str; 2],
    ) -> Result<(), DirectiveError> {
        self.say(place, value, first).map_err(|_| self.error(Problem::Contradiction { first, second }))
    }
}

/// Returns the name of an entry: `PE` of `PE=n`.
fn name(form: &str) -> &str {
    form.split(['=', '[']).next().unwrap_or_default()
}

/// Returns a word without its value.
fn bare(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}

/// The words of a text. They are separated by colons, and by commas where those cannot belong to a value: lists of
/// processors, names of devices and of files end at the next colon only.
#[derive(Clone)]
pub(super) struct Words<'a> {
    rest: Option<&'a str>,
    first: bool,
}

impl<'a> Words<'a> {
    pub(super) fn of(text: &'a str) -> Words<'a> {
        Words { rest: Some(text), first: true }
    }

    /// Returns the text that was not taken yet; `None` at its end.
    pub(super) fn rest(&self) -> Option<&'a str> {
        self.rest
    }

    fn end(&self, text: &str) -> Option<usize> {
        let name_end = text.find([':', ',', '='])?;
        let keeps_commas = text[name_end..].starts_with('=') && {
            let asked = text[..name_end].to_ascii_lowercase();
            let whole: &[&str] = if self.first { &["pe-list", "device"] } else { &["file"] };
            !asked.is_empty() && whole.iter().any(|word| word.starts_with(&asked))
        };
        if keeps_commas { text.find(':') } else { text.find([':', ',']) }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest?;
        let end = self.end(text);
        self.first = false;
        self.rest = end.map(|at| &text[at + 1..]);
        Some(end.map_or(text, |at| &text[..at]))
    }
}
