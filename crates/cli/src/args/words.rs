//! Parses words of the command line: directives (in any case, or a unique prefix), booleans, numbers, times.

use ferrite_types::Duration;

/// Why a word was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WordError {
    /// No directive begins with the word.
    Unknown,
    /// Several directives begin with the word.
    Ambiguous(Vec<&'static str>),
}

/// Returns the directive that a word means: the same word in any case, or the only one that begins with it.
pub(crate) fn choose<T: Copy>(word: &str, known: &[(&'static str, T)]) -> Result<(&'static str, T), WordError> {
    let begins =
        |name: &str| !word.is_empty() && name.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    if let Some(exact) = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
        return Ok(*exact);
    }
    let fits: Vec<_> = known.iter().filter(|(name, _)| begins(name)).collect();
    match fits[..] {
        [one] => Ok(*one),
        [] => Err(WordError::Unknown),
        _ => Err(WordError::Ambiguous(fits.iter().map(|(name, _)| *name).collect())),
    }
}

/// Parses a boolean as the field does: any integer (zero is false), or a whole word.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(number != 0);
    }
    match text.to_ascii_uppercase().as_str() {
        "T" | "Y" | "TRUE" | "YES" | "ENABLE" => Some(true),
        "F" | "N" | "FALSE" | "NO" | "DISABLE" => Some(false),
        _ => None,
    }
}

/// Parses `[[dd:]hh:]mm:]ss`; zero means "no limit", which is `Ok(None)`.
pub(crate) fn time(text: &str) -> Result<Option<Duration>, &'static str> {
    const NOT_A_TIME: &str = "is not a time";
    let fields: Vec<&str> = text.split(':').collect();
    if fields.len() > 4 || fields.iter().any(|f| f.is_empty() || !f.bytes().all(|b| b.is_ascii_digit())) {
        return Err(NOT_A_TIME);
    }
    let seconds = fields
        .iter()
        .rev()
        .zip([1_u64, 60, 3_600, 86_400])
        .try_fold(0_u64, |sum, (field, unit)| field.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(sum));
    match seconds {
        Some(0) => Ok(None),
        // A hundred years; longer times would overflow a clock of microseconds.
        Some(s) if s <= 3_155_760_000 => Ok(Some(Duration::from_secs(s))),
        _ => Err("is too long"),
    }
}

/// The form of a time, for messages.
pub(crate) const TIME_FORM: &str =
    "Write seconds, as 90, or [[days:]hours:]minutes:seconds, as 1:30; 0 means no limit.";

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [(&str, u8); 3] = [("tag", 1), ("tag-detailed", 2), ("timestamp", 3)];

    #[test]
    fn a_unique_prefix_in_any_case_is_enough_and_the_whole_word_wins() {
        assert_eq!(choose("TAG", &KNOWN), Ok(("tag", 1)));
        assert_eq!(choose("Ti", &KNOWN), Ok(("timestamp", 3)));
        assert_eq!(choose("tag-d", &KNOWN), Ok(("tag-detailed", 2)));
        assert_eq!(choose("ta", &KNOWN), Err(WordError::Ambiguous(vec!["tag", "tag-detailed"])));
        assert_eq!(choose("x", &KNOWN), Err(WordError::Unknown));
        assert_eq!(choose("", &KNOWN), Err(WordError::Unknown));
        assert_eq!(choose("ü", &KNOWN), Err(WordError::Unknown));
    }

    #[test]
    fn booleans_are_integers_and_whole_words() {
        assert_eq!(["1", "0", "-3", "yes", "Disable"].map(boolean), [true, false, true, true, false].map(Some));
        assert_eq!(["tr", "on", "", "1.0"].map(boolean), [None; 4]);
    }

    #[test]
    fn times_have_up_to_four_fields() {
        assert_eq!(time("90"), Ok(Some(Duration::from_secs(90))));
        assert_eq!(time("1:30"), Ok(Some(Duration::from_secs(90))));
        assert_eq!(time("1:00:00:01"), Ok(Some(Duration::from_secs(86_401))));
        assert_eq!(time("0"), Ok(None));
        for bad in ["", "-1", "1.5", "1:", ":1", "1:1:1:1:1", "soon", "99999999999999999999", "9999999999"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
