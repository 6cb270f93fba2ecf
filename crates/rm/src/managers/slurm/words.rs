//! Reads messages of Slurm's commands (`salloc`: its source, `src/salloc/salloc.c`).

/// The longest message that is passed on.
const LONGEST: usize = 300;
const PROGRAMS: [&str; 4] = ["salloc", "squeue", "scancel", "scontrol"];

/// One line of `salloc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The request is a job that waits.
    Pending(String),
    /// The job has its nodes.
    Granted(String),
    /// Another message.
    Other(String),
}

impl Line {
    /// Reads a line.
    #[must_use]
    pub fn of(line: &str) -> Line {
        let words = without_program(line);
        let job = |start: &str| {
            let id = words.strip_prefix(start)?.split_whitespace().next()?;
            // The id becomes an argument of other commands.
            let known = !id.is_empty() && id.len() < 20 && id.bytes().all(|b| b.is_ascii_digit());
            known.then(|| id.to_owned())
        };
        match (job("Pending job allocation "), job("Granted job allocation ")) {
            (Some(id), _) => Line::Pending(id),
            (None, Some(id)) => Line::Granted(id),
            (None, None) => Line::Other(plain(words)),
        }
    }
}

/// Returns the error of a command: its last line without the prefix of every line. Empty when there is none.
#[must_use]
pub fn complaint(text: &str) -> String {
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let words = without_program(line);
    plain(words.strip_prefix("error: ").unwrap_or(words).trim_end_matches('.'))
}

fn without_program(line: &str) -> &str {
    let line = line.trim();
    let rest = line.split_once(": ").filter(|(program, _)| PROGRAMS.contains(program));
    rest.map_or(line, |(_, rest)| rest.trim())
}

/// Makes one line without control characters of a text.
fn plain(text: &str) -> String {
    text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salloc_says_when_it_waits_and_when_it_has_nodes() {
        let granted = |id: &str| Line::Granted(id.to_owned());
        assert_eq!(Line::of("salloc: Granted job allocation 12"), granted("12"));
        assert_eq!(Line::of("salloc: Granted job allocation 12 on cluster east\n"), granted("12"));
        assert_eq!(Line::of("salloc: Pending job allocation 3"), Line::Pending("3".to_owned()));
        let queued = "salloc: job 3 queued and waiting for resources";
        assert_eq!(Line::of(queued), Line::Other("job 3 queued and waiting for resources".to_owned()));
    }

    #[test]
    fn what_is_no_number_of_a_job_is_never_taken_for_one() {
        for id in ["", "-1", "--all", "1;reboot", "1,2", "$(x)", "99999999999999999999999"] {
            let line = format!("salloc: Granted job allocation {id}");
            assert!(matches!(Line::of(&line), Line::Other(_)), "{id}");
        }
        assert!(matches!(Line::of("evil: salloc: Granted job allocation 7"), Line::Other(_)));
    }

    #[test]
    fn a_complaint_is_the_last_thing_that_was_said() {
        let said = "salloc: error: CPU count per node can not be satisfied\n\
                    salloc: error: Job submit/allocate failed: Requested node configuration is not available\n\n";
        assert_eq!(complaint(said), "Job submit/allocate failed: Requested node configuration is not available");
        assert_eq!(complaint("scancel: error: Kill job error on job id 7: Invalid job id specified."), {
            "Kill job error on job id 7: Invalid job id specified"
        });
        assert_eq!(complaint("slurm_load_jobs error: Invalid job id specified\n"), {
            "slurm_load_jobs error: Invalid job id specified"
        });
        assert_eq!(complaint(" \n\n"), "");
        assert_eq!(complaint("a\u{1b}[31mb"), "a [31mb");
        assert_eq!(complaint(&"x".repeat(5000)).len(), LONGEST);
    }
}
