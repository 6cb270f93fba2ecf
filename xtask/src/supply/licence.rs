//! Licence expressions (SPDX): whether one of the ways to fulfil them is allowed.

use std::collections::BTreeSet;

/// True when the expression can be fulfilled with allowed licences alone. What cannot be understood is not allowed.
pub(super) fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    // Before 2019 a slash meant OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    any(&mut rest, allowed) == Some(true) && rest.is_empty()
}

/// Terms joined by OR.
fn any(words: &mut &[&str], allowed: &BTreeSet<&str>) -> Option<bool> {
    let mut fulfilled = all(words, allowed)?;
    while words.first() == Some(&"OR") {
        *words = &words[1..];
        fulfilled |= all(words, allowed)?;
    }
    Some(fulfilled)
}

/// Terms joined by AND, which binds tighter.
fn all(words: &mut &[&str], allowed: &BTreeSet<&str>) -> Option<bool> {
    let mut fulfilled = one(words, allowed)?;
    while words.first() == Some(&"AND") {
        *words = &words[1..];
        fulfilled &= one(words, allowed)?;
    }
    Some(fulfilled)
}

fn one(words: &mut &[&str], allowed: &BTreeSet<&str>) -> Option<bool> {
    let (first, rest) = words.split_first()?;
    *words = rest;
    if *first == "(" {
        let fulfilled = any(words, allowed)?;
        *words = words.strip_prefix(&[")"][..])?;
        return Some(fulfilled);
    }
    match words {
        ["WITH", exception, rest @ ..] => {
            *words = rest;
            Some(allowed.contains(format!("{first} WITH {exception}").as_str()))
        }
        _ => Some(allowed.contains(first)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_allowed_way_is_enough_and_every_part_of_it_must_be() {
        let allowed = ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].into();
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0 WITH other", "MIT OR", "(MIT", "MIT)", "MIT GPL-3.0"]
        {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }
}
