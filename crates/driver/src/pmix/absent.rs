//! Processes that have failed before their init, while their job goes on. The library counts on each local process that
//! the job was registered with, so the fences of the others would wait for it for ever. When one of the others calls, a
//! connection in the name of the absent process is opened and closed: after that the library counts it as gone.

use std::io;
use std::time::Duration;

use ferrite_pmix::{FirstMessage, Proc, Upcall};
use ferrite_types::{JobId, ProcId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::spawn_local;
use tokio::time::timeout;

use super::library::Library;
use super::{Shared, calls};

/// Time for the library to answer a connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// The library's answer: its status and the index of the process, four bytes each, in two messages. A connection that
/// is closed between them never counts as one of that process.
const ANSWER: usize = 8;

impl Shared {
    /// Notes a local process that has failed before its init (spec L83).
    pub(super) fn note_absent(&self, proc: ProcId) {
        let has_called = self.jobs.borrow_mut().get_mut(&proc.job).is_some_and(|job| {
            job.absent.entry(proc.rank).or_default();
            job.has_called
        });
        if has_called {
            self.stand_in_for_all(proc.job);
        }
    }

    /// Shows the library the absent processes of a job that it does not know of yet, now that one of its processes
    /// calls.
    pub(super) fn stand_in_for_all(&self, id: JobId) {
        // The next process that calls makes up for it where the library does not run yet.
        let Some(library) = self.running() else { return };
        let mut jobs = self.jobs.borrow_mut();
        let absent = jobs.get_mut(&id).into_iter().flat_map(|job| job.absent.iter_mut());
        for (rank, is_shown) in absent {
            if !std::mem::replace(is_shown, true) {
                stand_in(library.clone(), self.name(ProcId { job: id, rank: *rank }));
            }
        }
    }

    /// Answers the library that an absent process may connect. The machine does not hear of it.
    pub(super) fn meet_absent(&self, upcall: Upcall) -> Option<Upcall> {
        let Upcall::ClientConnected { proc: name, reply } = upcall else { return Some(upcall) };
        let proc = calls::find(&name, &self.names.borrow());
        let is_absent =
            |proc: ProcId| self.jobs.borrow().get(&proc.job).is_some_and(|job| job.absent.contains_key(&proc.rank));
        if proc.is_some_and(is_absent) {
            reply.complete(Ok(()));
            return None;
        }
        Some(Upcall::ClientConnected { proc: name, reply })
    }
}

fn stand_in(library: Library, name: Proc) {
    spawn_local(async move {
        if library.ready(Some(&name.nspace)).await.is_err() {
            // The end of the library is an event of its own and fails the job.
            return;
        }
        if let Err(error) = come_and_go(&library, &name).await {
            tracing::warn!(?name, %error, "libpmix is not told that a process failed before its init");
        }
    });
}

/// Connects to the library as this process, and closes the connection after the library's whole answer.
async fn come_and_go(library: &Library, name: &Proc) -> io::Result<()> {
    let (mut ours, theirs) = UnixStream::pair()?;
    let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    ours.write_all(&FirstMessage::of_client(name, owner)).await?;
    library.admit(Some(&name.nspace), &theirs, false).await?;
    drop(theirs);
    timeout(PATIENCE, ours.read_exact(&mut [0; ANSWER])).await??;
    Ok(())
}
