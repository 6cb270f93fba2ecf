//! Parameters (`--prtemca`) for the driver itself.

/// Returns the value of a parameter; the last one wins.
pub(crate) fn value<'a>(params: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = params.iter().rev().find(|(n, _)| n == name);
    found.map(|(_, value)| value.as_str())
}

/// Returns a number; an invalid one counts as not given, because the machine has complained already.
pub(crate) fn number(params: &[(String, String)], name: &str) -> Option<u64> {
    value(params, name)?.trim().parse().ok()
}

/// Returns the name of a parameter for a message, with the origin of its value if the head has told it (spec L94).
pub(crate) fn label(params: &[(String, String)], name: &str) -> String {
    let told = value(params, "ferrite_origins").unwrap_or_default();
    let origin = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    match origin {
        Some(origin) => format!("parameter {name} ({origin})"),
        None => format!("parameter {name}"),
    }
}

/// True when a parameter is switched on.
pub(crate) fn is_on(params: &[(String, String)], name: &str) -> bool {
    value(params, name).and_then(ferrite_rm::params::parse_flag) == Some(true)
}

/// True when a parameter of verbosity asks for this level.
pub(crate) fn tells(params: &[(String, String)], name: &str, level: u64) -> bool {
    number(params, name).is_some_and(|asked| asked >= level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_wins() {
        let params = [("a", "1"), ("b", "no"), ("a", "2")].map(|(n, v)| (n.into(), v.into()));
        assert_eq!(value(&params, "a"), Some("2"));
        assert_eq!(number(&params, "b"), None);
        assert!(!is_on(&params, "b") && !is_on(&params, "c"));
    }

    #[test]
    fn a_message_names_the_origin_that_the_head_has_told() {
        let origins = "ab=the file F, line 3\na=environment variable PRTE_MCA_a";
        let params = [("a", "1"), ("ferrite_origins", origins)].map(|(n, v)| (n.into(), v.into()));
        assert_eq!(label(&params, "a"), "parameter a (environment variable PRTE_MCA_a)");
        assert_eq!(label(&params, "b"), "parameter b");
    }
}
