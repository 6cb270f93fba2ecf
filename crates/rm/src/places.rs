//! Files that say where each process runs: rankfiles (`rank 0=n1 slot=1:0-2`) and sequences (`n1 1:0-2`). Called by the
//! command line and for spawn requests, on text that they read. It never resolves a name, and it knows no node.
//!
//! The grammar is the field's; comments are those of a hostfile.

use ferrite_types::{CpuChoice, CpuListError, CpuPart, CpuSet, HostEntry, HostRef, Rank, RankLine, SeqLine, SlotCount};
use thiserror::Error;

use crate::hostfile::{Hostfile, Items, parse_relative, without_comments};
use crate::name::{self, BadName};

/// An error in such a file, and its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind} {file}{}: {problem}", .line.map_or_else(String::new, |line| format!(", line {line}")))]
pub struct PlacesError {
    /// `rankfile` or `sequence`.
    pub kind: &'static str,
    /// Name of the file.
    pub file: String,
    /// Line, from 1; `None` = the error concerns the whole file.
    pub line: Option<usize>,
    /// The error.
    pub problem: PlacesProblem,
}

/// The error in a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlacesProblem {
    /// Nothing but comments.
    #[error("it has no line with a host; write one line for each process, as: {0}")]
    Empty(&'static str),
    /// `/*` without its end.
    #[error("the comment that begins here with /* has no */")]
    OpenComment,
    /// Not `rank N=host`.
    #[error("{0:?} is no line of a rankfile; write it as: rank 0=node1 slot=0-3")]
    NoRank(String),
    /// `rank x=`.
    #[error("{0:?} is no rank; ranks are whole numbers from 0")]
    Rank(String),
    /// The same rank again.
    #[error("rank {0} has a line already; remove one of them")]
    Twice(u32),
    /// A rank is missing.
    #[error("rank {missing} has no line, and rank {largest} has one; write a line for every rank from 0 to {largest}")]
    Hole {
        /// The first missing rank.
        missing: u32,
        /// The largest rank of the file.
        largest: u32,
    },
    /// A name with a bad character.
    #[error("{0}; a host is a name, an address, or +nK for the K-th node of the allocation")]
    Name(#[from] BadName),
    /// `^n1`, `+e`, `+x`.
    #[error("{0:?} names no single host; write a name, an address, or +nK for the K-th node of the allocation")]
    NoHost(String),
    /// `rank 0=n1 0-3`.
    #[error("{0:?} is not expected here; processors follow as slot=0-3")]
    Stray(String),
    /// `slot=`.
    #[error("slot has no value; write slot=0-3, or leave it out for the usual binding")]
    NoCpus,
    /// `slots=4` in a sequence.
    #[error(
        "{0:?} is no setting of a process: every line is one process, on the processors behind its host, as: node1 0-3"
    )]
    Setting(String),
    /// `x:0`.
    #[error("{0:?} is no package; packages have logical numbers, as in 1:0-2")]
    Package(String),
    /// `0:x`.
    #[error(
        "{0}; write processors by their logical numbers as 0,2-4, those of package 1 as 1:0-2 or 1:*, and ; between packages"
    )]
    Cpus(CpuListError),
}

const RANK_LINE: &str = "rank 0=node1 slot=0-3";
const SEQUENCE_LINE: &str = "node1 0-3";

/// Parses the text of a rankfile; `file` is for messages only. The lines are in the order of the ranks, which have no
/// hole.
///
/// # Errors
/// The first error, with file and line.
pub fn parse_ranks(file: &str, text: &str) -> Result<Vec<RankLine>, PlacesError> {
    let here = Here { kind: "rankfile", file };
    let mut lines = here.lines(text, RANK_LINE, rank_line)?;
    lines.sort_by_key(|(at, line)| (line.rank, *at));
    for pair in lines.windows(2) {
        let (rank, (at, next)) = (pair[0].1.rank, (pair[1].0, pair[1].1.rank));
        if rank == next {
            return Err(here.error(Some(at), PlacesProblem::Twice(rank.0)));
        }
    }
    let largest = lines.last().map_or(0, |(_, line)| line.rank.0);
    if let Some((missing, _)) = (0..).zip(&lines).find(|(rank, (_, line))| line.rank.0 != *rank) {
        return Err(here.error(None, PlacesProblem::Hole { missing, largest }));
    }
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}

/// Parses the text of a sequence: one process a line, `host [processors]`.
///
/// # Errors
/// The first error, with file and line.
pub fn parse_sequence(file: &str, text: &str) -> Result<Vec<SeqLine>, PlacesError> {
    let here = Here { kind: "sequence", file };
    let lines = here.lines(text, SEQUENCE_LINE, sequence_line)?;
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}

/// Returns the hosts of the lines as a hostfile that defines them: a host has a slot for each of its lines. `None` =
/// the lines name only nodes of an allocation that is defined elsewhere.
#[must_use]
pub fn as_hostfile<'a>(file: &str, hosts: impl Iterator<Item = &'a HostRef>) -> Option<Hostfile> {
    let mut items = Items::default();
    for host in hosts.filter(|host| matches!(host, HostRef::Host(_))) {
        // Placement refuses too many slots on one host.
        let _ = items.merge(host.clone());
    }
    Some(Hostfile { file: file.to_owned(), items: items.list }).filter(Hostfile::defines_hosts)
}

/// Makes a sequence of the named hosts: one process for each naming, whatever its slots, without excluded hosts. `None`
/// = it names empty nodes, which are not known here.
#[must_use]
pub fn sequence_through(namings: &[HostRef]) -> Option<Vec<SeqLine>> {
    let excluded = |name: &str| {
        namings.iter().any(|item| matches!(item, HostRef::Exclude(other) if other.eq_ignore_ascii_case(name)))
    };
    let mut lines = Vec::new();
    for item in namings {
        let host = match item {
            HostRef::Exclude(_) => continue,
            HostRef::Host(host) if excluded(&host.name) => continue,
            HostRef::Host(host) => HostRef::Host(HostEntry::named(&host.name)),
            HostRef::Relative(at, _) => HostRef::Relative(*at, SlotCount::FromCores),
            HostRef::Empty(_) => return None,
        };
        lines.push(SeqLine { host, cpus: None });
    }
    Some(lines)
}

/// One host of a line.
fn one_host(text: &str) -> Result<HostRef, PlacesProblem> {
    let no_host = || PlacesProblem::NoHost(text.to_owned());
    if text.starts_with('^') {
        return Err(no_host());
    }
    match parse_relative(text, SlotCount::FromCores) {
        Some(Ok(node @ HostRef::Relative(..))) => return Ok(node),
        Some(_) => return Err(no_host()),
        None => {}
    }
    let (user, host) = match text.split_once('@') {
        Some((user, host)) => (Some(name::check_user(user)?.to_owned()), host),
        None => (None, text),
    };
    Ok(HostRef::Host(HostEntry { user, ..HostEntry::named(name::check_host(host)?) }))
}

/// A file, for messages.
struct Here<'a> {
    kind: &'static str,
    file: &'a str,
}

impl Here<'_> {
    fn error(&self, line: Option<usize>, problem: PlacesProblem) -> PlacesError {
        PlacesError { kind: self.kind, file: self.file.to_owned(), line, problem }
    }

    /// Returns every line that is neither empty nor a comment, with its number.
    fn lines<T>(
        &self,
        text: &str,
        form: &'static str,
        parse: fn(&str) -> Result<T, PlacesProblem>,
    ) -> Result<Vec<(usize, T)>, PlacesError> {
        let lines = without_comments(text).map_err(|at| self.error(Some(at), PlacesProblem::OpenComment))?;
        let said = lines.iter().filter(|(_, line)| !line.trim().is_empty());
        let parsed = said.map(|(at, line)| parse(line).map(|one| (*at, one)).map_err(|p| self.error(Some(*at), p)));
        let parsed = parsed.collect::<Result<Vec<_>, _>>()?;
        match parsed.is_empty() {
            true => Err(self.error(None, PlacesProblem::Empty(form))),
            false => Ok(parsed),
        }
    }
}

/// Parses `rank N=host [slot=cpus]`.
fn rank_line(line: &str) -> Result<RankLine, PlacesProblem> {
    let spaced = line.replace('=', " = ");
    let mut words = spaced.split_whitespace();
    let no_rank = || PlacesProblem::NoRank(line.trim().to_owned());
    words.next().filter(|word| word.eq_ignore_ascii_case("rank")).ok_or_else(no_rank)?;
    let number = words.next().ok_or_else(no_rank)?;
    words.next().filter(|word| *word == "=").ok_or_else(no_rank)?;
    let host = words.next().filter(|word| *word != "=").ok_or_else(no_rank)?;
    let rank = number_of(number).ok_or_else(|| PlacesProblem::Rank(number.to_owned()))?;
    let cpus = match words.next() {
        None => None,
        Some(key) if is_slot(key) => {
            words.next().filter(|word| *word == "=").ok_or(PlacesProblem::NoCpus)?;
            Some(choice(&words.collect::<String>())?)
        }
        Some(stray) => return Err(PlacesProblem::Stray(stray.to_owned())),
    };
    Ok(RankLine { rank: Rank(rank), host: one_host(host)?, cpus })
}

/// Parses `host [cpus]`.
fn sequence_line(line: &str) -> Result<SeqLine, PlacesProblem> {
    let mut words = line.split_whitespace();
    let host = one_host(words.next().unwrap_or_default())?;
    let rest: String = words.collect();
    if rest.contains('=') {
        return Err(PlacesProblem::Setting(rest));
    }
    let cpus = Some(rest).filter(|text| !text.is_empty()).map(|text| choice(&text)).transpose()?;
    Ok(SeqLine { host, cpus })
}

fn is_slot(key: &str) -> bool {
    ["slot", "slots"].iter().any(|word| key.eq_ignore_ascii_case(word))
}

/// Parses `0,2-4`, `1:0-2`, `0:*` or `0:1;1:0-2`, quoted or not.
fn choice(text: &str) -> Result<CpuChoice, PlacesProblem> {
    let text = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
    if text.is_empty() {
        return Err(PlacesProblem::NoCpus);
    }
    let parts = text.split(';').map(|part| {
        let (package, cpus) = match part.split_once(':') {
            Some((package, cpus)) => {
                let number = number_of(package).ok_or_else(|| PlacesProblem::Package(package.to_owned()))?;
                (Some(number), cpus)
            }
            None => (None, part),
        };
        let cpus = Some(cpus).filter(|list| *list != "*").map(str::parse::<CpuSet>).transpose();
        Ok(CpuPart { package, cpus: cpus.map_err(PlacesProblem::Cpus)? })
    });
    Ok(CpuChoice { parts: parts.collect::<Result<_, PlacesProblem>>()? })
}

/// Parses a number of digits only.
fn number_of(text: &str) -> Option<u32> {
    crate::hostfile::parse_number(text, 0, u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(host: &HostRef, cpus: Option<&CpuChoice>) -> String {
        let host = match host {
            HostRef::Host(HostEntry { name, user: Some(user), .. }) => format!("{user}@{name}"),
            HostRef::Host(host) => host.name.clone(),
            HostRef::Relative(k, _) => format!("+n{k}"),
            other => format!("{other:?}"),
        };
        let part = |part: &CpuPart| {
            let package = part.package.map_or_else(String::new, |n| format!("{n}:"));
            format!(" {package}{}", part.cpus.as_ref().map_or_else(|| "*".to_owned(), ToString::to_string))
        };
        host + &cpus.map_or_else(String::new, |cpus| cpus.parts.iter().map(part).collect())
    }
    fn ranks(text: &str) -> String {
        match parse_ranks("ranks", text) {
            Ok(lines) => lines
                .iter()
                .map(|line| format!("{} {}\n", line.rank.0, shown(&line.host, line.cpus.as_ref())))
                .collect(),
            Err(error) => error.to_string(),
        }
    }
    fn sequence(text: &str) -> String {
        match parse_sequence("hosts", text) {
            Ok(lines) => lines.iter().map(|line| format!("{}\n", shown(&line.host, line.cpus.as_ref()))).collect(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_form_of_a_rankfile_is_understood() {
        let text = "# where it runs\n\
            rank 2=+n1 slot=0:1;1:0-2\n\
            rank 0=aa slot=10-12 // three\n\
            /* the\n   second */ RANK 1 = bb slots = 0, 1, 4\n\
            rank 3=me@cc slot=\"0:*\"\n\
            rank 4=10.0.0.1\n\
            rank 5=cc slot=*\n";
        insta::assert_snapshot!(ranks(text));
    }

    #[test]
    fn every_form_of_a_sequence_is_understood() {
        insta::assert_snapshot!(sequence("n0 0-1\n\n+n1 # second\nn0\nfe80::1 1:0-2; 0:3\nme@n2 *\n"));
    }

    #[test]
    fn each_refusal_names_file_and_line_and_what_would_be_right() {
        let bad = [
            "# nothing\n",
            "rank 0=n0\n/* open",
            "n0",
            "rank",
            "rank 0",
            "rank=0 n0",
            "rank 0=",
            "rank x=n0",
            "rank -1=n0",
            "rank 4294967296=n0",
            "rank 0=^n0",
            "rank 0=+e",
            "rank 0=-n0",
            "rank 0=n0 0-3",
            "rank 0=n0 slot",
            "rank 0=n0 slot=",
            "rank 0=n0 slot=a",
            "rank 0=n0 slot=0:",
            "rank 0=n0 slot=p0:1",
            "rank 0=n0 slot=3-1",
            "rank 0=n0 slot=0:1;",
            "rank 0=n0 slot=0-4294967295",
            "rank 0=n0\nrank 1=n1\nrank 0=n2",
            "rank 0=n0\nrank 2=n1",
            "rank 1=n0",
        ];
        let mut all: Vec<String> = bad.iter().map(|b| format!("{b:?}\n  {}", ranks(b))).collect();
        let bad = ["", "n0\nn1 slots=2", "n0 a", "^n0", "+e:2", "$(id)", "n0 n1"];
        all.extend(bad.iter().map(|b| format!("{b:?}\n  {}", sequence(b))));
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn hosts_of_lines_are_as_those_of_a_hostfile() {
        let hosts = |text| {
            let lines = parse_sequence("f", text).unwrap();
            as_hostfile("f", lines.iter().map(|line| &line.host)).map(|file| file.to_string())
        };
        assert_eq!(hosts("n0\nn1 0\nN0 2\n+n1"), Some("n0 slots=2\nn1\n".to_owned()));
        assert_eq!(hosts("+n0"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(
            text in "(rank 0=|rank 1=|n0|slot=|\\+n|[0-9]|[ =:;,*@^#/-]|\n|\\PC){0,30}"
        ) {
            if let Ok(lines) = parse_ranks("f", &text) {
                proptest::prop_assert!(lines.iter().zip(0..).all(|(line, rank)| line.rank == Rank(rank)));
            }
            let _ = parse_sequence("f", &text);
        }
    }
}
