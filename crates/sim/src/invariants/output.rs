//! Guarantee: output arrives whole, at the submitter or in files: the lines of a rank in order, not mixed with others,
//! and all of them without faults.

use std::collections::BTreeMap;

use ferrite_core::{Effect, Sink};
use ferrite_types::{DaemonRank, ProcId};

use super::{Invariant, Observation, require};
use crate::scenario::{Client, Expect, Scenario};

pub(super) struct Output {
    /// True for jobs whose output must be complete.
    complete: bool,
    /// True for raw output, whose chunks may be mixed; it is not checked.
    raw: bool,
    /// The unfinished line of each sink and file.
    rest: BTreeMap<Place, Vec<u8>>,
    /// Next line expected, by `job rank stream`.
    seen: BTreeMap<String, u64>,
    written: BTreeMap<ProcId, [u64; 2]>,
}

/// A place to which output is written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Sink(Sink),
    File(String),
}

impl Output {
    pub(super) fn new(scenario: &Scenario) -> Output {
        let earned = |e: Expect| e == Expect::Code(0);
        let stays = |c: Client| !c.detached && c.leaves.is_none();
        Output {
            complete: scenario.is_kind() && scenario.jobs.iter().all(|j| earned(j.expect) && stays(j.client)),
            raw: scenario.jobs.iter().any(|j| j.spec.output.raw),
            rest: BTreeMap::new(),
            seen: BTreeMap::new(),
            written: BTreeMap::new(),
        }
    }

    fn wrote(&mut self, place: Place, data: &[u8]) -> Result<(), String> {
        let mut lines = data.split_inclusive(|b| *b == b'\n');
        let mut rest = self.rest.remove(&place).unwrap_or_default();
        if !rest.is_empty() {
            rest.extend_from_slice(lines.next().unwrap_or_default());
            if let Some((b'\n', line)) = rest.split_last() {
                self.line(line)?;
                rest.clear();
            }
        }
        for piece in lines {
            match piece.split_last() {
                Some((b'\n', line)) => self.line(line)?,
                Some(_) | None => rest.extend_from_slice(piece),
            }
        }
        self.rest.insert(place, rest);
        Ok(())
    }

    /// `job rank stream number some text`
    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let text = std::str::from_utf8(line).unwrap_or_default();
        let broken = || format!("a broken line: {:?}", String::from_utf8_lossy(line));
        let (author, seq) = text
            .strip_suffix(" some text")
            .and_then(|t| t.rsplit_once(' '))
            .filter(|(author, _)| author.split(' ').count() == 3)
            .ok_or_else(broken)?;
        if !self.seen.contains_key(author) {
            self.seen.insert(author.to_owned(), 0);
        }
        let next = self.seen.get_mut(author).ok_or_else(broken)?;
        let expected = *next;
        *next += 1;
        require(seq.parse() == Ok(expected), || format!("line {seq} where {expected} was due: {text:?}"))
    }
}

impl Invariant for Output {
    fn name(&self) -> &'static str {
        "output arrives whole and in order"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Effect { effect: Effect::WriteOutput { sink, data, .. }, .. } if !self.raw => {
                self.wrote(Place::Sink(*sink), data)
            }
            Observation::Effect { effect: Effect::WriteFile { path, data, .. }, .. } if !self.raw => {
                self.wrote(Place::File(path.clone()), data)
            }
            Observation::ProcEnded { proc, lines, .. } => {
                self.written.insert(*proc, *lines);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn at_end(&mut self, _: &[DaemonRank]) -> Result<(), String> {
        if !self.complete || self.raw {
            return Ok(());
        }
        for (proc, lines) in &self.written {
            for (stream, written) in ["stdout", "stderr"].into_iter().zip(lines) {
                let author = format!("{} {} {stream}", proc.job, proc.rank);
                let seen = self.seen.get(&author).copied().unwrap_or(0);
                require(seen == *written, || format!("{proc} wrote {written} lines to {stream}, {seen} arrived"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_mixed_lines_are_seen() {
        let mut check = Output::new(&Scenario::calm(1, 1, 2));
        assert!(check.line(b"1 0 stdout 0 some text").is_ok());
        assert!(check.line(b"1 0 stderr 0 some text").is_ok());
        assert!(check.line(b"1 0 stdout 2 some text").is_err());
        assert!(check.line(b"1 0 stdout 3 some1 1 stdout").is_err());
    }
}
