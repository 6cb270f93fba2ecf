//! One directive out of several texts: options such as `-N` and `--oversubscribe` are parts of `--map-by`, and a spawn
//! request may say with several keys what a line says with one option.

use super::error::{DirectiveError, Problem};
use super::words::Words;

/// Joins parts of a directive, of which at most one names a policy; all qualifiers follow it. `None` = there are no
/// parts.
///
/// # Errors
/// Two different policies.
pub fn join(option: &'static str, pieces: &[String]) -> Result<Option<String>, DirectiveError> {
    let Some(only) = pieces.first() else { return Ok(None) };
    // An empty value stays as it is: the parser says what is missing.
    if let [_] = pieces {
        return Ok(Some(only.clone()));
    }
    let (mut policy, mut qualifiers) = ("", String::new());
    for piece in pieces {
        let (head, rest) = split(piece);
        if !policy.is_empty() && !head.is_empty() && !policy.eq_ignore_ascii_case(head) {
            let (first, second) = (policy.to_owned(), head.to_owned());
            let problem = Problem::TwoPolicies { first, second, option };
            return Err(DirectiveError { option, text: pieces.join(" "), problem });
        }
        policy = if policy.is_empty() { head } else { policy };
        // A comma would make the rest a part of a list or a file's name.
        if let Some(rest) = rest {
            qualifiers.push(':');
            qualifiers.push_str(rest);
        }
    }
    Ok(Some(format!("{policy}{qualifiers}")))
}

/// PlacementPolicy and qualifiers. The policy of `ppr:N:object` has colons of its own.
fn split(piece: &str) -> (&str, Option<&str>) {
    let mut words = Words::of(piece);
    let head = words.next().unwrap_or_default();
    if head.len() > 1 && "ppr".starts_with(&head.to_ascii_lowercase()) {
        let _ = (words.next(), words.next());
    }
    match words.rest() {
        Some(rest) => (&piece[..piece.len() - rest.len() - 1], Some(rest)),
        None => (piece, None),
    }
}
