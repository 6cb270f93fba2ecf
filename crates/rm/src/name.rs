//! Checks and compares names of hosts and users. Names become arguments of launchers, so only characters without a
//! meaning for shells and option parsers are allowed. One machine may have several names.

use std::collections::BTreeMap;

use ferrite_types::NodeRecord;
use thiserror::Error;

/// The reason why a host or user name is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadName {
    /// An empty name.
    #[error("a name is missing")]
    Empty,
    /// Longer than any host name.
    #[error("a name of {0} characters is too long (255 is the limit)")]
    TooLong(usize),
    /// A first character that would make it an option.
    #[error("the name {0:?} begins with '{1}', which no name does")]
    FirstCharacter(String, char),
    /// A character that is not allowed.
    #[error("the character {1:?} in the name {0:?} is not allowed (letters, digits, '.', '-' and '_' are)")]
    Character(String, char),
    /// A bracket or colon, but no IPv6 address.
    #[error("{0:?} is not an IPv6 address")]
    Address(String),
}

/// Longest name of a host (RFC 1035), used for users too.
const LIMIT: usize = 255;

/// Checks a host name, IPv4 or IPv6 address (with or without brackets); returns it without brackets.
///
/// # Errors
/// The flaw of the name.
pub fn check_host(text: &str) -> Result<&str, BadName> {
    let bracketed = text.strip_prefix('[').map(|t| t.strip_suffix(']').unwrap_or("?"));
    if bracketed.is_some() || is_ipv6(text) {
        let address = bracketed.unwrap_or(text);
        return if is_ipv6(address) { Ok(address) } else { Err(BadName::Address(text.to_owned())) };
    }
    check_word(text)
}

/// Checks a login name.
///
/// # Errors
/// The flaw of the name.
pub fn check_user(text: &str) -> Result<&str, BadName> {
    check_word(text)
}

fn check_word(text: &str) -> Result<&str, BadName> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let first = text.chars().next().ok_or(BadName::Empty)?;
    if text.len() > LIMIT {
        return Err(BadName::TooLong(text.len()));
    }
    if let Some(c) = text.chars().find(|c| !allowed(*c)) {
        return Err(BadName::Character(text.to_owned(), c));
    }
    if matches!(first, '-' | '.') {
        return Err(BadName::FirstCharacter(text.to_owned(), first));
    }
    Ok(text)
}

/// True for text in the form of an IPv6 address, maybe with a zone (`fe80::1%eth0`). `a:b` is none,
/// so that `--host a:4` keeps its meaning.
#[must_use]
pub fn is_ipv6(text: &str) -> bool {
    let (address, zone) = text.split_once('%').unwrap_or((text, "zone"));
    let colons = address.matches(':').count();
    let digits = |c: char| c.is_ascii_hexdigit() || c == ':' || c == '.';
    text.len() <= LIMIT
        && address.chars().all(digits)
        && (address.contains("::") || colons == 7 || (colons == 6 && address.contains('.')))
        && colons <= 8
        && !zone.is_empty()
        && zone.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

fn is_ipv4(text: &str) -> bool {
    text.split('.').count() == 4 && text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// True when two names mean one host: they are equal in any case, or one is the short form of the other. With
/// `keep_fqdn` (`prte_keep_fqdn_hostnames`) the whole name counts.
#[must_use]
pub fn same_host(a: &str, b: &str, keep_fqdn: bool) -> bool {
    if a.eq_ignore_ascii_case(b) {
        return true;
    }
    if keep_fqdn || is_ipv4(a) || is_ipv4(b) || is_ipv6(a) || is_ipv6(b) {
        return false;
    }
    let short_of =
        |short: &str, long: &str| long.split_once('.').is_some_and(|(first, _)| first.eq_ignore_ascii_case(short));
    short_of(a, b) || short_of(b, a)
}

/// Returns the position that a host's name means when it is a number: in a resource manager's allocation `3` is `+n3`,
/// unless a node has that name.
#[must_use]
pub fn numbered(name: &str, count: usize) -> Option<usize> {
    let digits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    name.parse().ok().filter(|at| digits && *at < count)
}

/// Positions of many hosts by name, so that ten thousand names need not be compared with each other. It finds the
/// lowest position of a host with a name for which [`same_host`] is true.
#[derive(Clone, Debug)]
pub struct NameIndex {
    keep_fqdn: bool,
    whole: BTreeMap<String, usize>,
    /// By the first label of a longer name.
    short: BTreeMap<String, usize>,
}

impl NameIndex {
    /// An empty index; with `keep_fqdn` the whole name counts.
    #[must_use]
    pub fn new(keep_fqdn: bool) -> NameIndex {
        NameIndex { keep_fqdn, whole: BTreeMap::new(), short: BTreeMap::new() }
    }

    /// The index of these nodes by all their names.
    #[must_use]
    pub fn of(nodes: &[NodeRecord], keep_fqdn: bool) -> NameIndex {
        let mut index = NameIndex::new(keep_fqdn);
        for (at, node) in nodes.iter().enumerate() {
            node.aliases.iter().chain([&node.name]).for_each(|name| index.add(name, at));
        }
        index
    }

    /// Adds a name of the host at this position.
    pub fn add(&mut self, name: &str, at: usize) {
        let name = name.to_ascii_lowercase();
        let lowest = |first: &mut usize| *first = at.min(*first);
        if let Some(label) = self.label(&name) {
            self.short.entry(label.to_owned()).and_modify(lowest).or_insert(at);
        }
        self.whole.entry(name).and_modify(lowest).or_insert(at);
    }

    /// Returns the lowest position of a host with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        let name = name.to_ascii_lowercase();
        let by_label = match self.label(&name) {
            Some(label) => self.whole.get(label),
            None if self.keep_fqdn => None,
            None => self.short.get(&name),
        };
        self.whole.get(&name).into_iter().chain(by_label).min().copied()
    }

    /// Returns the short form of a long name; addresses have none.
    fn label<'n>(&self, name: &'n str) -> Option<&'n str> {
        if self.keep_fqdn || is_ipv4(name) || is_ipv6(name) {
            return None;
        }
        name.split_once('.').map(|(first, _)| first)
    }
}

/// The machine of this process, with all its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThisMachine {
    /// Its host name.
    pub name: String,
    /// Its full name and its addresses.
    pub aliases: Vec<String>,
}

impl ThisMachine {
    /// True when the name means this machine; the loopback names always do.
    #[must_use]
    pub fn is(&self, name: &str, keep_fqdn: bool) -> bool {
        is_loopback(name)
            || same_host(&self.name, name, keep_fqdn)
            || self.aliases.iter().any(|alias| same_host(alias, name, keep_fqdn))
    }
}

/// True for `localhost` and the loopback addresses.
#[must_use]
pub fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.eq_ignore_ascii_case("localhost.localdomain")
        || name == "::1"
        || (is_ipv4(name) && name.starts_with("127."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_shell_or_an_option_parser_looks_at_is_a_name() {
        for bad in [
            "",
            "-oProxyCommand=x",
            "a b",
            "a;b",
            "$(id)",
            "n0`",
            "a\nb",
            "n\u{e9}",
            ".x",
            "a/b",
            "a'b",
            "a\"b",
            "[a",
            "[x]",
            "~root",
            "a*",
        ] {
            assert!(check_host(bad).is_err(), "{bad:?} was let in");
        }
    }

    #[test]
    fn addresses_of_both_families_are_names() {
        assert_eq!(check_host("10.0.0.1"), Ok("10.0.0.1"));
        assert_eq!(check_host("[2001:db8::1]"), Ok("2001:db8::1"));
        assert_eq!(check_host("fe80::1%eth0"), Ok("fe80::1%eth0"));
        assert!(!is_ipv6("a:b"));
    }

    #[test]
    fn a_short_name_means_the_full_name_unless_told_otherwise() {
        assert!(same_host("n0", "N0.cluster.org", false));
        assert!(!same_host("n0", "n0.cluster.org", true));
        assert!(!same_host("n0.a", "n0.b", false));
        assert!(!same_host("10", "10.0.0.1", false));
    }

    proptest::proptest! {
        #[test]
        fn the_index_finds_what_a_comparison_finds(
            names in proptest::collection::vec("[ab1]{1,2}(\\.[ab1]{1,2}){0,3}", 1..6),
            asked in "[abAB1]{1,2}(\\.[ab1]{1,2}){0,3}",
            keep_fqdn: bool,
        ) {
            let mut index = NameIndex::new(keep_fqdn);
            // The position of a name that comes later may be lower: hosts learn other names of theirs.
            names.iter().enumerate().rev().for_each(|(at, name)| index.add(name, at));
            let first = names.iter().position(|name| same_host(name, &asked, keep_fqdn));
            proptest::prop_assert_eq!(index.find(&asked), first);
        }
    }

    #[test]
    fn a_number_is_a_position_among_the_nodes() {
        assert_eq!(
            ["0", "3", "4", "", "+1", "n1", "99999999999999999999"].map(|name| numbered(name, 4)),
            [Some(0), Some(3), None, None, None, None, None]
        );
    }

    #[test]
    fn the_loopback_names_mean_this_machine() {
        let this = ThisMachine { name: "n0".into(), aliases: vec!["10.1.0.1".into()] };
        for name in ["localhost", "127.0.0.1", "::1", "n0", "n0.x.org", "10.1.0.1"] {
            assert!(this.is(name, false), "{name}");
        }
        assert!(!this.is("n1", false));
    }
}
