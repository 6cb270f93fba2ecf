//! A small reader of command lines: options in any place, operands in order, everything after `--` untouched.
//!
//! Called by every command of xtask. It never prints and never exits.

use std::collections::VecDeque;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

/// The arguments of a command line that were not taken yet.
#[derive(Debug, Clone)]
pub(crate) struct Args {
    words: VecDeque<String>,
    rest: Option<Vec<String>>,
}

impl Args {
    /// Splits at the first `--`: what follows is the command line of another program.
    pub(crate) fn new(words: impl IntoIterator<Item = String>) -> Self {
        let mut words: VecDeque<String> = words.into_iter().collect();
        let rest = words.iter().position(|w| w == "--").map(|at| {
            let mut tail = words.split_off(at);
            tail.pop_front();
            tail.into()
        });
        Self { words, rest }
    }

    /// Takes `--name` out; true if it was there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|w| w != name);
        self.words.len() != before
    }

    /// Takes `--name VALUE` or `--name=VALUE` out.
    pub(crate) fn value(&mut self, name: &str) -> Result<Option<String>> {
        let prefix = format!("{name}=");
        let Some(at) = self.words.iter().position(|w| w == name || w.starts_with(&prefix)) else {
            return Ok(None);
        };
        let word = self.words.remove(at).unwrap_or_default();
        if let Some(value) = word.strip_prefix(&prefix) {
            return Ok(Some(value.to_owned()));
        }
        match self.words.remove(at) {
            Some(value) => Ok(Some(value)),
            None => bail!("option {name} needs a value"),
        }
    }

    /// Like [`Args::value`], parsed.
    pub(crate) fn parsed<T: FromStr>(&mut self, name: &str) -> Result<Option<T>> {
        self.value(name)?.map(|text| parse(name, &text)).transpose()
    }

    /// Takes the next operand, which the usage calls `what`.
    pub(crate) fn operand(&mut self, what: &str) -> Result<String> {
        self.optional()?.with_context(|| format!("{what} is missing"))
    }

    /// Takes the next operand if there is one.
    pub(crate) fn optional(&mut self) -> Result<Option<String>> {
        match self.words.pop_front() {
            Some(word) if word.starts_with("--") => bail!("unknown option {word}"),
            word => Ok(word),
        }
    }

    /// Takes the next operand as a number or another parsable value.
    pub(crate) fn parsed_operand<T: FromStr>(&mut self, what: &str) -> Result<T> {
        let text = self.operand(what)?;
        parse(what, &text)
    }

    /// Returns the words after `--`; without `--`, the remaining operands.
    pub(crate) fn command(&mut self, what: &str) -> Result<Vec<String>> {
        let words = match self.rest.take() {
            Some(rest) => rest,
            None => self.words.drain(..).collect(),
        };
        if words.is_empty() {
            bail!("{what} is missing: write it after `--`");
        }
        Ok(words)
    }

    /// Refuses the remaining arguments.
    pub(crate) fn finish(self) -> Result<()> {
        if let Some(word) = self.words.front() {
            bail!("unexpected argument '{word}'");
        }
        if self.rest.is_some() {
            bail!("this command takes nothing after `--`");
        }
        Ok(())
    }
}

fn parse<T: FromStr>(name: &str, text: &str) -> Result<T> {
    text.parse().map_err(|_| anyhow::anyhow!("{name}: '{text}' is not a valid value"))
}

#[cfg(test)]
mod tests {
    use super::Args;

    fn args(line: &str) -> Args {
        Args::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_stand_in_any_place_and_operands_keep_their_order() {
        let mut a = args("up 4 --name x --quick");
        assert!(a.flag("--quick"));
        assert_eq!(a.value("--name").unwrap().as_deref(), Some("x"));
        assert_eq!(a.operand("verb").unwrap(), "up");
        assert_eq!(a.parsed_operand::<usize>("count").unwrap(), 4);
        a.finish().unwrap();
    }

    #[test]
    fn words_after_two_dashes_belong_to_the_other_command() {
        let mut a = args("n0 -- prterun --name y");
        assert_eq!(a.value("--name").unwrap(), None);
        assert_eq!(a.operand("node").unwrap(), "n0");
        assert_eq!(a.command("command").unwrap(), ["prterun", "--name", "y"]);
    }

    #[test]
    fn an_unknown_option_is_refused_by_its_name() {
        let error = args("--wrong").optional().unwrap_err();
        assert!(error.to_string().contains("--wrong"));
    }
}
