//! Placement by a list: one process at each line of a sequence, or each rank where a rankfile says.

use ferrite_types::{BindTo, CpuChoice, CpuSet, JobMap, MapBy};

use crate::app::App;
use crate::error::MapError;
use crate::mapped_node::MappedNodes;
use crate::place::{Job, program};
use crate::units::chosen;

/// A process of the list: the position of its line, and what it is bound to.
struct Line<'a> {
    at: usize,
    cpus: Option<&'a CpuChoice>,
}

/// For each line of the app's list, how many processes it gives: one, or none when fewer are asked for.
pub(crate) fn count(job: &Job<'_>, index: usize) -> Result<Vec<u32>, MapError> {
    let app = &job.apps[index];
    let mut counts = vec![0; app.places.len()];
    for line in lines(job, index)? {
        counts[line.at] += 1;
    }
    check_slots(job, app, &counts)?;
    Ok(counts)
}

fn check_slots(job: &Job<'_>, app: &App<'_>, counts: &[u32]) -> Result<(), MapError> {
    let mut on_candidate = vec![0u32; job.candidates.len()];
    for (&(candidate, _), count) in app.places.iter().zip(counts) {
        on_candidate[candidate] += count;
        let (free, room) = job.candidates[candidate].free_and_room(app.policy.cpus);
        let limit = if app.policy.oversubscribe { room } else { free };
        if on_candidate[candidate] > limit {
            let wanted =
                app.places.iter().zip(counts).filter(|((at, _), n)| *at == candidate && **n > 0).count() as u32;
            return Err(job.shortage(app, candidate, wanted, limit));
        }
    }
    Ok(())
}

/// The lines of the app's processes in the order of their ranks.
fn lines<'a>(job: &Job<'a>, index: usize) -> Result<Vec<Line<'a>>, MapError> {
    let app = &job.apps[index];
    let asked = app.context.np;
    match &app.request.by {
        Some(MapBy::RankFile(list)) => {
            let first = ranks_before(job, index);
            let at = |rank: u32| list.iter().position(|line| line.rank.0 == rank);
            let last = list.iter().map(|line| line.rank.0 + 1).max().unwrap_or(0).max(first + 1);
            let end = asked.map_or(last, |np| first.saturating_add(np));
            let line = |rank| {
                let at = at(rank).ok_or_else(|| MapError::RankMissing { rank, program: program(app.context) })?;
                Ok(Line { at, cpus: list[at].cpus.as_ref() })
            };
            (first..end).map(line).collect()
        }
        by => {
            let cpus = |at: usize| match by {
                Some(MapBy::Seq(list)) => list.get(at).and_then(|line| line.cpus.as_ref()),
                _ => None,
            };
            let there = app.places.len() as u32;
            let asked = asked.unwrap_or(there);
            if asked > there {
                return Err(MapError::SequenceTooShort { asked, lines: there, program: program(app.context) });
            }
            Ok((0..asked as usize).map(|at| Line { at, cpus: cpus(at) }).collect())
        }
    }
}

/// The rank of the app's first process as the file counts: the job's file counts over all apps, an app's own starts
/// with it.
fn ranks_before(job: &Job<'_>, index: usize) -> u32 {
    if job.apps[index].context.map.is_some() {
        return 0;
    }
    job.apps[..index].iter().map(|app| app.context.np.unwrap_or(app.places.len() as u32)).sum()
}

/// Places the app's processes.
pub(crate) fn place<'a>(
    job: &mut Job<'a>,
    index: usize,
    mapped_nodes: &mut MappedNodes<'a>,
    map: &mut JobMap,
) -> Result<(), MapError> {
    count(job, index)?;
    let app = &job.apps[index];
    let lines = lines(job, index)?;
    let first = map.procs.len() as u32;
    let mut bound = Vec::with_capacity(lines.len());
    for (offset, line) in lines.iter().enumerate() {
        let candidate = app.places[line.at].0;
        let node = mapped_nodes.at(candidate, job.candidates[candidate].record, map);
        let cpus = line.cpus.filter(|_| app.request.bind_to != Some(BindTo::None));
        let cpus =
            cpus.map(|choice| own(job, app, candidate, first + offset as u32, choice, node.used())).transpose()?;
        if let Some(cpus) = &cpus {
            node.used().union_with(cpus);
        }
        bound.push((candidate, cpus));
    }
    // The others are bound to what is left.
    mapped_nodes.open(&job.candidates, app);
    let mut placements = Vec::with_capacity(bound.len());
    for (candidate, cpus) in bound {
        let node = mapped_nodes.taken(candidate);
        let placement = match cpus {
            Some(cpus) => Some(node.place_bound(index as u16, cpus)),
            None => node.place_next(&app.policy, index as u16, 0),
        };
        placements.push(placement.ok_or_else(|| job.overload(app, Some(mapped_nodes)))?);
        job.candidates[candidate].placed += 1;
    }
    map.procs.append(&mut placements);
    mapped_nodes.remember(&app.policy, &job.candidates);
    Ok(())
}

/// The hardware threads of a line, none of which another process of the list has.
fn own(
    job: &Job<'_>,
    app: &App<'_>,
    candidate: usize,
    rank: u32,
    choice: &CpuChoice,
    used: &CpuSet,
) -> Result<CpuSet, MapError> {
    let record = job.candidates[candidate].record;
    let node = || record.name.clone();
    let cpus = chosen(&record.topology, app.policy.unit, choice).map_err(|what| MapError::NoSuchPlace {
        what,
        node: node(),
        rank: format!("rank {rank}"),
    })?;
    let shared = cpus.intersection(used);
    if !shared.is_empty() && !app.policy.overload {
        return Err(MapError::PlaceTaken { rank, cpus, shared, node: node() });
    }
    Ok(cpus)
}
