//! The table of a job's processes for its requester (`--rtos output-proctable`): rank, node, process id and program.
//! The job's states call it once, when all processes have started.

use std::fmt::Write;

use bytes::Bytes;
use ferrite_types::{JobId, PictureFormat, Rank, TableTo, printable};
use ferrite_wire::Stream;

use super::record::Job;
use crate::cx::Cx;
use crate::head::Head;
use crate::{Effect, Sink};

impl Head {
    /// Gives the requester the table of processes, if it wants one.
    pub(super) fn show_processes(&self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let (Some(to), Some(request)) = (job.spec.display.processes, job.request) else { return };
        let text = table(job);
        let write = |stream| Effect::WriteOutput {
            sink: Sink { to: request, stream },
            from: Rank(0),
            data: Bytes::from(text.clone()),
            account: None,
        };
        cx.effect(match to {
            TableTo::Stdout => write(Stream::Stdout),
            TableTo::Stderr => write(Stream::Stderr),
            TableTo::File => Effect::Picture { to: request, format: PictureFormat::Processes, text },
        });
    }
}

/// One line for each process, in the order of the ranks, below a line of titles.
fn table(job: &Job) -> String {
    let line = |(rank, placement): (usize, &ferrite_types::Placement)| {
        let pid = job.proc(Rank(rank as u32)).and_then(|proc| proc.pid);
        let program = job.spec.apps.get(usize::from(placement.app)).and_then(|app| app.argv.first());
        [
            rank.to_string(),
            job.map().nodes[placement.node as usize].name.clone(),
            pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
            program.map(|program| printable(program).to_string()).unwrap_or_default(),
        ]
    };
    let titles = ["rank", "node", "pid", "program"].map(str::to_owned);
    let lines: Vec<[String; 4]> = [titles].into_iter().chain(job.map().procs.iter().enumerate().map(line)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let (ranks, nodes, pids) = (width(0), width(1), width(2));
    let mut text = String::new();
    for [rank, node, pid, program] in &lines {
        let _ = writeln!(text, "{rank:>ranks$}  {node:nodes$}  {pid:>pids$}  {program}");
    }
    text
}
