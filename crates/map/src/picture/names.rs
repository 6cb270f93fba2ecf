//! Shortens lists of names and numbers.

use std::fmt::Write as _;

/// Formats ascending numbers as `0-3,8`: at most `most` ranges, then how many numbers are left out.
pub(super) fn ranges(numbers: &[u32], most: usize) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    for done in 0.. {
        let Some(first) = rest.first() else { break };
        if done == most {
            let _ = write!(text, " and {} more", rest.len());
            break;
        }
        let length = rest.iter().zip(*first..).take_while(|(a, b)| **a == *b).count();
        text.push_str(if done == 0 { "" } else { "," });
        match length {
            1 => text.push_str(&first.to_string()),
            _ => {
                let _ = write!(text, "{first}-{}", first + (length as u32 - 1));
            }
        }
        rest = &rest[length..];
    }
    text
}

/// Formats names as `node[3-998]`, in the given order: at most `most` parts, then how many names are left out.
pub(super) fn hosts(names: &[&str], most: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = names;
    while !rest.is_empty() && parts.len() < most {
        let (text, length) = series(rest);
        parts.push(text);
        rest = &rest[length..];
    }
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    parts.join(",") + &more
}

/// Returns the longest series at the beginning of a list, as text, and its length.
fn series(names: &[&str]) -> (String, usize) {
    let Some((prefix, digits, suffix)) = numbered(names[0]) else { return (names[0].to_owned(), 1) };
    let Ok(first) = digits.parse::<u64>() else { return (names[0].to_owned(), 1) };
    let width = digits.len();
    let follows = |(name, number): &(&&str, u64)| {
        numbered(name).is_some_and(|(p, d, s)| p == prefix && s == suffix && d == format!("{number:0width$}"))
    };
    let length = names.iter().zip(first..).take_while(follows).count();
    match length {
        0 | 1 => (names[0].to_owned(), 1),
        _ => (format!("{prefix}[{digits}-{:0width$}]{suffix}", first + (length as u64 - 1)), length),
    }
}

/// Splits a name at its last number: before it, the number, after it.
fn numbered(name: &str) -> Option<(&str, &str, &str)> {
    let end = name.rfind(|c: char| c.is_ascii_digit())? + 1;
    let begin = name[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + name[at..].chars().next().map_or(1, char::len_utf8));
    Some((&name[..begin], &name[begin..end], &name[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_count_are_a_range() {
        assert_eq!(hosts(&["n1", "n2", "n3", "login", "n7"], 9), "n[1-3],login,n7");
        assert_eq!(hosts(&["a09-ib", "a10-ib", "a11-eth"], 9), "a[09-10]-ib,a11-eth");
        assert_eq!(hosts(&["n9", "n10"], 9), "n[9-10]");
        assert_eq!(hosts(&["a", "b", "c"], 2), "a,b and 1 more");
        assert_eq!(hosts(&["é1é", "é2é", "99999999999999999999999"], 9), "é[1-2]é,99999999999999999999999");
    }

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8], 9), "0-2,5,7-8");
        assert_eq!(ranges(&[0, 2, 4, 6], 2), "0,2 and 2 more");
        assert_eq!(ranges(&[], 2), "");
    }
}
