//! The results of an earlier run of a list: which of its jobs need not be run again. Pure.

use std::collections::BTreeSet;

use serde::Deserialize;

/// The jobs that have ended well, by the names of their authors; those without a name by the numbers of their lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    ids: BTreeSet<String>,
    lines: BTreeSet<u64>,
}

/// The fields of a result that matter here.
#[derive(Deserialize)]
struct Recorded {
    line: u64,
    id: Option<String>,
    exit_code: Option<u8>,
    ending: Option<String>,
}

impl Done {
    /// Reads results.
    ///
    /// # Errors
    /// A line that is no result. The last line may be cut off: whoever wrote it may have been killed.
    pub(crate) fn of(results: &str) -> Result<Done, String> {
        let mut done = Done::default();
        let count = results.lines().count();
        for (at, text) in results.lines().enumerate() {
            let recorded: Recorded = match serde_json::from_str(text) {
                Ok(recorded) => recorded,
                Err(_) if at + 1 == count && !results.ends_with('\n') => break,
                Err(error) => return Err(format!("line {} is no result of a list: {error}", at + 1)),
            };
            if recorded.exit_code == Some(0) && recorded.ending.is_none_or(|ending| ending == "done") {
                match recorded.id {
                    Some(id) => drop(done.ids.insert(id)),
                    None => drop(done.lines.insert(recorded.line)),
                }
            }
        }
        Ok(done)
    }

    /// True for a job that has ended well.
    pub(crate) fn has(&self, line: u64, id: Option<&str>) -> bool {
        id.map_or_else(|| self.lines.contains(&line), |id| self.ids.contains(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = r#"{"line":1,"id":null,"exit_code":0,"ending":"done"}
{"line":2,"id":null,"exit_code":1,"ending":"failed"}
{"line":3,"id":"a","exit_code":0,"ending":"done"}
{"line":4,"id":"b","exit_code":0,"ending":"lost ranks"}
{"line":5,"id":null,"exit_code":null,"ending":"not_run"}
{"line":6,"id":null,"exit_code":0}
{"line":2,"id":null,"exit_code":0,"ending":"done"}
{"line":7,"id":nul"#;

    #[test]
    fn what_has_ended_well_once_is_done() {
        let done = Done::of(RESULTS).unwrap();
        let has: Vec<u64> = (1..=7).filter(|line| done.has(*line, None)).collect();
        assert_eq!(has, [1, 2, 6]);
        assert!(done.has(9, Some("a")), "a name counts wherever its line is now");
        assert!(!done.has(1, Some("b")) && !done.has(1, Some("c")));
    }

    #[test]
    fn another_file_is_not_taken_for_results() {
        assert!(Done::of("true\nfalse\n").unwrap_err().starts_with("line 1 is no result"));
        assert!(Done::of(&format!("{RESULTS}\n{{}}\n")).is_err());
        assert_eq!(Done::of(""), Ok(Done::default()));
    }
}
