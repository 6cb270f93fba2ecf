//! Reads rankfiles and sequences. A sequence without a file consists of the hosts of its application.

use ferrite_rm::hostfile;
use ferrite_rm::{Hostfile, places};
use ferrite_types::{AppContext, MapBy, MapRequest, SeqLine};

use super::SetupError;
use super::files::read;
use crate::args::{AppPlace, Run, UsageError};
use crate::machine::Surroundings;

/// Fills in the lines, and the number of processes where only they give it. Returns the hosts that files name.
pub(super) fn read_places(run: &mut Run, around: &Surroundings) -> Result<Vec<Hostfile>, SetupError> {
    let files = std::mem::take(&mut run.map_files);
    let mut hosts = Vec::new();
    hosts.extend(read_lines(&mut run.spec.map, files.job.as_deref(), around)?);
    for (app, file) in run.spec.apps.iter_mut().zip(&files.apps) {
        if let Some(own) = &mut app.map {
            hosts.extend(read_lines(own, file.as_deref(), around)?);
        }
    }
    go_through_hosts(run, around)?;
    count(&mut run.spec.apps, &run.spec.map);
    Ok(hosts)
}

fn read_lines(
    request: &mut MapRequest,
    file: Option<&str>,
    around: &Surroundings,
) -> Result<Option<Hostfile>, SetupError> {
    let Some(file) = file else { return Ok(None) };
    let path = around.cwd.join(file);
    Ok(match &mut request.by {
        Some(MapBy::Seq(lines)) => {
            *lines = places::parse_sequence(file, &read("sequence", &path)?)?;
            places::as_hostfile(&format!("sequence {file}"), lines.iter().map(|line| &line.host))
        }
        Some(MapBy::RankFile(lines)) => {
            *lines = places::parse_ranks(file, &read("rankfile", &path)?)?;
            places::as_hostfile(&format!("rankfile {file}"), lines.iter().map(|line| &line.host))
        }
        _ => None,
    })
}

/// Fills in a sequence without a file: one process for each time that a host is named, whatever its slots.
fn go_through_hosts(run: &mut Run, around: &Surroundings) -> Result<(), SetupError> {
    let alone = run.spec.apps.len() == 1;
    for (app, place) in run.spec.apps.iter_mut().zip(&run.hosts) {
        let request = app.map.as_ref().unwrap_or(&run.spec.map);
        let open = matches!(&request.by, Some(MapBy::Seq(lines)) if lines.is_empty());
        let lines = if open { namings(place, around)? } else { Vec::new() };
        if lines.is_empty() {
            continue;
        }
        let by = Some(MapBy::Seq(lines));
        match &mut app.map {
            Some(own) => own.by = by,
            None if alone => run.spec.map.by = by,
            None => app.map = Some(MapRequest { by, ..run.spec.map.clone() }),
        }
    }
    Ok(())
}

/// Returns the hosts of an application in the user's order. `--host` comes first, because it filters a hostfile.
fn namings(place: &AppPlace, around: &Surroundings) -> Result<Vec<SeqLine>, SetupError> {
    let items = match &place.hostfile {
        Some(file) if place.namings.is_empty() => {
            hostfile::parse_namings(file, &read("hostfile", &around.cwd.join(file))?)?
        }
        _ => place.namings.clone(),
    };
    places::sequence_through(&items).ok_or_else(|| {
        SetupError::Usage(UsageError::Conflict {
            what: "--map-by seq goes from host to host, and +e does not say which hosts those are".to_owned(),
            next: "Name the hosts, or map by node: --host +e --map-by node".to_owned(),
        })
    })
}

/// Sets one process for each line, where no number is given. Several applications share the lines of one file.
fn count(apps: &mut [AppContext], job: &MapRequest) {
    let alone = apps.len() == 1;
    for app in apps {
        let request = app.map.as_ref().or(Some(job).filter(|_| alone));
        let lines = match request.and_then(|request| request.by.as_ref()) {
            Some(MapBy::Seq(lines)) => lines.len(),
            Some(MapBy::RankFile(lines)) => lines.len(),
            _ => 0,
        };
        app.np = app.np.or(u32::try_from(lines).ok().filter(|n| *n > 0));
    }
}
