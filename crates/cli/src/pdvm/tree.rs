//! `pdvm jobs --tree`: each job below the one that has spawned it.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::JobId;
use ferrite_wire::control::{JobStatus, TreeSize};

use super::failure::Failure;
use super::jobs::{COMMAND_WIDTH, NO_JOBS, first_node, ran_for_us, state};
use super::json;
use super::moment::Moment;
use super::text::{NONE, Side, Table, cut, duration, or_none, plain};

/// The deepest level with an indentation of its own: each job of a chain may spawn its successor, without an end.
const DEEPEST: usize = 16;
/// The most jobs that are looked up beyond the list.
const MOST_LOOKED_UP: usize = 1_000;

/// Adds the parents of jobs that are not over, and theirs, which the list has forgotten. A parent that the DVM does not
/// remember is left out (spec L131).
pub(super) fn with_parents(
    mut jobs: Vec<JobStatus>,
    mut look_up: impl FnMut(JobId) -> Result<Option<JobStatus>, Failure>,
) -> Result<Vec<JobStatus>, Failure> {
    let mut by_id: BTreeMap<JobId, Option<JobStatus>> = jobs.iter().map(|job| (job.job, None)).collect();
    let mut looked_up = 0;
    for job in jobs.iter().filter(|job| job.ending.is_none()) {
        let mut above = job.parent;
        while let Some(parent) = above.filter(|parent| !by_id.contains_key(parent) && looked_up < MOST_LOOKED_UP) {
            looked_up += 1;
            let found = look_up(parent)?;
            above = found.as_ref().and_then(|found| found.parent);
            by_id.insert(parent, found);
        }
    }
    jobs.extend(by_id.into_values().flatten());
    jobs.sort_by_key(|job| job.job);
    Ok(jobs)
}

/// Returns the children of jobs, as far as both are in the list.
pub(crate) fn children<'a>(jobs: impl Iterator<Item = &'a JobStatus> + Clone) -> BTreeMap<JobId, Vec<JobId>> {
    let mut children: BTreeMap<JobId, Vec<JobId>> = jobs.clone().map(|job| (job.job, Vec::new())).collect();
    for job in jobs {
        // A child is younger, so that there is no circle.
        let parent = job.parent.filter(|parent| *parent < job.job).and_then(|parent| children.get_mut(&parent));
        if let Some(siblings) = parent {
            siblings.push(job.job);
        }
    }
    children
}

/// Returns the jobs with their depths, each behind its parent.
fn in_order(jobs: &[JobStatus]) -> Vec<(usize, &JobStatus)> {
    let by_id: BTreeMap<JobId, &JobStatus> = jobs.iter().map(|job| (job.job, job)).collect();
    let children = children(jobs.iter());
    let is_root = |job: &&JobStatus| !job.parent.is_some_and(|p| p < job.job && by_id.contains_key(&p));
    let mut open: Vec<(usize, JobId)> = jobs.iter().rev().filter(is_root).map(|job| (0, job.job)).collect();
    let mut order = Vec::new();
    while let Some((depth, id)) = open.pop() {
        order.push((depth, by_id[&id]));
        open.extend(children[&id].iter().rev().map(|child| (depth + 1, *child)));
    }
    order
}

pub(super) fn to_json(jobs: &[JobStatus], moment: &Moment) -> String {
    let order = in_order(jobs).into_iter().map(|(_, job)| job);
    json::document("jobs", moment, json::Jobs::of(order, moment))
}

/// Lays the trees out. One line tells of the whole of an elastic job (spec E61).
pub(super) fn render(jobs: &[JobStatus], moment: &Moment) -> String {
    if jobs.is_empty() {
        return NO_JOBS.to_owned();
    }
    let mut columns = vec![
        ("JOB", Side::Left),
        ("STATE", Side::Left),
        ("PROCS", Side::Right),
        ("NODES", Side::Right),
        ("FIRST NODE", Side::Left),
        ("EXIT", Side::Right),
        ("RAN FOR", Side::Right),
        ("COMMAND", Side::Left),
        ("WAITS FOR", Side::Left),
    ];
    // Most jobs are not elastic.
    let has_elastic = jobs.iter().any(|job| job.tree.is_some());
    if has_elastic {
        let own = [("SIZE", Side::Right), ("RANGE", Side::Left), ("WORLDS", Side::Right), ("CHANGE", Side::Left)];
        columns.splice(3..3, own);
    }
    let mut table = Table::new(&columns);
    // One line tells of a whole tree: that of its root, or of its oldest job in the list that is not over.
    let living = jobs.iter().filter(|job| job.ending.is_none()).filter_map(|job| Some((job.job, job.tree.as_ref()?)));
    let mut trees: BTreeMap<JobId, (JobId, &TreeSize)> = BTreeMap::new();
    for (job, tree) in living {
        trees.entry(tree.root).or_insert((job, tree));
    }
    let roots: BTreeSet<JobId> = jobs.iter().map(|job| job.job).filter(|job| trees.contains_key(job)).collect();
    let lines: BTreeMap<JobId, &TreeSize> = trees
        .into_iter()
        .map(|(root, (oldest, tree))| (if roots.contains(&root) { root } else { oldest }, tree))
        .collect();
    for (depth, job) in in_order(jobs) {
        let mut row = vec![
            name(depth, job),
            state(job),
            job.procs.to_string(),
            job.nodes.to_string(),
            first_node(job),
            or_none(job.exit_code),
            or_none(ran_for_us(job, moment).map(duration)),
            cut(&job.command, COMMAND_WIDTH),
            plain(&job.waiting_for),
        ];
        if has_elastic {
            row.splice(3..3, size(lines.get(&job.job).copied(), moment));
        }
        table.row(row);
    }
    table.render()
}

/// Formats the size of an elastic job: its processes, its range, its worlds, and the change that is under way.
fn size(tree: Option<&TreeSize>, moment: &Moment) -> [String; 4] {
    let Some(TreeSize { range, procs, worlds, change, .. }) = tree else {
        return std::array::from_fn(|_| NONE.to_owned());
    };
    let change = change.map(|change| {
        let sign = if change.is_offer { "+" } else { "-" };
        let left = change.until_us.map(|until| until.saturating_sub(moment.dvm_us));
        let left = left.map_or_else(String::new, |left| format!(" ({} left)", duration(left)));
        format!("{sign}{}{left}", change.procs)
    });
    [procs.to_string(), range.to_string(), worlds.to_string(), or_none(change)]
}

/// Formats the number of a job at its depth. A job whose parent is not shown names it.
fn name(depth: usize, job: &JobStatus) -> String {
    let margin = "  ".repeat(depth.min(DEEPEST));
    match job.parent {
        Some(parent) if depth == 0 || depth > DEEPEST => format!("{margin}{} (of {parent})", job.job),
        _ => format!("{margin}{}", job.job),
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::SizeRange;
    use ferrite_wire::control::{Ending, PendingChange};

    use super::*;
    use crate::pdvm::samples;

    fn job(id: u32, parent: Option<u32>, is_over: bool) -> JobStatus {
        let of = if is_over { samples::failed().status } else { samples::jobs()[1].clone() };
        JobStatus { job: JobId(id), parent: parent.map(JobId), ..of }
    }

    /// Job 3 runs on, although 2 and 1 are over; the parent of 6 is forgotten.
    fn family() -> Vec<JobStatus> {
        vec![
            job(1, None, true),
            job(2, Some(1), true),
            job(3, Some(2), false),
            job(4, None, false),
            job(5, Some(1), false),
            job(7, Some(6), false),
        ]
    }

    /// Trees (spec L131).
    #[test]
    fn each_job_is_below_its_parent_also_when_that_is_over() {
        insta::assert_snapshot!(render(&family(), &samples::moment()));
        let json: serde_json::Value = serde_json::from_str(&to_json(&family(), &samples::moment())).unwrap();
        let lines = json["jobs"].as_array().unwrap();
        let told = lines.iter().map(|line| format!("{} {} {}", line["job"], line["parent"], line["children"]));
        let expected = ["1 null [2,5]", "2 1 [3]", "3 2 []", "5 1 []", "4 null []", "7 6 []"];
        assert_eq!(told.collect::<Vec<_>>(), expected);
        assert_eq!(render(&[], &samples::moment()), NO_JOBS);
    }

    /// (spec E61)
    #[test]
    fn an_elastic_job_has_its_size_and_its_change_on_one_line() {
        let range = SizeRange { min: 2, max: 8 };
        let change =
            Some(PendingChange { is_offer: true, procs: 2, until_us: Some(samples::moment().dvm_us + 9_000_000) });
        let tree = |root, change| Some(TreeSize { root: JobId(root), range, procs: 5, worlds: 2, change });
        let mut jobs = family();
        jobs[1].tree = tree(1, None);
        jobs[2].tree = tree(1, change);
        jobs[4].tree = tree(1, change);
        jobs[3].tree = tree(4, Some(PendingChange { is_offer: false, procs: 1, until_us: None }));
        insta::assert_snapshot!(render(&jobs, &samples::moment()));
        let json: serde_json::Value = serde_json::from_str(&to_json(&jobs, &samples::moment())).unwrap();
        insta::assert_snapshot!(json["jobs"][2]["tree"]);
    }

    /// Trees (spec L131).
    #[test]
    fn a_parent_that_the_list_has_forgotten_is_looked_up_for_a_job_that_runs() {
        let list = vec![job(9, Some(8), true), job(10, Some(7), false), job(11, Some(7), false)];
        let mut asked = Vec::new();
        let shown = with_parents(list, |id| {
            asked.push(id.0);
            Ok((id != JobId(1)).then(|| JobStatus { ending: Some(Ending::Done), ..job(id.0, Some(id.0 - 3), true) }))
        });
        let shown: Vec<u32> = shown.unwrap().iter().map(|job| job.job.0).collect();
        assert_eq!((asked, shown), (vec![7, 4, 1], vec![4, 7, 9, 10, 11]));
    }

    #[test]
    fn an_endless_chain_is_shown_in_a_bounded_width() {
        let chain: Vec<JobStatus> = (1..=5_000).map(|id| job(id, (id > 1).then(|| id - 1), true)).collect();
        let text = render(&chain, &samples::moment());
        assert_eq!(text.lines().count(), 5_001);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest < 300, "{widest}");
        assert!(text.contains(" 5000 (of 4999) "));
    }
}
