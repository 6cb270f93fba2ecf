//! The meaning of a name: a parameter that is used, one that is known and not used, or nothing.

use super::table::{KNOWN, Known};
use super::unused::{UNUSED, Unused};

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A parameter that is used, by its own name or a synonym.
    Used(&'static Known),
    /// A parameter of the field that is not used, with the reason.
    Unused(&'static Unused),
    /// No parameter.
    Unknown,
}

impl Meaning {
    /// Looks a name up.
    #[must_use]
    pub fn of(name: &str) -> Meaning {
        let synonym = || KNOWN.iter().find(|known| known.synonyms.contains(&name));
        if let Some(known) = Known::of(name).or_else(synonym) {
            return Meaning::Used(known);
        }
        Unused::of(name).map_or(Meaning::Unknown, Meaning::Unused)
    }
}

/// The least likeness (0 to 1) of a name in a hint.
const ALIKE: f64 = 0.75;

/// Returns the known name that is most like this one, if one is.
#[must_use]
pub fn nearest(name: &str) -> Option<&'static str> {
    let used = KNOWN.iter().flat_map(|known| std::iter::once(&known.name).chain(known.synonyms));
    let all = used.chain(UNUSED.iter().flat_map(|group| group.names));
    let likeness = |known: &&'static str| (strsim::normalized_damerau_levenshtein(name, known), *known);
    let best = all.map(likeness).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= ALIKE).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_has_one_meaning() {
        let used = KNOWN.iter().flat_map(|known| std::iter::once(&known.name).chain(known.synonyms));
        let mut seen = BTreeSet::new();
        for name in used.chain(UNUSED.iter().flat_map(|group| group.names)) {
            assert!(seen.insert(name), "{name} is in the tables twice");
        }
    }

    #[test]
    fn a_slip_is_answered_with_the_name_that_was_meant() {
        assert_eq!(nearest("rml_base_raddix"), Some("rml_base_radix"));
        assert_eq!(nearest("prte_launch_agnet"), Some("prte_launch_agent"));
        assert_eq!(nearest("nothing_like_it"), None);
    }

    #[test]
    fn former_names_lead_to_the_parameter_of_today() {
        let today = |name| match Meaning::of(name) {
            Meaning::Used(known) => known.name,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(today("rmaps_default_mapping_policy"), "mapby");
        assert_eq!(today("map_by"), "mapby");
        assert_eq!(today("rmaps_default_ranking_policy"), "rankby");
        assert_eq!(today("hwloc_default_binding_policy"), "bindto");
        assert_eq!(today("plm_rsh_agent"), "plm_ssh_agent");
    }
}
