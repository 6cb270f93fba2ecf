//! The history: the latest ended jobs in memory, more of them in files that the driver keeps, and counts of all.
//!
//! The files are numbered. Each has a tenth of the jobs that are to be remembered at least. When a file is full another
//! begins, and the oldest goes when ten full ones are there beside it.

use std::collections::VecDeque;

use ferrite_types::JobId;
use ferrite_wire::control::{EndedJobs, JobDetail};

/// The number of jobs that the history has in memory.
const KEPT: usize = 1_000;
/// The number of full files.
const FILES: u64 = 10;
/// The number of jobs of a page.
pub(super) const PAGE: usize = 1_000;

/// The kept jobs, and counts of all that ended.
#[derive(Debug, Default)]
pub(super) struct History {
    jobs: VecDeque<JobDetail>,
    pub(super) ended: u64,
    pub(super) failed: u64,
}

/// The place of a job among the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: u64,
    /// The oldest file that stays.
    pub(super) oldest: u64,
}

impl Place {
    /// The place of the job with this number, counted from 0, when so many are to be remembered at least (spec L115).
    pub(super) fn of(number: u64, remembered: u64) -> Place {
        let file = number / remembered.div_ceil(FILES).max(1);
        Place { file, oldest: file.saturating_sub(FILES) }
    }
}

impl History {
    pub(super) fn add(&mut self, job: JobDetail) {
        self.ended += 1;
        self.failed += u64::from(job.status.exit_code.is_some_and(|code| code != 0));
        if self.jobs.len() == KEPT {
            self.jobs.pop_front();
        }
        self.jobs.push_back(job);
    }

    /// The jobs in memory, in the order of their ends.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &JobDetail> {
        self.jobs.iter()
    }

    pub(super) fn find(&self, id: JobId) -> Option<&JobDetail> {
        self.jobs.iter().rev().find(|job| job.status.job == id)
    }

    /// The latest job in memory whose task has this name.
    pub(super) fn of_task(&self, task: &str) -> Option<JobId> {
        self.jobs.iter().map(|job| &job.status).filter(|job| job.task == task).map(|job| job.job).max()
    }

    /// True when jobs are over that are in memory no more.
    pub(super) fn has_more(&self) -> bool {
        self.ended > self.jobs.len() as u64
    }

    /// A page of the jobs in memory, from this number on.
    pub(super) fn page(&self, from: u64) -> EndedJobs {
        let first = self.ended - self.jobs.len() as u64;
        let from = from.max(first);
        let jobs = self.jobs.iter().skip((from - first) as usize).take(PAGE);
        let jobs: Vec<_> = jobs.map(|job| job.status.clone()).collect();
        let next = from + jobs.len() as u64;
        EndedJobs { jobs, next: Some(next).filter(|next| *next < self.ended) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At least as many, and a tenth more at most (spec L115).
    #[test]
    fn the_files_hold_what_is_to_be_remembered_and_little_more() {
        let held = |number: u64, remembered: u64| {
            let size = remembered.div_ceil(FILES).max(1);
            number + 1 - Place::of(number, remembered).oldest * size
        };
        for remembered in [1, 9, 10, 25, 100_000] {
            for number in (0..300).chain([99_999, 100_000, 109_999, 110_000, 12_345_678]) {
                let held = held(number, remembered);
                assert!(held >= remembered.min(number + 1), "{held} of {number} for {remembered}");
                assert!(held <= remembered + remembered.div_ceil(FILES) + 2 * FILES, "{held} for {remembered}");
            }
        }
        assert_eq!(Place::of(25_000, 100_000), Place { file: 2, oldest: 0 });
        assert_eq!(Place::of(119_999, 100_000), Place { file: 11, oldest: 1 });
    }
}
