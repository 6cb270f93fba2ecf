//! Compressed lists of nodes as Slurm writes them: `n[01-04,7],login,r[1-2]n[1-2]`. The first number of a range sets
//! the width of all its numbers.

use super::error::{Flaw, shown};
use crate::name::BadName;

/// The most nodes of a list.
pub(super) const MOST_NODES: usize = 100_000;
const MOST_BRACKETS: usize = 8;
/// The longest name of a host (bytes).
const LONGEST: usize = 255;

/// Returns the names in their order, repeated ones included. The names are not checked.
pub(crate) fn expand(list: &str) -> Result<Vec<String>, Flaw> {
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let end = item_end(rest)?;
        let item = rest[..end].trim();
        // Empty items, as in `a,,b`, are ignored.
        if !item.is_empty() {
            names.extend(expand_item(item, MOST_NODES - names.len())?);
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    Ok(names)
}

/// Expands `r[1-2]n[1-2]`; the last number runs fastest.
fn expand_item(item: &str, room: usize) -> Result<Vec<String>, Flaw> {
    // The largest machines have five dimensions.
    if item.matches('[').count() > MOST_BRACKETS {
        return Err(Flaw::Bracket(shown(item)));
    }
    let mut names = vec![String::new()];
    let mut rest = item;
    while !rest.is_empty() {
        let literal = &rest[..rest.find('[').unwrap_or(rest.len())];
        names.iter_mut().for_each(|name| name.push_str(literal));
        rest = &rest[literal.len()..];
        if let Some(inside) = rest.strip_prefix('[') {
            let (ranges, after) = inside.split_once(']').ok_or_else(|| Flaw::Bracket(shown(item)))?;
            names = combined(&names, &numbers(ranges, room)?, room)?;
            rest = after;
        }
        if let Some(long) = names.iter().find(|name| name.len() > LONGEST) {
            return Err(BadName::TooLong(long.len()).into());
        }
    }
    if names.len() > room { Err(Flaw::TooManyNodes) } else { Ok(names) }
}

fn combined(names: &[String], numbers: &[String], room: usize) -> Result<Vec<String>, Flaw> {
    if names.len().saturating_mul(numbers.len()) > room {
        return Err(Flaw::TooManyNodes);
    }
    Ok(names.iter().flat_map(|name| numbers.iter().map(move |number| format!("{name}{number}"))).collect())
}

/// Expands `01-04,7`.
fn numbers(ranges: &str, room: usize) -> Result<Vec<String>, Flaw> {
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let bad = || Flaw::Range(shown(range));
        let (from, to) = (number(first).ok_or_else(bad)?, number(last).ok_or_else(bad)?);
        let count = to.checked_sub(from).ok_or_else(bad)?;
        if count >= (room - all.len()) as u64 {
            return Err(Flaw::TooManyNodes);
        }
        let width = first.len();
        all.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(all)
}

/// Parses a number of digits only.
fn number(text: &str) -> Option<u64> {
    let digits = (1..=18).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// Returns the position of the first comma outside of brackets, or the end.
fn item_end(text: &str) -> Result<usize, Flaw> {
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match (c, inside) {
            ('[', false) => inside = true,
            (']', true) => inside = false,
            ('[', true) | (']', false) => return Err(Flaw::Bracket(shown(text))),
            (',', false) => return Ok(at),
            _ => {}
        }
    }
    if inside { Err(Flaw::Bracket(shown(text))) } else { Ok(text.len()) }
}

/// Compresses names of hosts to a list; [`expand`] makes the same names of it.
pub(crate) fn fold(names: &[&str]) -> String {
    let mut items: Vec<String> = Vec::new();
    let mut open: Option<Run<'_>> = None;
    for name in names {
        let split = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (stem, digits) = name.split_at(split);
        let value = number(digits);
        match (&mut open, value) {
            (Some(run), Some(value)) if run.stem == stem && run.admits(digits, value) => run.last = value,
            _ => {
                items.extend(open.take().map(Run::into_item));
                match value {
                    Some(value) => open = Some(Run { stem, first: digits, from: value, last: value }),
                    None => items.push((*name).to_owned()),
                }
            }
        }
    }
    items.extend(open.map(Run::into_item));
    items.join(",")
}

/// Names with the same stem and consecutive numbers.
struct Run<'a> {
    stem: &'a str,
    first: &'a str,
    from: u64,
    last: u64,
}

impl Run<'_> {
    /// True for the next number, with the width of the first.
    fn admits(&self, digits: &str, value: u64) -> bool {
        let width = self.first.len();
        value == self.last + 1 && digits == format!("{value:0width$}")
    }

    fn into_item(self) -> String {
        let Run { stem, first, from, last } = self;
        let width = first.len();
        if from == last { format!("{stem}{first}") } else { format!("{stem}[{first}-{last:0width$}]") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_written_as_ranges() {
        assert_eq!(fold(&["n1", "n2", "n3", "n7", "n8", "m"]), "n[1-3],n[7-8],m");
        assert_eq!(fold(&["n08", "n09", "n10", "n011"]), "n[08-10],n011");
        assert_eq!(fold(&["n9", "n10", "r1n2", "r2n2", "12", "13"]), "n[9-10],r1n2,r2n2,[12-13]");
        assert_eq!(fold(&["n2", "n1"]), "n2,n1");
        assert_eq!(fold(&[]), "");
    }

    proptest::proptest! {
        #[test]
        fn a_folded_list_names_the_same(names in proptest::collection::vec("[a-c]{0,2}[0-9]{0,3}", 0..40)) {
            let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
            proptest::prop_assert_eq!(expand(&fold(&names)).unwrap(), names);
        }
    }

    fn joined(list: &str) -> String {
        expand(list).map_or_else(|flaw| flaw.to_string(), |names| names.join(" "))
    }

    #[test]
    fn ranges_leading_zeros_and_several_brackets_are_understood() {
        assert_eq!(joined("n[1-3,7]"), "n1 n2 n3 n7");
        assert_eq!(joined("n[08-11],login"), "n08 n09 n10 n11 login");
        assert_eq!(joined("r[1-2]n[01-02]-ib"), "r1n01-ib r1n02-ib r2n01-ib r2n02-ib");
        assert_eq!(joined("a,b.c.org,"), "a b.c.org");
        assert_eq!(joined("n[099-101]"), "n099 n100 n101");
    }

    #[test]
    fn what_is_broken_or_without_end_is_refused_before_it_is_made() {
        for list in ["n[1-2", "n1]", "n[[1]]", "n[3-1]", "n[1-]", "n[]", "n[a-b]", "n[+1]", "n[1-2-3]"] {
            assert!(expand(list).is_err(), "{list}");
        }
        for list in ["n[0-99999999999]", "n[0-999][0-999]", "n[0-99999],m", "n[0-49999],m[0-50000]"] {
            assert_eq!(expand(list), Err(Flaw::TooManyNodes), "{list}");
        }
        assert_eq!(expand("n[0-99999]").map(|names| names.len()), Ok(MOST_NODES));
        assert!(expand(&"n[1]".repeat(9)).is_err());
        assert!(expand(&format!("{}[1]", "n".repeat(255))).is_err());
    }
}
