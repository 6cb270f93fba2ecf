//! The words of `--map-by`, `--rank-by` and `--bind-to`. They are case-insensitive and may be
//! shortened as long as they stay unique. Called by the command line and for PMIx spawn requests.

use ferrite_types::{BindTo, MapBy, MapRequest, ObjectKind, RankBy};
use thiserror::Error;

/// `--map-by`, parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapDirective {
    /// The policy; `None` when only qualifiers are given (`--map-by :OVERSUBSCRIBE`).
    pub by: Option<MapBy>,
    /// `OVERSUBSCRIBE` or `NOOVERSUBSCRIBE`.
    pub oversubscribe: Option<bool>,
    /// `NOLOCAL`.
    pub nolocal: bool,
}

/// `--bind-to`, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindDirective {
    /// The policy.
    pub to: BindTo,
    /// `overload-allowed`.
    pub overload_allowed: bool,
    /// `if-supported`.
    pub if_supported: bool,
}

impl MapDirective {
    /// Writes what was said into a request, and leaves the rest of it alone.
    pub fn apply(&self, request: &mut MapRequest) {
        request.by = self.by.clone().or(request.by.take());
        request.oversubscribe = self.oversubscribe.or(request.oversubscribe);
        request.nolocal |= self.nolocal;
    }
}

impl BindDirective {
    /// Writes what was said into a request.
    pub fn apply(&self, request: &mut MapRequest) {
        request.bind_to = Some(self.to);
        request.overload = Some(self.overload_allowed);
        request.bind_if_supported = self.if_supported;
    }
}

/// A directive that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DirectiveError {
    /// No such word.
    #[error("{option} {text:?}: {word:?} is not a directive; please check for a typo.\nValid directives: {valid}")]
    Unknown {
        /// `--map-by`.
        option: &'static str,
        /// What was given.
        text: String,
        /// The word in it.
        word: String,
        /// The list.
        valid: String,
    },
    /// No such qualifier.
    #[error("{option} {text:?}: {word:?} is not a qualifier; please check for a typo.\nValid qualifiers: {valid}")]
    UnknownQualifier {
        /// `--map-by`.
        option: &'static str,
        /// What was given.
        text: String,
        /// The word in it.
        word: String,
        /// The list.
        valid: String,
    },
    /// Too short.
    #[error("{option} {text:?}: {word:?} may mean {matches}; write more of it")]
    Ambiguous {
        /// `--map-by`.
        option: &'static str,
        /// What was given.
        text: String,
        /// The word in it.
        word: String,
        /// `node or numa`.
        matches: String,
    },
    /// A word of the field that is not done here.
    #[error("{option} {text:?}: {word} is not available in this version of Ferrite")]
    NotAvailable {
        /// `--map-by`.
        option: &'static str,
        /// What was given.
        text: String,
        /// The word in it.
        word: String,
    },
    /// `ppr:x`.
    #[error("--map-by {text:?}: ppr needs a number and an object, as ppr:2:node.\nValid objects: {valid}")]
    Ppr {
        /// What was given.
        text: String,
        /// The list.
        valid: String,
    },
    /// `OVERSUBSCRIBE:NOOVERSUBSCRIBE`.
    #[error("{option} {text:?}: {first} and {second} contradict each other; leave out one of them")]
    Contradiction {
        /// `--map-by`.
        option: &'static str,
        /// What was given.
        text: String,
        /// One.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
}

const MAPPERS: &[&str] = &[
    "slot", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package", "node", "seq", "ppr", "rankfile",
    "pe-list", "device",
];
const MAP_QUALIFIERS: &[&str] = &[
    "PE=n",
    "SPAN",
    "OVERSUBSCRIBE",
    "NOOVERSUBSCRIBE",
    "NOLOCAL",
    "HWTCPUS",
    "CORECPUS",
    "INHERIT",
    "NOINHERIT",
    "FILE=path",
    "ORDERED",
    "INTERLEAVE",
    "SHARED",
    "NDEV=n",
];
const PPR_OBJECTS: &[&str] = &["node", "package", "numa", "l3cache", "l2cache", "l1cache", "core", "hwthread"];
const RANKERS: &[&str] = &["slot", "node", "fill", "span"];
const BINDERS: &[&str] = &["none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package"];
const BIND_QUALIFIERS: &[&str] = &["overload-allowed", "no-overload", "if-supported", "limit=n", "report"];

/// Parses the value of `--map-by`.
///
/// # Errors
/// What is wrong, with the list of what is valid.
pub fn parse_map_by(text: &str) -> Result<MapDirective, DirectiveError> {
    let this = Given { option: "--map-by", text };
    let mut words = text.split([':', ',']);
    let mut directive = MapDirective::default();
    match words.next().unwrap_or_default() {
        "" if text.is_empty() => return Err(this.unknown("", MAPPERS)),
        "" => {}
        word => {
            directive.by = Some(match this.find(word, MAPPERS)? {
                "slot" => MapBy::Slot,
                "node" => MapBy::Node,
                "ppr" => this.ppr(words.next(), words.next())?,
                later @ ("seq" | "rankfile" | "pe-list" | "device") => {
                    return Err(this.not_available(later));
                }
                object => MapBy::Object(kind_of(object).ok_or_else(|| this.unknown(word, MAPPERS))?),
            });
        }
    }
    for word in words {
        this.map_qualifier(word, &mut directive)?;
    }
    Ok(directive)
}

/// Parses the value of `--rank-by`.
///
/// # Errors
/// What is wrong, with the list of what is valid.
pub fn parse_rank_by(text: &str) -> Result<RankBy, DirectiveError> {
    let this = Given { option: "--rank-by", text };
    Ok(match this.find(text, RANKERS)? {
        "slot" => RankBy::Slot,
        "node" => RankBy::Node,
        "fill" => RankBy::Fill,
        _ => RankBy::Span,
    })
}

/// Parses the value of `--bind-to`.
///
/// # Errors
/// What is wrong, with the list of what is valid.
pub fn parse_bind_to(text: &str) -> Result<BindDirective, DirectiveError> {
    let this = Given { option: "--bind-to", text };
    let mut words = text.split([':', ',']);
    let word = words.next().unwrap_or_default();
    let to = match this.find(word, BINDERS)? {
        "none" => BindTo::None,
        object => BindTo::Object(kind_of(object).ok_or_else(|| this.unknown(word, BINDERS))?),
    };
    let (mut overload, mut if_supported) = (None, false);
    for word in words {
        match this.find_qualifier(word, BIND_QUALIFIERS)? {
            "overload-allowed" if overload != Some(false) => overload = Some(true),
            "no-overload" if overload != Some(true) => overload = Some(false),
            "overload-allowed" | "no-overload" => {
                return Err(this.contradiction("overload-allowed", "no-overload"));
            }
            "if-supported" => if_supported = true,
            later => return Err(this.not_available(later)),
        }
    }
    Ok(BindDirective { to, overload_allowed: overload == Some(true), if_supported })
}

fn kind_of(word: &str) -> Option<ObjectKind> {
    Some(match word {
        "hwthread" => ObjectKind::HwThread,
        "core" => ObjectKind::Core,
        "l1cache" => ObjectKind::L1Cache,
        "l2cache" => ObjectKind::L2Cache,
        "l3cache" => ObjectKind::L3Cache,
        "numa" => ObjectKind::Numa,
        "package" => ObjectKind::Package,
        _ => return None,
    })
}

/// An option and its value: the context of every message.
#[derive(Clone, Copy)]
struct Given<'a> {
    option: &'static str,
    text: &'a str,
}

impl Given<'_> {
    fn find(&self, word: &str, valid: &[&'static str]) -> Result<&'static str, DirectiveError> {
        let lower = word.to_ascii_lowercase();
        // The word of older versions, still in many scripts.
        if lower == "socket" && valid.contains(&"package") {
            return Ok("package");
        }
        self.unique(word, valid)?.ok_or_else(|| self.unknown(word, valid))
    }

    fn find_qualifier(&self, word: &str, valid: &[&'static str]) -> Result<&'static str, DirectiveError> {
        self.unique(word, valid)?.ok_or_else(|| DirectiveError::UnknownQualifier {
            option: self.option,
            text: self.text.to_owned(),
            word: word.to_owned(),
            valid: valid.join(":"),
        })
    }

    /// The valid word that this is, or is the beginning of. `=value` is not part of the comparison.
    fn unique(&self, word: &str, valid: &[&'static str]) -> Result<Option<&'static str>, DirectiveError> {
        let bare = |w: &str| w.split('=').next().unwrap_or_default().to_ascii_lowercase();
        let asked = bare(word);
        if asked.is_empty() {
            return Ok(None);
        }
        if let Some(exact) = valid.iter().find(|v| bare(v) == asked) {
            return Ok(Some(exact));
        }
        let matches: Vec<&'static str> = valid.iter().copied().filter(|v| bare(v).starts_with(&asked)).collect();
        match matches.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            several => Err(DirectiveError::Ambiguous {
                option: self.option,
                text: self.text.to_owned(),
                word: word.to_owned(),
                matches: several.join(" or "),
            }),
        }
    }

    fn ppr(&self, number: Option<&str>, object: Option<&str>) -> Result<MapBy, DirectiveError> {
        let malformed = || DirectiveError::Ppr { text: self.text.to_owned(), valid: PPR_OBJECTS.join(":") };
        let digits = number.filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
        let per = digits.and_then(|n| n.parse().ok()).filter(|n| *n > 0).ok_or_else(malformed)?;
        let object = object.filter(|o| !o.is_empty()).ok_or_else(malformed)?;
        Ok(match kind_of(self.find(object, PPR_OBJECTS)?) {
            Some(kind) => MapBy::PerObject(per, kind),
            None => MapBy::PerNode(per),
        })
    }

    fn map_qualifier(&self, word: &str, directive: &mut MapDirective) -> Result<(), DirectiveError> {
        let oversubscribe = match self.find_qualifier(word, MAP_QUALIFIERS)? {
            "OVERSUBSCRIBE" => true,
            "NOOVERSUBSCRIBE" => false,
            "NOLOCAL" => {
                directive.nolocal = true;
                return Ok(());
            }
            // Cores are processors unless told otherwise.
            "CORECPUS" => return Ok(()),
            later => return Err(self.not_available(later)),
        };
        match directive.oversubscribe.replace(oversubscribe) {
            Some(before) if before != oversubscribe => Err(self.contradiction("OVERSUBSCRIBE", "NOOVERSUBSCRIBE")),
            _ => Ok(()),
        }
    }

    fn unknown(&self, word: &str, valid: &[&str]) -> DirectiveError {
        DirectiveError::Unknown {
            option: self.option,
            text: self.text.to_owned(),
            word: word.to_owned(),
            valid: valid.join(":"),
        }
    }
    fn not_available(&self, word: &str) -> DirectiveError {
        DirectiveError::NotAvailable { option: self.option, text: self.text.to_owned(), word: word.to_owned() }
    }
    fn contradiction(&self, first: &'static str, second: &'static str) -> DirectiveError {
        DirectiveError::Contradiction { option: self.option, text: self.text.to_owned(), first, second }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_case_insensitive_and_may_be_shortened() {
        let by = |text| parse_map_by(text).unwrap().by;
        assert_eq!(by("SLOT"), Some(MapBy::Slot));
        assert_eq!(by("sl"), Some(MapBy::Slot));
        assert_eq!(by("c"), Some(MapBy::Object(ObjectKind::Core)));
        assert_eq!(by("L2"), Some(MapBy::Object(ObjectKind::L2Cache)));
        assert_eq!(by("socket"), Some(MapBy::Object(ObjectKind::Package)));
        assert_eq!(by("ppr:2:node"), Some(MapBy::PerNode(2)));
        assert_eq!(by("ppr:3:pack"), Some(MapBy::PerObject(3, ObjectKind::Package)));
        assert_eq!(parse_rank_by("Span"), Ok(RankBy::Span));
        assert_eq!(parse_bind_to("core").unwrap().to, BindTo::Object(ObjectKind::Core));
    }

    #[test]
    fn qualifiers_may_stand_alone_and_leave_the_rest_of_a_request_alone() {
        let mut request = MapRequest { by: Some(MapBy::Node), ..MapRequest::default() };
        parse_map_by(":over:nolocal").unwrap().apply(&mut request);
        assert_eq!((request.by.clone(), request.oversubscribe, request.nolocal), (Some(MapBy::Node), Some(true), true));
        parse_bind_to("none").unwrap().apply(&mut request);
        assert_eq!(request.bind_to, Some(BindTo::None));
        let bind = parse_bind_to("core:overload-allowed,if-supported").unwrap();
        assert!(bind.overload_allowed && bind.if_supported);
    }

    #[test]
    fn each_refusal_lists_what_is_valid() {
        let map = [
            "",
            "slto",
            "n",
            "p",
            "ppr",
            "ppr:0:node",
            "ppr:2",
            "ppr:2:rack",
            "seq",
            "slot:PE=2",
            "slot:pee=2",
            "core:over:noover",
            "slot:",
        ];
        let mut all: Vec<String> = map.iter().map(|t| parse_map_by(t).unwrap_err().to_string()).collect();
        all.push(parse_rank_by("slots").unwrap_err().to_string());
        all.extend(
            ["cores", "core:limit=2", "core:overload:no-overload", "l"]
                .map(|t| parse_bind_to(t).unwrap_err().to_string()),
        );
        insta::assert_snapshot!(all.join("\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "(slot|ppr|node|core|none|[:,=]|[0-9]|\\PC){0,8}") {
            let _ = (parse_map_by(&text), parse_rank_by(&text), parse_bind_to(&text));
        }
    }
}
