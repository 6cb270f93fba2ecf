//! Parses hostfiles: one host a line, with slots, login name and port. The command line reads the file and calls this.
//! No name is resolved here.
//!
//! The grammar is the field's.

use std::collections::BTreeMap;
use std::fmt;

use ferrite_types::{HostEntry, HostRef, SlotCount};
use thiserror::Error;

use crate::added::Added;
use crate::hostlist::ItemSlots;
use crate::name::{self, BadName};

/// A parsed hostfile: its items in order, repeats of a host merged into the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hostfile {
    /// The file's name, for messages.
    pub file: String,
    /// The hosts in the file.
    pub items: Vec<HostRef>,
}

/// The error in a hostfile, and its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("hostfile {file}, line {line}: {problem}")]
pub struct HostfileError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The error.
    pub problem: Problem,
}

/// The error in a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// `/*` without its end.
    #[error("the comment that begins here with /* has no */")]
    OpenComment,
    /// A name with a bad character.
    #[error("{0}; write a host as: node1 slots=4")]
    Name(#[from] BadName),
    /// `n0 n1`.
    #[error("{0:?} is not expected here; write one host a line, then settings like slots=4")]
    Stray(String),
    /// A key that is unknown.
    #[error("{0:?} is not a setting of a host; the settings are slots, max_slots, username and port")]
    UnknownKey(String),
    /// A key that does not fit a relative entry or an exclusion.
    #[error("{0:?} cannot be said of {1:?}; only a host by name has that setting")]
    KeyNotHere(String, String),
    /// `slots` without `=value`.
    #[error("{0:?} has no value; write {0}=4")]
    NoValue(String),
    /// Not a number, or out of range.
    #[error("{0}={1:?} is not a whole number from {2} to {3}")]
    Number(String, String, u32, u32),
    /// A key that is twice on one line.
    #[error("{0:?} is given a second time on this line; remove one of them")]
    Repeated(String),
    /// `max_slots` below `slots`.
    #[error("{host} has max_slots={max} but slots={slots}; the limit must not be below the slots")]
    LimitBelowSlots {
        /// The host.
        host: String,
        /// Slots, of all its lines.
        slots: u32,
        /// Limit, of all its lines.
        max: u32,
    },
    /// `user@host username=`.
    #[error("the login name is given twice, as {0:?} and as {1:?}; remove one of them")]
    TwoUsers(String, String),
    /// `+x`.
    #[error(
        "{0:?} is not a relative node; write +n0 for the first node, +e for all empty nodes, or +e:2 for two of them"
    )]
    Relative(String),
    /// `rank 0=n1`.
    #[error(
        "this is a line of a rankfile; a hostfile has one host a line, as: node1 slots=4 (a rankfile is given by --map-by rankfile:FILE=...)"
    )]
    Rankfile,
    /// A host with too many slots on all its lines.
    #[error("the slots of {0} add up to more than {LARGEST}", LARGEST = LARGEST)]
    TooManySlots(String),
    /// `+n1`, `+e` or `^n1` where hosts are added.
    #[error("{0:?} names no host that could be added; write one host a line, as: node1 slots=4")]
    NotAdded(String),
    /// `slots=0` where hosts are added.
    #[error("{0} would be added without slots, so that nothing could run there; write slots=N, or leave it out")]
    WithoutSlots(String),
    /// A host that is added twice.
    #[error("{0} is named a second time; remove one of its lines")]
    NamedTwice(String),
    /// `+e` or `^n1` where nodes are activated.
    #[error("{0:?} does not say which node is to be activated; write names, or +nK for the K-th node")]
    NotActivated(String),
}

/// The most slots of a node; a local rank has 16 bits.
pub(crate) const LARGEST: u32 = 65_535;

/// Parses the text of a hostfile; `file` is for messages only.
///
/// # Errors
/// The first error, with file and line.
pub fn parse(file: &str, text: &str) -> Result<Hostfile, HostfileError> {
    let mut items = Items::default();
    for_each_line(file, text, Dialect::Nodes, |line| items.merge(line.item))?;
    Ok(Hostfile { file: file.to_owned(), items: items.list })
}

/// Parses the text of an `--add-hostfile`: hosts by name, whose slots may be `+N` or `-N` as well.
///
/// # Errors
/// The first error, with file and line.
pub fn parse_added(file: &str, text: &str) -> Result<Vec<Added>, HostfileError> {
    let mut hosts: Vec<Added> = Vec::new();
    for_each_line(file, text, Dialect::Added, |Line { subject, item, slots }| {
        let HostRef::Host(host) = item else { return Err(Problem::NotAdded(subject)) };
        check_limit(&host)?;
        if slots == ItemSlots::Given(0) {
            return Err(Problem::WithoutSlots(host.name));
        }
        if hosts.iter().any(|known| known.host.name.eq_ignore_ascii_case(&host.name)) {
            return Err(Problem::NamedTwice(host.name));
        }
        hosts.push(Added { host, slots });
        Ok(())
    })?;
    Ok(hosts)
}

/// Parses the text of `--activate file=`: a hostfile, of which only the names count.
///
/// # Errors
/// The first error, with file and line.
pub fn parse_activated(file: &str, text: &str) -> Result<Vec<HostRef>, HostfileError> {
    let mut nodes = Vec::new();
    for_each_line(file, text, Dialect::Nodes, |Line { subject, item, .. }| {
        nodes.push(match item {
            HostRef::Host(host) => HostRef::Host(HostEntry::named(&host.name)),
            HostRef::Relative(at, _) => HostRef::Relative(at, SlotCount::FromCores),
            HostRef::Empty(_) | HostRef::Exclude(_) => return Err(Problem::NotActivated(subject)),
        });
        Ok(())
    })?;
    Ok(nodes)
}

/// Returns the hosts of a hostfile in the order of its lines, each as often as it is named, whatever its slots.
///
/// # Errors
/// The first error, with file and line.
pub fn parse_namings(file: &str, text: &str) -> Result<Vec<HostRef>, HostfileError> {
    let mut namings = Vec::new();
    for_each_line(file, text, Dialect::Nodes, |line| {
        namings.push(line.item);
        Ok(())
    })?;
    Ok(namings)
}

/// The purpose of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// The file says which nodes there are.
    Nodes,
    /// The file adds nodes, or changes their slots (`slots=+2`).
    Added,
}

/// A line that is neither empty nor a comment.
struct Line {
    /// The first word of the line.
    subject: String,
    item: HostRef,
    slots: ItemSlots,
}

fn for_each_line(
    file: &str,
    text: &str,
    dialect: Dialect,
    mut take: impl FnMut(Line) -> Result<(), Problem>,
) -> Result<(), HostfileError> {
    let at = |line: usize| move |problem| HostfileError { file: file.to_owned(), line, problem };
    for (line, content) in without_comments(text).map_err(|line| at(line)(Problem::OpenComment))? {
        if let Some(parsed) = parse_line(&content, dialect).map_err(at(line))? {
            take(parsed).map_err(at(line))?;
        }
    }
    Ok(())
}

impl Hostfile {
    /// Returns the items as a filter for an app context.
    #[must_use]
    pub fn refs(&self) -> Vec<HostRef> {
        self.items.clone()
    }
    /// Returns the hosts that it names, without relative entries and exclusions.
    pub fn hosts(&self) -> impl Iterator<Item = &HostEntry> {
        self.items.iter().filter_map(|item| match item {
            HostRef::Host(entry) => Some(entry),
            _ => None,
        })
    }
    /// True when it names hosts, and so defines the allocation.
    #[must_use]
    pub fn defines_hosts(&self) -> bool {
        self.hosts().next().is_some()
    }
}

/// Returns the lines without comments; `Err(line)` = a block comment begins there and never ends.
pub(crate) fn without_comments(text: &str) -> Result<Vec<(usize, String)>, usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = Vec::new();
    let mut open = None;
    for (index, raw) in text.lines().enumerate() {
        let mut kept = String::new();
        let mut rest = raw;
        loop {
            if open.is_some() {
                let Some((_, after)) = rest.split_once("*/") else {
                    break;
                };
                open = None;
                kept.push(' ');
                rest = after;
            }
            let Some(start) = rest.find(['#', '/']) else {
                kept.push_str(rest);
                break;
            };
            kept.push_str(&rest[..start]);
            rest = &rest[start..];
            if rest.starts_with("/*") {
                open = Some(index + 1);
                rest = &rest[2..];
            } else if rest.starts_with('#') || rest.starts_with("//") {
                break;
            } else {
                kept.push('/');
                rest = &rest[1..];
            }
        }
        lines.push((index + 1, kept));
    }
    open.map_or(Ok(lines), Err)
}

fn parse_line(line: &str, dialect: Dialect) -> Result<Option<Line>, Problem> {
    let spaced = line.replace('=', " = ");
    let mut words = spaced.split_whitespace().peekable();
    let Some(subject) = words.next() else {
        return Ok(None);
    };
    let numbered = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit() || c == '*');
    if subject.eq_ignore_ascii_case("rank") && words.peek().is_some_and(numbered) {
        return Err(Problem::Rankfile);
    }
    let mut settings = Settings::default();
    while let Some(key) = words.next() {
        if key == "=" {
            return Err(Problem::Stray(key.to_owned()));
        }
        if words.next_if_eq(&"=").is_none() {
            return Err(match Key::of(key) {
                Some(_) => Problem::NoValue(key.to_owned()),
                None => Problem::Stray(key.to_owned()),
            });
        }
        let value = words.next().filter(|v| *v != "=");
        settings.set(key, value.ok_or_else(|| Problem::NoValue(key.to_owned()))?, dialect)?;
    }
    let slots = settings.slots.unwrap_or(ItemSlots::Unstated);
    let item = settings.apply_to(subject)?;
    Ok(Some(Line { subject: subject.to_owned(), item, slots }))
}

#[derive(Clone, Copy)]
enum Key {
    Slots,
    MaxSlots,
    User,
    Port,
}

impl Key {
    /// Returns the key of a word, in every spelling of the field.
    fn of(word: &str) -> Option<Key> {
        Some(match word.to_ascii_lowercase().replace('-', "_").as_str() {
            "slots" | "slot" | "cpu" | "cpus" | "count" => Key::Slots,
            "max_slots" | "slots_max" | "max_slot" | "cpu_max" | "cpus_max" | "max_cpu" | "max_cpus" | "count_max"
            | "max_count" => Key::MaxSlots,
            "username" | "user_name" | "user" => Key::User,
            "port" => Key::Port,
            _ => return None,
        })
    }
}

#[derive(Default)]
struct Settings {
    slots: Option<ItemSlots>,
    max_slots: Option<u32>,
    user: Option<String>,
    port: Option<u32>,
}

impl Settings {
    fn set(&mut self, word: &str, value: &str, dialect: Dialect) -> Result<(), Problem> {
        let key = Key::of(word).ok_or_else(|| Problem::UnknownKey(word.to_owned()))?;
        let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
        let number = |least: u32| {
            parse_number(value, least, LARGEST)
                .ok_or_else(|| Problem::Number(word.to_owned(), value.to_owned(), least, LARGEST))
        };
        let twice = match key {
            Key::Slots => {
                let adjusted = parse_adjustment(value).filter(|_| dialect == Dialect::Added);
                let slots = adjusted.map_or_else(|| number(0).map(ItemSlots::Given), |by| Ok(ItemSlots::Adjust(by)))?;
                self.slots.replace(slots).is_some()
            }
            Key::MaxSlots => self.max_slots.replace(number(1)?).is_some(),
            Key::Port => self.port.replace(number(1)?).is_some(),
            Key::User => self.user.replace(name::check_user(value)?.to_owned()).is_some(),
        };
        if twice { Err(Problem::Repeated(word.to_owned())) } else { Ok(()) }
    }

    fn apply_to(self, subject: &str) -> Result<HostRef, Problem> {
        if let Some(host) = subject.strip_prefix('^') {
            self.refuse_all_but_slots(subject, true)?;
            return Ok(HostRef::Exclude(name::check_host(host)?.to_owned()));
        }
        if let Some(item) = parse_relative(subject, self.count()) {
            let item = item.map_err(|()| Problem::Relative(subject.to_owned()))?;
            self.refuse_all_but_slots(subject, matches!(item, HostRef::Empty(_)))?;
            return Ok(item);
        }
        let (user, host) = match subject.split_once('@') {
            Some((user, host)) => (Some(name::check_user(user)?.to_owned()), host),
            None => (None, subject),
        };
        if let (Some(a), Some(b)) = (&user, &self.user) {
            return Err(Problem::TwoUsers(a.clone(), b.clone()));
        }
        Ok(HostRef::Host(HostEntry {
            name: name::check_host(host)?.to_owned(),
            slots: self.count(),
            max_slots: self.max_slots,
            user: user.or(self.user),
            port: self.port.and_then(|p| u16::try_from(p).ok()),
            rm_job: None,
        }))
    }

    fn count(&self) -> SlotCount {
        match self.slots {
            Some(ItemSlots::Given(n)) => SlotCount::Given(n),
            Some(ItemSlots::Unstated | ItemSlots::All | ItemSlots::Adjust(_)) | None => SlotCount::FromCores,
        }
    }

    /// Refuses keys of exclusions and relative entries, whose nodes are described elsewhere.
    fn refuse_all_but_slots(&self, subject: &str, slots_too: bool) -> Result<(), Problem> {
        let given = [
            ("slots", slots_too && self.slots.is_some()),
            ("max_slots", self.max_slots.is_some()),
            ("username", self.user.is_some()),
            ("port", self.port.is_some()),
        ];
        match given.iter().find(|(_, set)| *set) {
            Some((key, _)) => Err(Problem::KeyNotHere((*key).to_owned(), subject.to_owned())),
            None => Ok(()),
        }
    }
}

/// Parses `+nK`, `+e` and `+e:N`; `None` = the text does not begin with `+`.
pub(crate) fn parse_relative(text: &str, slots: SlotCount) -> Option<Result<HostRef, ()>> {
    let body = text.strip_prefix('+')?;
    let parsed = match body.split_at_checked(1) {
        Some(("n" | "N", index)) => parse_number(index, 0, u32::MAX).map(|k| HostRef::Relative(k, slots)),
        Some(("e" | "E", "")) => Some(HostRef::Empty(None)),
        Some(("e" | "E", count)) => {
            count.strip_prefix(':').and_then(|n| parse_number(n, 1, u32::MAX)).map(|n| HostRef::Empty(Some(n)))
        }
        _ => None,
    };
    Some(parsed.ok_or(()))
}

/// Parses `+2` and `-2`.
pub(crate) fn parse_adjustment(text: &str) -> Option<i32> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let by = i32::try_from(parse_number(digits, 0, LARGEST)?).ok()?;
    Some(sign * by)
}

/// Parses a number of digits only: `str::parse` would also accept `+4`.
pub(crate) fn parse_number(text: &str, least: u32, most: u32) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let value = text.parse::<u32>().ok().filter(|_| digits)?;
    (least..=most).contains(&value).then_some(value)
}

/// The items so far, and the position of each host by name.
#[derive(Default)]
pub(crate) struct Items {
    pub(crate) list: Vec<HostRef>,
    hosts: BTreeMap<String, usize>,
}

impl Items {
    /// Adds an item. A repeated host adds to its slots; a line without a number counts as one.
    pub(crate) fn merge(&mut self, item: HostRef) -> Result<(), Problem> {
        let HostRef::Host(new) = &item else {
            self.list.push(item);
            return Ok(());
        };
        let known = self.hosts.get(&new.name.to_ascii_lowercase());
        let Some(HostRef::Host(entry)) = known.and_then(|at| self.list.get_mut(*at)) else {
            check_limit(new)?;
            self.hosts.insert(new.name.to_ascii_lowercase(), self.list.len());
            self.list.push(item);
            return Ok(());
        };
        let slots = add(entry.slots, new.slots);
        entry.slots = SlotCount::Given(slots.ok_or_else(|| Problem::TooManySlots(new.name.clone()))?);
        entry.max_slots = match (entry.max_slots, new.max_slots) {
            // No host has more slots than that.
            (Some(a), Some(b)) => Some(a.saturating_add(b).min(LARGEST)),
            (a, b) => a.or(b),
        };
        entry.user = entry.user.take().or_else(|| new.user.clone());
        entry.port = entry.port.or(new.port);
        check_limit(entry)
    }
}

fn add(a: SlotCount, b: SlotCount) -> Option<u32> {
    let count = |s| match s {
        SlotCount::FromCores => 1,
        SlotCount::Given(n) => n,
    };
    Some(count(a) + count(b)).filter(|sum| *sum <= LARGEST)
}

fn check_limit(entry: &HostEntry) -> Result<(), Problem> {
    match (entry.slots, entry.max_slots) {
        (SlotCount::Given(slots), Some(max)) if max < slots => {
            Err(Problem::LimitBelowSlots { host: entry.name.clone(), slots, max })
        }
        _ => Ok(()),
    }
}

/// The hostfile in one canonical spelling; parsing it again gives the same items.
impl fmt::Display for Hostfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for item in &self.items {
            match item {
                HostRef::Host(entry) => {
                    write!(f, "{}", entry.name)?;
                    write_slots(f, entry.slots)?;
                    if let Some(max) = entry.max_slots {
                        write!(f, " max_slots={max}")?;
                    }
                    if let Some(user) = &entry.user {
                        write!(f, " username={user}")?;
                    }
                    if let Some(port) = entry.port {
                        write!(f, " port={port}")?;
                    }
                }
                HostRef::Relative(k, slots) => {
                    write!(f, "+n{k}")?;
                    write_slots(f, *slots)?;
                }
                HostRef::Empty(None) => write!(f, "+e")?,
                HostRef::Empty(Some(n)) => write!(f, "+e:{n}")?,
                HostRef::Exclude(name) => write!(f, "^{name}")?,
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn write_slots(f: &mut fmt::Formatter<'_>, slots: SlotCount) -> fmt::Result {
    match slots {
        SlotCount::Given(n) => write!(f, " slots={n}"),
        SlotCount::FromCores => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(input: &str) -> String {
        match parse("hosts", input) {
            Ok(file) => file.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_form_of_the_grammar_is_understood() {
        let input = "# cluster\n\
            n0 slots=4 max_slots=8  // the big one\n\
            alice@n1 cpu = 2 port=2222\n\
            n2 count=3 slots-max=6 username=\"bob\" /* old */\n\
            /* n3 is down\n   since May */ n4\n\
            10.0.0.7 slots=1\n\
            fe80::1%eth0\n\
            [2001:db8::2] slots=2\n\
            ^n5\n\
            +n2 slots=3\n\
            +e\n+e:4\n";
        insta::assert_snapshot!(text(input));
    }

    #[test]
    fn repeats_of_a_host_add_slots() {
        assert_eq!(text("n0\nn0\nn0"), "n0 slots=3\n");
        assert_eq!(text("n0 slots=2\nn1\nN0 slots=3"), "n0 slots=5\nn1\n");
    }

    #[test]
    fn each_refusal_names_file_and_line_and_what_would_be_right() {
        let bad = [
            "n0\n\nn1 slots=four",
            "n0 slots=2 slots=3",
            "n0 slots=2 cpu=3",
            "n0 slots",
            "n0 slots=",
            "n0 =4",
            "n0 n1",
            "n0 slts=4",
            "n0 slots=-1",
            "n0 slots=70000",
            "n0 slots=4 max_slots=2",
            "n0 slots=2 max_slots=3\nn0 slots=2",
            "n0 port=0",
            "n0:4",
            "-oProxyCommand=id",
            "$(id)",
            "a@b username=c",
            "^n0 slots=2",
            "+n1 port=3",
            "+x1",
            "+e:0",
            "rank 0=n1 slot=0",
            "n0\n/* open\nn1",
        ];
        let all: Vec<String> = bad.iter().map(|b| format!("{b:?}\n  {}", text(b))).collect();
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn hosts_that_are_added_may_have_more_slots_or_fewer_than_before() {
        let told = |text: &str| match parse_added("more", text) {
            Ok(hosts) => hosts.iter().map(|host| format!("{} {:?}\n", host.host.name, host.slots)).collect(),
            Err(error) => format!("{error}\n"),
        };
        let good = "n5 slots=4\nme@n6 slots=+2 port=22\nn7 slots=-1\nn8 # all of it\n";
        let bad = ["+e", "^n1", "+n2 slots=+1", "n5 slots=0", "n5\nN5 slots=2", "n5 slots=+", "n5 slots=4 max_slots=2"];
        let all: Vec<String> = [good].iter().chain(&bad).map(|text| format!("{text:?}\n{}", told(text))).collect();
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn of_a_file_of_nodes_to_activate_only_the_names_count() {
        let told = |text: &str| parse_activated("f", text).map_err(|e| e.to_string());
        let nodes = [HostRef::Host(HostEntry::named("n1")), HostRef::Relative(2, SlotCount::FromCores)];
        assert_eq!(told("me@n1 slots=4 port=3\n+n2 slots=1\n"), Ok(nodes.to_vec()));
        for bad in ["+e", "^n1"] {
            assert!(told(bad).unwrap_err().contains("which node is to be activated"), "{bad}");
        }
        assert!(told("n1 slots=+2").is_err());
    }

    #[test]
    fn an_empty_file_has_no_hosts() {
        assert!(!parse("hosts", "\r\n # nothing\r\n").unwrap().defines_hosts());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic_and_what_it_accepts_prints_and_parses_back(
            input in "([a-c0-9 =@+^#/*:\\[\\]\\n-]|slots|max_slots|rank|\\+e|\\+n|user|port|::1){0,40}"
        ) {
            if let Ok(first) = parse("f", &input) {
                proptest::prop_assert_eq!(parse("f", &first.to_string()), Ok(first));
            }
        }
        #[test]
        fn arbitrary_characters_do_not_make_it_panic(input in "\\PC{0,60}") {
            let _ = parse("f", &input);
        }
    }
}
