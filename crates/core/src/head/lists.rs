//! Lists of names in words, for messages and the status.

/// The number of names that a list shows before it is cut.
const SHOWN: usize = 4;

/// Joins names into `n1, n2, n3, n4 and 12 more`.
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn long_lists_are_cut() {
        assert_eq!(super::listed(["a", "b"].into_iter()), "a, b");
        assert_eq!(super::listed(["a", "b", "c", "d", "e", "f"].into_iter()), "a, b, c, d and 2 more");
    }
}
