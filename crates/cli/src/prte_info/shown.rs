//! The parameters that were asked for.

use std::collections::BTreeSet;

use ferrite_rm::Params;
use ferrite_rm::params::{KNOWN, Kind, Known, Meaning, Origin, UNUSED, nearest};

use super::options::InfoOptions;
use crate::args::UsageError;

/// A parameter that is used, with its value.
pub(super) struct Used {
    pub(super) known: &'static Known,
    /// The value that holds; `None` = unset, without a default.
    pub(super) value: Option<String>,
    /// The origin of the value; `None` = the default.
    pub(super) origin: Option<Origin>,
}

/// A parameter of the field that is not used.
pub(super) struct Idle {
    pub(super) name: &'static str,
    pub(super) reason: &'static str,
    /// Its value and where that comes from, if it is set.
    pub(super) set: Option<(String, Origin)>,
}

/// Parameters to show, in the order of their names.
pub(super) struct Shown {
    pub(super) used: Vec<Used>,
    pub(super) unused: Vec<Idle>,
}

impl Used {
    /// The kind of its values, in the field's words.
    pub(super) fn type_name(&self) -> &'static str {
        match self.known.kind {
            Kind::Flag => "bool",
            Kind::Number(..) => "int",
            Kind::Text
            | Kind::OneOf(_)
            | Kind::CountOr(_)
            | Kind::Limits
            | Kind::Networks
            | Kind::Directory
            | Kind::Prefixes
            | Kind::Resources => "string",
        }
    }
}

impl Shown {
    /// Everything that `--all`, `--params` and `--param` name; without any option those that are set. `None` = other
    /// things were asked for.
    pub(super) fn asked_for(options: &InfoOptions, params: &Params) -> Result<Option<Shown>, UsageError> {
        if options.all || options.params {
            return Ok(Some(Shown::of(params, |_| true)));
        }
        if options.is_open() {
            return Ok(Some(Shown::of(params, |name| params.is_set(name))));
        }
        let pairs = pairs(&options.param);
        if pairs.is_empty() {
            return Ok(None);
        }
        let mut names = BTreeSet::new();
        for (kind, part) in &pairs {
            let found = of_type(kind, part.as_deref());
            if found.is_empty() {
                return Err(nothing(kind, part.as_deref()));
            }
            names.extend(found);
        }
        Ok(Some(Shown::of(params, |name| names.contains(name))))
    }

    fn of(params: &Params, wanted: impl Fn(&str) -> bool) -> Shown {
        let set = |name: &str| params.setting(name).map(|setting| (setting.value.clone(), setting.origin.clone()));
        let used = KNOWN.iter().filter(|known| wanted(known.name)).map(|known| {
            let (value, origin) = match set(known.name) {
                Some((value, origin)) => (Some(value), Some(origin)),
                None => (known.default.map(str::to_owned), None),
            };
            Used { known, value, origin }
        });
        let idle = UNUSED.iter().flat_map(|group| group.names.iter().map(|name| (*name, group.reason)));
        let idle = idle.filter(|(name, _)| wanted(name));
        let mut unused: Vec<Idle> = idle.map(|(name, reason)| Idle { name, reason, set: set(name) }).collect();
        unused.sort_by_key(|idle| idle.name);
        Shown { used: used.collect(), unused }
    }
}

/// The values of `--param`: `TYPE`, `TYPE NAME` or `TYPE:NAME`. The option takes one value or two, so that pairs and
/// single ones can be told apart only when it is given once; `TYPE:NAME` may be repeated.
fn pairs(given: &[String]) -> Vec<(String, Option<String>)> {
    let split = |text: &String| match text.split_once(':') {
        Some((kind, part)) => (kind.to_owned(), Some(part.to_owned())),
        None => (text.clone(), None),
    };
    match given {
        [kind, part] if !kind.contains(':') && !part.contains(':') => vec![(kind.clone(), Some(part.clone()))],
        all => all.iter().map(split).collect(),
    }
}

/// Names of a type and, behind it, of one of the parts that a comma separates.
fn of_type(kind: &str, part: Option<&str>) -> Vec<&'static str> {
    if let (Meaning::Used(known), None) = (Meaning::of(kind), part) {
        return with_type(known.name, &[""]);
    }
    let parts: Vec<&str> = match part {
        None | Some("all" | "") => vec![""],
        Some(list) => list.split(',').collect(),
    };
    with_type(kind, &parts)
}

fn with_type(kind: &str, parts: &[&str]) -> Vec<&'static str> {
    let fits = |name: &&'static str| {
        let rest = match kind {
            "all" => Some(*name),
            _ => name.strip_prefix(kind).filter(|rest| rest.is_empty() || rest.starts_with('_')),
        };
        let rest = rest.map(|rest| rest.trim_start_matches('_'));
        rest.is_some_and(|rest| parts.iter().any(|part| begins_with(rest, part)))
    };
    all_names().filter(fits).collect()
}

fn begins_with(rest: &str, part: &str) -> bool {
    part.is_empty() || rest.strip_prefix(part).is_some_and(|behind| behind.is_empty() || behind.starts_with('_'))
}

fn all_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.name).chain(UNUSED.iter().flat_map(|group| group.names.iter().copied()))
}

/// The types of all parameters, each once.
pub(super) fn types() -> Vec<&'static str> {
    let types: BTreeSet<_> = all_names().map(|name| name.split('_').next().unwrap_or(name)).collect();
    types.into_iter().collect()
}

fn nothing(kind: &str, part: Option<&str>) -> UsageError {
    let asked = part.map_or_else(|| kind.to_owned(), |part| format!("{kind} {part}"));
    let hint =
        nearest(kind).filter(|near| *near != kind).map_or_else(String::new, |near| format!("Did you mean {near}? "));
    UsageError::Conflict {
        what: format!("--param: there is no parameter of type {asked:?}"),
        next: format!("{hint}`prte_info --types` lists the types, and `prte_info --param all` shows all parameters."),
    }
}
