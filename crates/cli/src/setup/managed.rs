//! Finds out whether this process runs in a job of a resource manager, and which nodes that has granted: from the
//! environment, and from the file or the command that the manager has for it.

use std::process::{Command, Stdio};

use ferrite_rm::managers::{FileText, Said, Selection, Wanted};
use ferrite_rm::{DiscoveryError, ManagedAllocation, Manager, Params};

use super::SetupError;
use super::files::read;
use crate::machine::Surroundings;

/// Returns the granted nodes. `None` = there is no manager, or it does not tell its nodes and the line names some.
pub(super) fn granted(
    params: &Params,
    line_names_hosts: bool,
    around: &Surroundings,
) -> Result<Option<ManagedAllocation>, SetupError> {
    let Some(manager) = Manager::of(&around.environment, &Selection::of(params)?) else { return Ok(None) };
    let wanted = manager.file(&around.environment)?;
    let file = wanted.map(|wanted| read_file(wanted, around)).transpose()?;
    let output = manager.command().and_then(output_of);
    let entire = params.flag("ras_slurm_use_entire_allocation")?;
    let said = Said { variables: &around.environment, file: file.as_ref(), output: output.as_deref(), entire };
    match manager.discover(said) {
        Ok(granted) => Ok(Some(granted)),
        Err(DiscoveryError::Unsaid { .. }) if line_names_hosts => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn read_file(wanted: Wanted, around: &Surroundings) -> Result<FileText, SetupError> {
    let text = read("list of nodes of the resource manager", &around.cwd.join(&wanted.path))?;
    Ok(FileText { wanted, text })
}

/// Returns the output of a manager's command; its errors go to our own standard error. `None` when it fails.
fn output_of(command: &[&str]) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Returns the origin of the nodes, as one line.
pub(super) fn origin(granted: &ManagedAllocation) -> String {
    let ManagedAllocation { manager, job, said_by, .. } = granted;
    format!("the nodes are those of {manager} job {job} (from {said_by})")
}
