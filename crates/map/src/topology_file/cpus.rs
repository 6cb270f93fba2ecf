//! hwloc's way to write a set of processors: words of 32 bits in hexadecimal, the highest first,
//! `0x000000ff,0xffffffff`.

use ferrite_types::CpuSet;

/// Digits of one word.
const WORD_DIGITS: usize = 8;

/// Parses a set; `None` = the text has another form. A set without an end (`0xf...f`) is refused.
pub(super) fn parse(text: &str) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for (word, digits) in text.rsplit(',').enumerate() {
        let digits = digits.trim();
        // Between commas a word may be left out when it is zero.
        if digits.is_empty() && text.contains(',') {
            continue;
        }
        let bits = parse_word(digits)?;
        for bit in (0..32).filter(|bit| bits & (1 << bit) != 0) {
            set.insert(u32::try_from(word).ok()?.checked_mul(32)? + bit);
        }
    }
    Some(set)
}

fn parse_word(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_hex = !digits.is_empty() && digits.len() <= WORD_DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hex { u32::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_from_the_lowest() {
        let shown = |text| parse(text).map(|set| set.to_string());
        assert_eq!(shown("0x0000000f").as_deref(), Some("0-3"));
        assert_eq!(shown("0x00000001,0x80000000").as_deref(), Some("31-32"));
        assert_eq!(shown("0x1,,0x1").as_deref(), Some("0,64"));
        assert_eq!(shown("0x0").as_deref(), Some(""));
        for bad in ["", "0x", "0xf...f", "0x1ffffffff", "+1", "0-3", "0x1 0x1"] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }
}
