//! The names that clients have given their tasks, by which any client finds them again. Pure.

use std::collections::{BTreeMap, VecDeque};

use ferrite_types::JobId;

/// The most names that are kept; the oldest is forgotten first.
const KEPT: usize = 100_000;

/// Names of tasks, and the jobs that they have become.
#[derive(Debug, Default)]
pub(crate) struct Names {
    jobs: BTreeMap<String, JobId>,
    /// In the order in which they were given; a name that was given again has an entry for each time.
    given: VecDeque<(String, JobId)>,
}

impl Names {
    /// Notes the job of a task. A name means the latest task that has it.
    pub(crate) fn give(&mut self, name: &str, job: JobId) {
        self.jobs.insert(name.to_owned(), job);
        self.given.push_back((name.to_owned(), job));
        if self.given.len() > KEPT
            && let Some((oldest, its)) = self.given.pop_front()
            && self.jobs.get(&oldest) == Some(&its)
        {
            self.jobs.remove(&oldest);
        }
    }

    /// Returns the job of the task with this name.
    pub(crate) fn find(&self, name: &str) -> Option<JobId> {
        self.jobs.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_its_latest_task_and_old_ones_are_forgotten() {
        let mut names = Names::default();
        names.give("a", JobId(1));
        names.give("b", JobId(2));
        names.give("a", JobId(3));
        assert_eq!((names.find("a"), names.find("b"), names.find("c")), (Some(JobId(3)), Some(JobId(2)), None));
        for n in 0..KEPT as u32 - 2 {
            names.give("x", JobId(n + 4));
        }
        assert_eq!(names.find("a"), Some(JobId(3)), "only the older use of the name is forgotten");
        names.give("y", JobId(1));
        names.give("y", JobId(2));
        assert_eq!((names.find("a"), names.find("b")), (None, None));
    }
}
