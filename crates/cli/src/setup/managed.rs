//! Whether this is a job of a resource manager, and what that granted: the environment, and the one file that it may name.

use ferrite_rm::managers::{FileText, Said, Selection, Wanted};
use ferrite_rm::{DiscoveryError, ManagedAllocation, Manager, Params};

use super::SetupError;
use super::files::read;
use crate::machine::Surroundings;

/// `None` = no manager, or one that does not tell its nodes while the line names some.
pub(super) fn granted(
    params: &Params,
    line_names_hosts: bool,
    around: &Surroundings,
) -> Result<Option<ManagedAllocation>, SetupError> {
    let Some(manager) = Manager::of(&around.environment, &Selection::of(params)?) else { return Ok(None) };
    let wanted = manager.file(&around.environment)?;
    let file = wanted.map(|wanted| read_file(wanted, around)).transpose()?;
    let entire = params.flag("ras_slurm_use_entire_allocation")?;
    match manager.discover(Said { variables: &around.environment, file: file.as_ref(), entire }) {
        Ok(granted) => Ok(Some(granted)),
        Err(DiscoveryError::Unsaid { .. }) if line_names_hosts => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn read_file(wanted: Wanted, around: &Surroundings) -> Result<FileText, SetupError> {
    let text = read("list of nodes of the resource manager", &around.cwd.join(&wanted.path))?;
    Ok(FileText { wanted, text })
}

/// Where the nodes come from, as one line.
pub(super) fn origin(granted: &ManagedAllocation) -> String {
    let ManagedAllocation { manager, job, said_by, .. } = granted;
    format!("the nodes are those of {manager} job {job} (from {said_by})")
}
