//! Reads the variables and the file of a manager; each error names its place.

use super::error::{DiscoveryError, Flaw, shown};
use super::{Manager, Said, TimeLimit, Wanted};

/// The longest variable (bytes); the kernel allows no longer one.
const LONGEST_VARIABLE: usize = 4 << 20;
/// The longest name of a job or file (bytes).
const LONGEST_NAME: usize = 4096;

/// The texts of one manager.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) manager: Manager,
    pub(super) said: Said<'a>,
}

/// A variable that is set, and its value.
pub(super) type Variable<'a> = (&'static str, &'a str);

impl<'a> Reader<'a> {
    /// Returns a function that makes the error for a flaw at a place.
    pub(super) fn at(&self, place: impl Into<String>) -> impl FnOnce(Flaw) -> DiscoveryError {
        let (manager, place) = (self.manager, place.into());
        move |flaw| DiscoveryError::Flawed { manager, place, flaw }
    }

    /// Returns the first of these variables that is set and not empty.
    pub(super) fn optional(&self, names: &[&'static str]) -> Result<Option<Variable<'a>>, DiscoveryError> {
        let variables = self.said.variables;
        let value = |name| variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        let Some((name, value)) = names.iter().find_map(|name| Some((*name, value(*name)?))) else { return Ok(None) };
        if value.len() > LONGEST_VARIABLE {
            return Err(self.at(name)(Flaw::TooLong(value.len())));
        }
        match value.chars().find(|c| c.is_control()) {
            Some(c) => Err(self.at(name)(Flaw::Control(c))),
            None => Ok(Some((name, value))),
        }
    }

    /// Returns the first of these variables that is set; an error when none is.
    pub(super) fn needed(&self, names: &[&'static str]) -> Result<Variable<'a>, DiscoveryError> {
        let missing = || DiscoveryError::Missing { manager: self.manager, variable: names.join(" or ") };
        self.optional(names)?.ok_or_else(missing)
    }

    /// Returns the id of the job. It is shown, and becomes an argument of the manager's commands.
    pub(super) fn job(&self, names: &[&'static str]) -> Result<String, DiscoveryError> {
        let (name, id) = self.needed(names)?;
        let odd = |c: &char| !c.is_alphanumeric() && !"._-[]@".contains(*c);
        match id.chars().find(odd).or(id.chars().next().filter(|c| *c == '-')) {
            _ if id.len() > LONGEST_NAME => Err(self.at(name)(Flaw::TooLong(id.len()))),
            Some(c) => Err(self.at(name)(Flaw::Control(c))),
            None => Ok(id.to_owned()),
        }
    }

    /// Returns a number of at least 1, if the variable is set.
    pub(super) fn number(
        &self,
        name: &'static str,
        most: u32,
        wanted: &'static str,
    ) -> Result<Option<u32>, DiscoveryError> {
        let Some((_, text)) = self.optional(&[name])? else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.map(Some).ok_or_else(|| self.at(name)(Flaw::number(text, wanted)))
    }

    /// Returns a number of seconds, if the variable is set.
    pub(super) fn seconds(
        &self,
        name: &'static str,
        limit: fn(u64) -> TimeLimit,
    ) -> Result<Option<TimeLimit>, DiscoveryError> {
        let Some((_, text)) = self.optional(&[name])? else { return Ok(None) };
        let number = text.parse().map_err(|_| self.at(name)(Flaw::number(text, "a number of seconds")))?;
        Ok(Some(limit(number)))
    }

    /// Returns the file that the first of these variables names.
    pub(super) fn wanted(&self, names: &[&'static str]) -> Result<Option<Wanted>, DiscoveryError> {
        match self.optional(names)? {
            Some((name, path)) if path.len() > LONGEST_NAME => Err(self.at(name)(Flaw::TooLong(path.len()))),
            found => Ok(found.map(|(variable, path)| Wanted { variable, path: path.to_owned() })),
        }
    }

    /// Returns the text of the file that the variable names, and a name for messages.
    pub(super) fn file(&self, names: &[&'static str]) -> Result<(String, &'a str), DiscoveryError> {
        let (name, path) = self.needed(names)?;
        let file = self.said.file.filter(|file| file.wanted.variable == name);
        let file = file.ok_or_else(|| self.at(name)(Flaw::NotRead))?;
        Ok((format!("{name} {}", shown(path)), &file.text))
    }

    /// Calls a function for each line of the file that is not empty.
    pub(super) fn lines(
        &self,
        place: &str,
        text: &'a str,
        mut take: impl FnMut(&'a str) -> Result<(), Flaw>,
    ) -> Result<(), DiscoveryError> {
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() {
                take(line).map_err(self.at(format!("{place}, line {}", index + 1)))?;
            }
        }
        Ok(())
    }
}
