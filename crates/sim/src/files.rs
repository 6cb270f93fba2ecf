//! The files that jobs bring along: read at the head, or where a process has spawned the job, and written at each node.

use bytes::Bytes;
use ferrite_core::{DaemonInput, HeadInput, Input, RequestId, StageEffect};
use ferrite_types::{DaemonRank, JobId, PreloadEntry, PreloadKind};
use ferrite_wire::FilePiece;

use crate::event::Event;
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::world::World;

/// The file of a virtual job.
fn file(name: &str, size: u64) -> PreloadEntry {
    let kind = PreloadKind::File { size, executable: false };
    PreloadEntry { name: name.to_owned(), source: format!("/home/user/{name}"), kind }
}

/// The content of a virtual file: each place differs from its neighbours.
pub(crate) fn content(entry: u32, offset: u64, length: usize) -> Bytes {
    let byte = |at: u64| (at ^ (at >> 8) ^ (at >> 16)).wrapping_add(u64::from(entry)) as u8;
    (offset..offset + length as u64).map(byte).collect()
}

/// Lets some jobs bring files along. The draw is its own, so that all else of a seed stays as it is.
pub(crate) fn bring_along(scenario: &mut Scenario) {
    let mut rng = Rng::new(scenario.seed ^ 0x0f11_e5f0_11ed_f11e);
    for job in scenario.jobs.iter_mut().filter(|job| !job.client.detached) {
        if !rng.permille(200) {
            continue;
        }
        // Bytes cost time: few jobs fill the window, some send more than one piece.
        let largest = match rng.between(0, 99) {
            0 => 6 << 20,
            1..=15 => 600 << 10,
            _ => 20 << 10,
        };
        job.spec.preload = (0..rng.between(1, 3)).map(|at| file(&format!("f{at}"), rng.between(0, largest))).collect();
    }
}

impl World {
    pub(crate) fn read_file(&mut self, rank: DaemonRank, request: RequestId, place: (u32, u64, u32)) {
        let piece = Ok(read(place));
        self.in_turn(rank, Input::Head(HeadInput::FileRead { request, piece }));
    }

    pub(crate) fn read_local_file(&mut self, rank: DaemonRank, job: JobId, place: (u32, u64, u32)) {
        let piece = Ok(read(place));
        self.in_turn(rank, Input::Daemon(DaemonInput::FileRead { job, piece }));
    }

    pub(crate) fn stage(&mut self, rank: DaemonRank, job: JobId, step: &StageEffect) {
        match step {
            StageEffect::Begin(_) => {}
            StageEffect::Write { data, .. } => {
                let bytes = data.len() as u64;
                self.in_turn(rank, Input::Daemon(DaemonInput::Staged { job, bytes }));
            }
            StageEffect::Finish => {
                self.in_turn(rank, Input::Daemon(DaemonInput::StageEnded { job, result: Ok(()) }));
            }
        }
    }

    /// Gives an input of the disk after all earlier ones.
    pub(crate) fn in_turn(&mut self, rank: DaemonRank, input: Input) {
        let due = self.queue.now() + self.small_delay();
        let Some(host) = self.hosts.get_mut(&rank) else { return };
        host.disk_last = host.disk_last.max(due);
        let at = host.disk_last;
        self.queue.at(at, Event::Input(rank, input));
    }
}

fn read((entry, offset, length): (u32, u64, u32)) -> FilePiece {
    FilePiece::new(entry, offset, content(entry, offset, length as usize))
}
