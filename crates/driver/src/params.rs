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
}
