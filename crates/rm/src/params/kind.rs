//! Kinds of values of parameters.

use std::fmt;

use ferrite_types::resources::SiteResources;

use super::limits::SysLimit;
use super::networks::Networks;
use super::{parse_flag, parse_number};

/// Kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Yes or no.
    Flag,
    /// A whole number in this range, ends included.
    Number(i64, i64),
    /// Anything.
    Text,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words (in any case), or a number of at least 1.
    CountOr(&'static [&'static str]),
    /// A list of limits of the system.
    Limits,
    /// A list of networks.
    Networks,
    /// The absolute path of a directory. Whether it exists is another question: it may be one of other nodes.
    Directory,
    /// A list of beginnings of host names.
    Prefixes,
    /// A list of what nodes have.
    Resources,
}

impl Kind {
    /// True when the value is of this kind.
    #[must_use]
    pub fn accepts(&self, value: &str) -> bool {
        match self {
            Kind::Flag => parse_flag(value).is_some(),
            Kind::Number(least, most) => parse_number(value).is_some_and(|n| (*least..=*most).contains(&n)),
            Kind::Text => true,
            Kind::OneOf(words) => words.contains(&value),
            Kind::Limits => SysLimit::parse_list(value).is_some(),
            Kind::Networks => Networks::parse(value).is_some(),
            Kind::Directory => value.starts_with('/'),
            Kind::Resources => SiteResources::parse(value).is_ok(),
            Kind::Prefixes => value.split(',').all(|item| is_prefix(item.trim())),
            Kind::CountOr(words) => {
                words.iter().any(|w| w.eq_ignore_ascii_case(value))
                    || parse_number(value).is_some_and(|n| (1..=i64::from(u32::MAX)).contains(&n))
            }
        }
    }
}

impl Kind {
    /// Says what is wrong in a value that is not of this kind, where the kind alone does not show it; otherwise empty.
    #[must_use]
    pub fn fault(&self, value: &str) -> String {
        match self {
            Kind::Resources => SiteResources::parse(value).err().map_or_else(String::new, |error| error.to_string()),
            Kind::Limits | Kind::Networks | Kind::Prefixes if value.contains(',') => {
                let wrong = value.split(',').find(|item| !self.accepts(item));
                wrong.map_or_else(String::new, |item| format!("{:?} is wrong", item.trim()))
            }
            _ => String::new(),
        }
    }
}

/// Formats the valid values as the end of the sentence "it must be ...".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Flag => f.write_str("true or false"),
            Kind::Number(least, i64::MAX) => write!(f, "a whole number of at least {least}"),
            Kind::Number(least, most) => write!(f, "a whole number from {least} to {most}"),
            Kind::Text => f.write_str("text"),
            Kind::OneOf(words) => write!(f, "one of {}", words.join(", ")),
            Kind::Limits => f.write_str(
                "max, none, or a list of core, filesize, maxmem, openfiles, stack and maxchildren, each with :NUMBER or \
                 :unlimited behind it",
            ),
            Kind::Networks => f.write_str("a list of interfaces and networks, as eth0,10.1.0.0/16"),
            Kind::Directory => f.write_str("the absolute path of a directory"),
            Kind::Prefixes => f.write_str("a list of beginnings of host names, as nid,node"),
            Kind::Resources => f.write_str("a list of what each node has, as fpga=2,mem=16G, a single one, as fpga=4@n1, or all together, as dvm:licence=8"),
            Kind::CountOr(words) => write!(f, "a number of at least 1, or one of {}", words.join(", ")),
        }
    }
}

/// True for what a host's name may begin with.
fn is_prefix(item: &str) -> bool {
    !item.is_empty() && item.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}
