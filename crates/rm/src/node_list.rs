//! Node lists in the forms of `PMIx_generate_regex`: `pmix[n[2:1-4,7],login]` is `n01,n02,n03,n04,n07,login`, and
//! `raw:` stands before a plain list. Only libpmix can read the third form, which is compressed (`blob:`).

use std::fmt::Write;

/// The most nodes of a list; more of them are a mistake.
const MOST_NODES: u32 = 1 << 20;
/// The longest list (bytes).
const LONGEST: usize = 64 << 20;

/// Expands a node list to names with commas; any other text is returned as it is. `None` when a text begins as one of
/// the two forms and is not one.
#[must_use]
pub fn expand(text: &str) -> Option<String> {
    if let Some(list) = text.strip_prefix("raw:") {
        return Some(list.to_owned());
    }
    let Some(rest) = text.strip_prefix("pmix[") else {
        return Some(text.to_owned());
    };
    let mut list = List::default();
    let mut rest = rest.strip_suffix(']')?;
    loop {
        let item_end = item_end(rest)?;
        list.add(&rest[..item_end])?;
        match rest[item_end..].strip_prefix(',') {
            Some(more) => rest = more,
            None => return Some(list.text),
        }
    }
}

#[derive(Default)]
struct List {
    text: String,
    count: u32,
}

impl List {
    /// Adds the names of one item: `login`, or `n[2:1-4,7]-ib`.
    fn add(&mut self, item: &str) -> Option<()> {
        let Some((prefix, rest)) = item.split_once('[') else {
            return self.push(item, "", 0, "");
        };
        let (inside, suffix) = rest.split_once(']')?;
        let (width, ranges) = inside.split_once(':')?;
        let width: usize = width.parse().ok().filter(|width| *width <= 10)?;
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            for number in first..=last {
                self.push(prefix, &number.to_string(), width, suffix)?;
            }
        }
        Some(())
    }

    fn push(&mut self, prefix: &str, number: &str, width: usize, suffix: &str) -> Option<()> {
        self.count += 1;
        let comma = if self.count > 1 { "," } else { "" };
        write!(self.text, "{comma}{prefix}{number:0>width$}{suffix}").ok()?;
        (self.count <= MOST_NODES && self.text.len() <= LONGEST).then_some(())
    }
}

/// Returns the end of the first item: the first comma outside of brackets. `None` when a bracket is not closed.
fn item_end(text: &str) -> Option<usize> {
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            ',' if !inside => return Some(at),
            _ => {}
        }
    }
    (!inside).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_writes_is_read() {
        for (text, list) in [
            ("pmix[n[1:1-3]]", "n1,n2,n3"),
            ("pmix[n[1:1-2],n[2:10]]", "n1,n2,n10"),
            ("pmix[n[2:1-2,5],m]", "n01,n02,n05,m"),
            ("pmix[a.b.c,n-1,x[1:7,9]-ib]", "a.b.c,n-1,x7-ib,x9-ib"),
            ("raw:n1,n2", "n1,n2"),
            ("n1,n2:4", "n1,n2:4"),
        ] {
            assert_eq!(expand(text).as_deref(), Some(list), "{text}");
        }
    }

    #[test]
    fn what_is_broken_or_without_end_is_refused() {
        for text in ["pmix[", "pmix[n[1:1-2]", "pmix[n[1:x]]", "pmix[n[1]]", "pmix[n[99:1]]", "pmix[n[1:0-4294967295]]"]
        {
            assert_eq!(expand(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(pmix\\[)?[n0-9:,\\[\\]-]{0,30}") {
            let _ = expand(&text);
        }
    }
}
