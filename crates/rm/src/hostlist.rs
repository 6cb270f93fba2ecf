//! Parses `--host n0,n1:4,+n2,+e:2`, the short form of a hostfile. A bare name is one slot when the list *defines* the
//! allocation, and the whole node when it *filters* one; items keep what was written until this is decided.

use std::collections::BTreeMap;
use std::fmt;

use ferrite_types::{HostEntry, HostRef, SlotCount};
use thiserror::Error;

use crate::hostfile::{LARGEST, parse_adjustment, parse_number, parse_relative};
use crate::name::{self, BadName};

/// A parsed `--host`; repeats of a host are merged into the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostList {
    /// The items, in order.
    pub items: Vec<HostItem>,
}

/// One item of `--host`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostItem {
    /// A host by name.
    Host {
        /// Login name.
        user: Option<String>,
        /// Name, address, or launch id (digits only).
        name: String,
        /// Slots.
        slots: ItemSlots,
    },
    /// `+nK`, `+nK:N`.
    Relative(u32, SlotCount),
    /// `+e`, `+e:N`.
    Empty(Option<u32>),
    /// `^name`.
    Exclude(String),
}

/// The slots of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemSlots {
    /// No number.
    Unstated,
    /// `n:*`, `n:auto`: the whole node.
    All,
    /// `n:4`, or a name given several times.
    Given(u32),
    /// `n:+2`, `n:-2`: more, or fewer, than the node has.
    Adjust(i32),
}

/// The error in a `--host` list.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostListError {
    /// `n0,,n1`.
    #[error("--host {list:?}: a name is missing between two commas; write it as: --host n0,n1:4")]
    EmptyItem {
        /// The whole list.
        list: String,
    },
    /// A bad name.
    #[error("--host {item:?}: {source}; write it as: --host n0,n1:4")]
    Name {
        /// The item.
        item: String,
        /// The flaw of the name.
        source: BadName,
    },
    /// `n0:x`.
    #[error(
        "--host {item:?}: {slots:?} is not a number of slots; write n0:4, n0:* for the whole node, or n0:+2 for two more"
    )]
    Slots {
        /// The item.
        item: String,
        /// The text as written.
        slots: String,
    },
    /// `+x`.
    #[error(
        "--host {item:?} is not a relative node; write +n0 for the first node, +e for all empty nodes, or +e:2 for two of them"
    )]
    Relative {
        /// The item.
        item: String,
    },
    /// Sum out of range.
    #[error("--host: the slots of {host} add up to more than {LARGEST}", LARGEST = LARGEST)]
    TooManySlots {
        /// The host.
        host: String,
    },
    /// `n0:4,n0:+1`.
    #[error("--host: {host} is given with a count and with an adjustment; give one of them")]
    Mixed {
        /// The host.
        host: String,
    },
}

/// Parses the value of `--host`.
///
/// # Errors
/// The first item that is wrong.
pub fn parse(list: &str) -> Result<HostList, HostListError> {
    let mut items = Vec::new();
    let mut hosts = BTreeMap::new();
    for item in list.split(',').map(str::trim) {
        if item.is_empty() {
            return Err(HostListError::EmptyItem { list: list.to_owned() });
        }
        merge(&mut items, &mut hosts, parse_item(item)?)?;
    }
    Ok(HostList { items })
}

/// Returns the items of `--host` in their order, each as often as it is named, whatever its slots.
///
/// # Errors
/// The first item that is wrong.
pub fn parse_namings(list: &str) -> Result<Vec<HostRef>, HostListError> {
    let items = list.split(',').map(|item| parse_item(item.trim())).collect::<Result<Vec<_>, _>>()?;
    Ok(HostList { items }.refs())
}

impl HostList {
    /// Returns the list as a filter for an app context: a bare name is the whole node.
    #[must_use]
    pub fn refs(&self) -> Vec<HostRef> {
        let cap = |slots| match slots {
            ItemSlots::Given(n) => SlotCount::Given(n),
            ItemSlots::Unstated | ItemSlots::All | ItemSlots::Adjust(_) => SlotCount::FromCores,
        };
        let to_ref = |item: &HostItem| match item {
            HostItem::Host { user, name, slots } => {
                HostRef::Host(HostEntry { slots: cap(*slots), user: user.clone(), ..HostEntry::named(name) })
            }
            HostItem::Relative(k, slots) => HostRef::Relative(*k, *slots),
            HostItem::Empty(n) => HostRef::Empty(*n),
            HostItem::Exclude(name) => HostRef::Exclude(name.clone()),
        };
        self.items.iter().map(to_ref).collect()
    }
    /// True when it names hosts, and so can define the allocation.
    #[must_use]
    pub fn defines_hosts(&self) -> bool {
        self.items.iter().any(|item| matches!(item, HostItem::Host { .. }))
    }
}

fn parse_item(item: &str) -> Result<HostItem, HostListError> {
    let bad_name = |source| HostListError::Name { item: item.to_owned(), source };
    if let Some(host) = item.strip_prefix('^') {
        return Ok(HostItem::Exclude(name::check_host(host).map_err(bad_name)?.to_owned()));
    }
    if item.starts_with('+') {
        return parse_relative_item(item).ok_or_else(|| HostListError::Relative { item: item.to_owned() });
    }
    let (user, rest) = match item.split_once('@') {
        Some((user, rest)) => (Some(name::check_user(user).map_err(bad_name)?.to_owned()), rest),
        None => (None, item),
    };
    let (host, slots) = split_slots(rest);
    let slots = match slots {
        None => ItemSlots::Unstated,
        Some(text) => {
            parse_slots(text).ok_or_else(|| HostListError::Slots { item: item.to_owned(), slots: text.to_owned() })?
        }
    };
    let name = name::check_host(host).map_err(bad_name)?.to_owned();
    Ok(HostItem::Host { user, name, slots })
}

/// Splits `n0:4` at its colon; an IPv6 address with a number needs brackets.
fn split_slots(text: &str) -> (&str, Option<&str>) {
    if name::is_ipv6(text) {
        return (text, None);
    }
    let after_bracket = text.rfind(']').unwrap_or(0);
    match text[after_bracket..].find(':') {
        Some(colon) => {
            let colon = after_bracket + colon;
            (&text[..colon], Some(&text[colon + 1..]))
        }
        None => (text, None),
    }
}

fn parse_slots(text: &str) -> Option<ItemSlots> {
    if text == "*" || text.eq_ignore_ascii_case("auto") {
        return Some(ItemSlots::All);
    }
    let adjusted = parse_adjustment(text).map(ItemSlots::Adjust);
    adjusted.or_else(|| parse_number(text, 0, LARGEST).map(ItemSlots::Given))
}

fn parse_relative_item(item: &str) -> Option<HostItem> {
    let (head, slots) = match item.split_once(':') {
        Some((head, count)) if head[1..].starts_with(['n', 'N']) => {
            (head, SlotCount::Given(parse_number(count, 0, LARGEST)?))
        }
        _ => (item, SlotCount::FromCores),
    };
    match parse_relative(head, slots)?.ok()? {
        HostRef::Relative(k, slots) => Some(HostItem::Relative(k, slots)),
        HostRef::Empty(n) => Some(HostItem::Empty(n)),
        HostRef::Host(_) | HostRef::Exclude(_) => None,
    }
}

/// Merges repeated hosts: their slots add up, and a bare name counts as one.
fn merge(items: &mut Vec<HostItem>, hosts: &mut BTreeMap<String, usize>, new: HostItem) -> Result<(), HostListError> {
    if let HostItem::Host { name, slots, .. } = &new {
        let at = *hosts.entry(name.to_ascii_lowercase()).or_insert(items.len());
        if let Some(HostItem::Host { slots: have, .. }) = items.get_mut(at) {
            *have = sum(*have, *slots, name)?;
            return Ok(());
        }
    }
    items.push(new);
    Ok(())
}

fn sum(a: ItemSlots, b: ItemSlots, host: &str) -> Result<ItemSlots, HostListError> {
    let count = |s| match s {
        ItemSlots::Unstated => Some(1),
        ItemSlots::Given(n) => Some(n),
        ItemSlots::All | ItemSlots::Adjust(_) => None,
    };
    match (a, b) {
        (ItemSlots::Adjust(x), ItemSlots::Adjust(y)) => match x.saturating_add(y) {
            both if both.unsigned_abs() <= LARGEST => Ok(ItemSlots::Adjust(both)),
            _ => Err(HostListError::TooManySlots { host: host.to_owned() }),
        },
        (ItemSlots::Adjust(_), _) | (_, ItemSlots::Adjust(_)) => Err(HostListError::Mixed { host: host.to_owned() }),
        _ => match (count(a), count(b)) {
            (Some(x), Some(y)) if x + y <= LARGEST => Ok(ItemSlots::Given(x + y)),
            (Some(_), Some(_)) => Err(HostListError::TooManySlots { host: host.to_owned() }),
            _ => Ok(ItemSlots::All),
        },
    }
}

/// The list in one canonical spelling; parsing it again gives the same items.
impl fmt::Display for HostList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for item in &self.items {
            write!(f, "{comma}{item}")?;
            comma = ",";
        }
        Ok(())
    }
}

impl fmt::Display for HostItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostItem::Host { user, name, slots } => {
                if let Some(user) = user {
                    write!(f, "{user}@")?;
                }
                if name.contains(':') {
                    write!(f, "[{name}]")?
                } else {
                    f.write_str(name)?
                }
                match slots {
                    ItemSlots::Unstated => Ok(()),
                    ItemSlots::All => f.write_str(":*"),
                    ItemSlots::Given(n) => write!(f, ":{n}"),
                    ItemSlots::Adjust(n) => write!(f, ":{n:+}"),
                }
            }
            HostItem::Relative(k, SlotCount::FromCores) => write!(f, "+n{k}"),
            HostItem::Relative(k, SlotCount::Given(n)) => write!(f, "+n{k}:{n}"),
            HostItem::Empty(None) => f.write_str("+e"),
            HostItem::Empty(Some(n)) => write!(f, "+e:{n}"),
            HostItem::Exclude(name) => write!(f, "^{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(input: &str) -> String {
        match parse(input) {
            Ok(list) => list.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_form_of_the_grammar_is_understood() {
        let same = "n0,n1:4,n2:*,n3:+2,n4:-2,42,+n1,+n2:3,+e,+e:2,me@n5:2,[fe80::1]:4,10.0.0.1,^n9";
        assert_eq!(text(same), same);
        assert_eq!(text("n0:auto, n1"), "n0:*,n1");
        assert_eq!(text("fe80::1"), "[fe80::1]");
    }

    #[test]
    fn duplicates_sum() {
        assert_eq!(text("n0,n0,n1,n0"), "n0:3,n1");
        assert_eq!(text("n0:2,n0:3"), "n0:5");
        assert_eq!(text("n0,n0:*"), "n0:*");
        assert_eq!(text("n0:-2,n0:-3"), "n0:-5");
    }

    #[test]
    fn sums_that_no_list_could_say_are_refused() {
        let refused = "--host: the slots of n4 add up to more than 65535";
        for list in ["n4:-26420,n0,n4:-26420,n4:-26420", "n4:+40000,n4:+40000", "n4:40000,n4:40000"] {
            assert_eq!(text(list), refused, "{list}");
        }
    }

    #[test]
    fn a_bare_name_as_a_filter_is_the_whole_node() {
        let slots: Vec<_> = parse("n0,n1:2")
            .unwrap()
            .refs()
            .into_iter()
            .map(|r| match r {
                HostRef::Host(h) => h.slots,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(slots, [SlotCount::FromCores, SlotCount::Given(2)]);
    }

    #[test]
    fn each_refusal_shows_the_item_and_the_right_form() {
        let bad = [
            "",
            "n0,,n1",
            "n0:",
            "n0:x",
            "n0:4:5",
            "n0:-",
            "n0:99999999999",
            "-n0",
            "a b",
            "+x",
            "+n",
            "+e:0",
            "+e:x",
            "n0:60000,n0:60000",
            "n0:2,n0:+1",
            "n0;id",
            "[x]:3",
            "@n0",
        ];
        let all: Vec<String> = bad.iter().map(|b| format!("{b:?}\n  {}", text(b))).collect();
        insta::assert_snapshot!(all.join("\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic_and_what_it_accepts_prints_and_parses_back(
            input in "([a-c0-9,:*+^@\\[\\]%-]|auto|\\+e|\\+n|::1){0,30}"
        ) {
            if let Ok(first) = parse(&input) {
                proptest::prop_assert_eq!(parse(&first.to_string()), Ok(first));
            }
        }
        #[test]
        fn arbitrary_characters_do_not_make_it_panic(input in "\\PC{0,60}") {
            let _ = parse(&input);
        }
    }
}
