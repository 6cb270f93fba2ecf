//! `pdvm release`: lets processes go on that wait for a debugger.

use ferrite_types::{JobId, Rank};
use ferrite_wire::control::Request;

use super::dvm::Dvm;
use super::failure::Failure;
use super::json::{self, Ordered};
use super::moment::Moment;
use super::options::ReleaseOptions;

/// The greatest number of ranks that a list may name.
const MOST_RANKS: usize = 1_000_000;

/// Ranks of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankList(Vec<Rank>);

/// Parses a list as `0,2,5-7`.
pub(super) fn parse_ranks(text: &str) -> Result<RankList, String> {
    let wrong = || "no list of ranks (as 0,2,5-7)".to_owned();
    let mut ranks = Vec::new();
    for item in text.split(',') {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong());
        }
        if (last - first) as usize >= MOST_RANKS - ranks.len() {
            return Err(format!("more than {MOST_RANKS} ranks; without --ranks all go on"));
        }
        ranks.extend((first..=last).map(Rank));
    }
    Ok(RankList(ranks))
}

pub(super) fn answer(dvm: &mut Dvm, of: &ReleaseOptions, json: bool) -> Result<String, Failure> {
    let job = dvm.number_of(&of.job)?;
    let ranks = of.ranks.clone().map(|RankList(ranks)| ranks);
    let count = ranks.as_ref().map(Vec::len);
    dvm.order(Request::Release { job, ranks })?;
    if !json {
        return Ok(render(job, count));
    }
    let (_, moment) = dvm.status()?;
    Ok(to_json(job, &moment))
}

fn render(job: JobId, count: Option<usize>) -> String {
    match count {
        None => format!("The processes of job {job} go on.\n"),
        Some(1) => format!("1 process of job {job} goes on.\n"),
        Some(count) => format!("{count} processes of job {job} go on.\n"),
    }
}

fn to_json(job: JobId, moment: &Moment) -> String {
    json::document("ordered", moment, Ordered { order: "release", job: job.0, signal: None, over: false, jobs: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn ranks_are_numbers_and_ranges() {
        let ranks = |text| parse_ranks(text).map(|RankList(ranks)| ranks.iter().map(|rank| rank.0).collect::<Vec<_>>());
        assert_eq!(ranks("0,2,5-7"), Ok(vec![0, 2, 5, 6, 7]));
        for bad in ["", "x", "3-1", "1,", "-1", "0-4000000000", "0-999999,0-999999"] {
            assert!(ranks(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_order_is_confirmed() {
        assert_eq!(render(JobId(3), None), "The processes of job 3 go on.\n");
        assert_eq!(render(JobId(3), Some(1)), "1 process of job 3 goes on.\n");
        assert_eq!(render(JobId(3), Some(2)), "2 processes of job 3 go on.\n");
        insta::assert_snapshot!(to_json(JobId(3), &samples::moment()));
    }
}
