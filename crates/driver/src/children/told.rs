//! Messages about starts of processes (`odls_base_verbose`).

use ferrite_core::SpawnRequest;
use ferrite_types::ProcId;
use ferrite_wire::StartError;

use crate::notice;
use crate::params;
use crate::spawn::Started;

/// The kinds of messages that are printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    starts: bool,
    details: bool,
}

impl Told {
    pub(super) fn of(parameters: &[(String, String)]) -> Told {
        let tells = |level| params::tells(parameters, "odls_base_verbose", level);
        Told { starts: tells(1), details: tells(5) }
    }

    /// Prints a line for a start that has succeeded or failed.
    pub(super) fn start(self, proc: ProcId, request: &SpawnRequest, started: Result<&Started, &StartError>) {
        if self.starts {
            notice::write_stderr(&line(
                proc,
                request,
                started.map(|started| started.pid.as_raw_nonzero().get()),
                self.details,
            ));
        }
    }
}

fn line(proc: ProcId, request: &SpawnRequest, started: Result<i32, &StartError>, details: bool) -> String {
    let mut line = match started {
        Ok(pid) => format!("odls: process {proc} runs as pid {pid}"),
        Err(error) => format!("odls: process {proc} cannot be started: {}", error.detail),
    };
    if details {
        let cpus = request.cpus.as_ref().map_or_else(|| "unbound".to_owned(), |cpus| format!("on {cpus}"));
        line += &format!(": {:?} in {}, {cpus}", request.argv, request.wdir);
        line += &format!(", {} changes of the environment", request.env.len());
    }
    line + "\n"
}
