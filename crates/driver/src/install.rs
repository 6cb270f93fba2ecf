//! The places where Ferrite and PMIx are installed (`--prefix`, `--pmix-prefix`), as changes of an environment. The
//! spawner applies them to processes, and [`crate::pmix`] to the process of libpmix: on the head's node as on all
//! others, whatever command has started the daemon.

use std::collections::BTreeMap;

use ferrite_types::EnvOp;

use crate::params;

/// Returns the changes that the parameters `ferrite_prefix` and `ferrite_pmix_prefix` ask for.
pub(crate) fn env(parameters: &[(String, String)]) -> Vec<EnvOp> {
    let dir = |name| params::value(parameters, name).filter(|dir| !dir.is_empty());
    let libraries = |dir: &str| EnvOp::Prepend("LD_LIBRARY_PATH".to_owned(), ':', format!("{dir}/lib"));
    let mut changes: Vec<EnvOp> = dir("ferrite_prefix").map(libraries).into_iter().collect();
    if let Some(pmix) = dir("ferrite_pmix_prefix") {
        changes.extend([libraries(pmix), EnvOp::Set("PMIX_PREFIX".to_owned(), pmix.to_owned())]);
    }
    changes
}

/// Returns the variables that these changes set; `present` reads a variable of the environment before them.
pub(crate) fn variables(changes: &[EnvOp], present: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for change in changes {
        match change {
            EnvOp::Prepend(name, separator, value) => {
                let old = all.get(name).cloned().or_else(|| present(name)).filter(|old| !old.is_empty());
                let new = old.map_or_else(|| value.clone(), |old| format!("{value}{separator}{old}"));
                all.insert(name.clone(), new);
            }
            EnvOp::Set(name, value) => drop(all.insert(name.clone(), value.clone())),
            EnvOp::Append(..) | EnvOp::Unset(_) => unreachable!("an installation only adds in front, and sets"),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_prefixes_give_their_libraries_and_that_of_pmix_its_variable() {
        let of = |pairs: &[(&str, &str)], old: Option<&str>| {
            let parameters: Vec<_> = pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            let all = variables(&env(&parameters), |_| old.map(str::to_owned));
            all.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        let (ours, pmix) = (("ferrite_prefix", "/opt/f"), ("ferrite_pmix_prefix", "/opt/p"));
        assert_eq!(of(&[], Some("/lib")), "");
        assert_eq!(of(&[ours], Some("/lib")), "LD_LIBRARY_PATH=/opt/f/lib:/lib");
        assert_eq!(of(&[ours], None), "LD_LIBRARY_PATH=/opt/f/lib");
        let both = "LD_LIBRARY_PATH=/opt/p/lib:/opt/f/lib:/lib PMIX_PREFIX=/opt/p";
        assert_eq!(of(&[ours, pmix], Some("/lib")), both);
    }
}
