//! Places processes by a list: one for each line of a sequence, or each rank as a rankfile says.

use ferrite_types::{BindTo, CpuChoice, CpuSet, JobMap, MapBy};

use crate::app::App;
use crate::error::MapError;
use crate::mapped_node::MappedNodes;
use crate::place::{Job, program};
use crate::units::chosen;

/// A process of the list: the position of its line, and its binding.
struct Line<'a> {
    at: usize,
    cpus: Option<&'a CpuChoice>,
}

/// Returns the number of processes of each line: one, or none when fewer are requested.
pub(crate) fn count(job: &Job<'_>, index: usize) -> Result<Vec<u32>, MapError> {
    let app = &job.apps[index];
    let mut counts = vec![0; app.places.len()];
    for line in lines(job, index)? {
        counts[line.at] += 1;
    }
    check_slots(job, app, &counts)?;
    let procs: u32 = counts.iter().sum();
    if let Some(room) = job.shared_room(app)?.filter(|room| procs > *room) {
        return Err(job.shared_shortage(app, room));
    }
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
        let room = job.candidates[candidate].resource_room(&app.context.takes, job.occupancy);
        if let Some(room) = room.filter(|room| on_candidate[candidate] > *room) {
            return Err(job.resource_shortage(app, &[candidate], room));
        }
    }
    Ok(())
}

/// Returns the lines of the app's processes in the order of their ranks.
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
            // Hosts without a file are gone through by each app.
            let first = match by {
                Some(MapBy::Seq(list)) if !list.is_empty() => ranks_before(job, index),
                _ => 0,
            };
            let there = (app.places.len() as u32).saturating_sub(first);
            let asked = asked.unwrap_or(there.max(1));
            if asked > there {
                return Err(MapError::SequenceTooShort { asked, lines: there, program: program(app.context) });
            }
            let (first, asked) = (first as usize, asked as usize);
            Ok((first..first + asked).map(|at| Line { at, cpus: cpus(at) }).collect())
        }
    }
}

/// Returns the rank, or the line, at which the app begins in the file: a file of the job counts over all apps, a file
/// of the app begins with it.
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
    // Processes without a binding of their own are bound to the remaining processors.
    mapped_nodes.open(&job.candidates, app);
    let mut placements = Vec::with_capacity(bound.len());
    for (candidate, cpus) in bound {
        let node = mapped_nodes.taken(candidate);
        let placement = match cpus {
            Some(cpus) => Some(node.place_bound(index as u16, cpus)),
            None => node.place_next(app, index as u16, 0),
        };
        placements.push(placement.ok_or_else(|| job.overload(app, Some(mapped_nodes)))?);
        job.candidates[candidate].take(1, &app.context.takes);
    }
    let placed = placements.len() as u32;
    map.procs.append(&mut placements);
    mapped_nodes.remember(&app.policy, &job.candidates);
    job.take_shared(index, placed);
    Ok(())
}

/// Returns the hardware threads of a line; an error when another process of the list has one of them.
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
