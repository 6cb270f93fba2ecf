//! The results of an earlier run of a list: which of its jobs need not be run again. Pure.

use std::collections::BTreeSet;

use serde::Deserialize;

/// The jobs that need not be run again, by the names of their authors; those without a name by the numbers of their
/// lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    ids: BTreeSet<String>,
    lines: BTreeSet<u64>,
    /// Those of them that have not ended well, in the same way.
    failed: (BTreeSet<String>, BTreeSet<u64>),
}

/// The fields of a record that matter here.
#[derive(Deserialize)]
struct Recorded {
    #[serde(default)]
    record: Option<String>,
    #[serde(default)]
    line: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    exit_code: Option<u8>,
    #[serde(default)]
    ending: Option<String>,
    #[serde(default)]
    dvm: Option<String>,
    #[serde(default)]
    batch: Option<u32>,
}

/// A batch that another process has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Begun<'a> {
    pub(crate) dvm: &'a str,
    pub(crate) batch: u32,
}

impl Done {
    /// Reads results. A batch that another process has begun goes on with the jobs that have no record since then;
    /// else those that have ended well are done.
    ///
    /// # Errors
    /// A line that is no result. The last line may be cut off: whoever wrote it may have been killed.
    pub(crate) fn of(results: &str, begun: Option<Begun<'_>>) -> Result<Done, String> {
        let mut done = Done::default();
        let mut is_own = false;
        let count = results.lines().count();
        for (at, text) in results.lines().enumerate() {
            let wrong = |why: String| format!("line {} is no result of a list: {why}", at + 1);
            let recorded: Recorded = match serde_json::from_str(text) {
                Ok(recorded) => recorded,
                Err(_) if at + 1 == count && !results.ends_with('\n') => break,
                Err(error) => return Err(wrong(error.to_string())),
            };
            match (recorded.record.as_deref(), recorded.line) {
                (Some("batch"), _) => {
                    is_own = begun.is_some_and(|begun| {
                        recorded.dvm.as_deref() == Some(begun.dvm) && recorded.batch == Some(begun.batch)
                    });
                }
                (Some("submitted" | "started"), _) => {}
                (Some("ended") | None, Some(line)) => done.note(line, recorded, is_own),
                (Some("ended") | None, None) => return Err(wrong("missing field `line`".to_owned())),
                (Some(other), _) => return Err(wrong(format!("{other:?} is no kind of record"))),
            }
        }
        Ok(done)
    }

    fn note(&mut self, line: u64, recorded: Recorded, every: bool) {
        let well = recorded.exit_code == Some(0) && recorded.ending.is_none_or(|ending| ending == "done");
        if !well && !every {
            return;
        }
        match recorded.id {
            Some(id) => {
                if well {
                    self.failed.0.remove(&id)
                } else {
                    self.failed.0.insert(id.clone())
                };
                self.ids.insert(id);
            }
            None => {
                if well {
                    self.failed.1.remove(&line)
                } else {
                    self.failed.1.insert(line)
                };
                self.lines.insert(line);
            }
        }
    }

    /// True for a job that need not be run again.
    pub(crate) fn has(&self, line: u64, id: Option<&str>) -> bool {
        id.map_or_else(|| self.lines.contains(&line), |id| self.ids.contains(id))
    }

    /// True for a job that need not be run again, and has not ended well.
    pub(crate) fn has_failed(&self, line: u64, id: Option<&str>) -> bool {
        id.map_or_else(|| self.failed.1.contains(&line), |id| self.failed.0.contains(id))
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
        let done = Done::of(RESULTS, None).unwrap();
        let has: Vec<u64> = (1..=7).filter(|line| done.has(*line, None)).collect();
        assert_eq!(has, [1, 2, 6]);
        assert!(done.has(9, Some("a")), "a name counts wherever its line is now");
        assert!(!done.has(1, Some("b")) && !done.has(1, Some("c")));
    }

    #[test]
    fn another_file_is_not_taken_for_results() {
        assert!(Done::of("true\nfalse\n", None).unwrap_err().starts_with("line 1 is no result"));
        assert!(Done::of(&format!("{RESULTS}\n{{}}\n"), None).is_err());
        assert_eq!(Done::of("", None), Ok(Done::default()));
    }

    /// A process that goes on for another repeats nothing, and records before the batch count as for `--resume`.
    #[test]
    fn a_batch_that_goes_on_leaves_out_every_job_that_has_a_record() {
        let results = r#"{"record":"ended","line":1,"id":null,"exit_code":1,"ending":"failed"}
{"record":"ended","line":2,"id":null,"exit_code":0,"ending":"done"}
{"record":"batch","dvm":"d","batch":3}
{"record":"submitted","line":3,"id":null,"job":7}
{"record":"ended","line":3,"id":null,"exit_code":1,"ending":"failed"}
{"record":"submitted","line":4,"id":null,"job":8}
{"record":"ended","line":5,"id":"x","exit_code":null,"ending":"not_run"}
{"record":"ended","line":6,"id":null,"exit_code":0,"ending":"done"}
{"record":"sta"#;
        let done = Done::of(results, Some(Begun { dvm: "d", batch: 3 })).unwrap();
        let has: Vec<u64> = (1..=6).filter(|line| done.has(*line, None)).collect();
        assert_eq!(has, [2, 3, 6]);
        assert!(done.has(5, Some("x")) && done.has_failed(5, Some("x")) && done.has_failed(3, None));
        assert!(!done.has_failed(6, None));
        let other = Done::of(results, Some(Begun { dvm: "e", batch: 3 })).unwrap();
        assert_eq!((1..=6).filter(|line| other.has(*line, None)).collect::<Vec<_>>(), [2, 6]);
    }
}
