//! Services for processes by PMIx: collectives, the data server, events, process sets, logs, queries and orders.

mod assemblies;
mod collectives;
mod data_server;
mod events;
mod groups;
mod logs;
mod orders;
mod queries;
mod sets;

use ferrite_types::JobId;

use self::assemblies::Assemblies;
use self::collectives::Collectives;
use self::data_server::Store;
use self::groups::Groups;
use self::sets::Sets;
use crate::cx::Cx;

/// The state of the services.
#[derive(Debug, Default)]
pub(in crate::head) struct Pmix {
    assemblies: Assemblies,
    collectives: Collectives,
    groups: Groups,
    published: Store,
    sets: Sets,
}

impl Pmix {
    /// Handles the end of a job: forgets its collectives, and what was published for its life.
    pub(in crate::head) fn forget_job(&mut self, job: JobId, cx: &mut Cx) {
        self.collectives.forget(job);
        self.groups.forget(job);
        self.assemblies.forget(job);
        self.purge_job(job, cx);
    }
}
