//! PALS, the launcher of HPE Cray machines, inside a job of PBS. Known: its processes have `PALS_APID` (the
//! application) and `PALS_NODEID`, `PALS_RANKID`; the nodes of the job are those of `PBS_NODEFILE`. It is not known
//! whether a shell that PALS did not start has any of these; if not, the job counts as one of PBS, with the same nodes.
//! This was never run with a real PALS.

use super::error::DiscoveryError;
use super::reader::Reader;
use super::{ManagedAllocation, pbs};

pub(super) const SIGNS: [&str; 3] = ["PALS_APID", "PALS_NODEID", "PALS_RANKID"];

pub(super) fn discover(reader: &Reader<'_>) -> Result<ManagedAllocation, DiscoveryError> {
    pbs::discover(reader, &["PBS_JOBID", "PALS_APID"])
}
