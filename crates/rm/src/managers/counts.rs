//! Parses counts for nodes as Slurm writes them: `2(x3),1` is `2,2,2,1`.

use super::error::{Flaw, shown};
use super::nodes::slots;

/// Returns one count for each node; `list` is the name of the list, for errors.
pub(super) fn expand(text: &str, list: &'static str, nodes: usize) -> Result<Vec<u32>, Flaw> {
    let runs = text.split(',').map(run).collect::<Result<Vec<_>, _>>()?;
    let counts = runs.iter().fold(0, |sum: u64, (_, times)| sum.saturating_add(*times));
    // The sum is checked before the counts are expanded, because a run may have any length.
    if counts != nodes as u64 {
        return Err(Flaw::Mismatch { counts, list, nodes });
    }
    Ok(runs.iter().flat_map(|(count, times)| (0..*times).map(move |_| *count)).collect())
}

/// Parses `2(x3)` or `2`.
fn run(text: &str) -> Result<(u32, u64), Flaw> {
    let text = text.trim();
    let Some((count, times)) = text.split_once('(') else { return Ok((slots(text)?, 1)) };
    let times = times.strip_prefix('x').and_then(|times| times.strip_suffix(')'));
    let times = times.and_then(|times| times.parse().ok()).filter(|times| *times > 0);
    let times = times.ok_or_else(|| Flaw::number(&shown(text), "a count, as 2 or 2(x3)"))?;
    Ok((slots(count)?, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_count_for_each_node() {
        assert_eq!(expand("2(x3),1", "L", 4), Ok(vec![2, 2, 2, 1]));
        assert_eq!(expand("16", "L", 1), Ok(vec![16]));
        for (text, nodes) in [("2(x3),1", 3), ("2(x18446744073709551615),2(x9)", 3), ("1", 2)] {
            assert!(matches!(expand(text, "L", nodes), Err(Flaw::Mismatch { .. })), "{text}");
        }
        for text in ["", "0", "2(x0)", "2(3)", "2(x3", "2x3", "-1", "2,,1", "99999999999", "2(x)"] {
            assert!(matches!(expand(text, "L", 1), Err(Flaw::NotANumber { .. })), "{text}");
        }
    }
}
