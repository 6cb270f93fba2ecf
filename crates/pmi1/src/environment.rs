//! The environment of a PMI-1 client.

/// A process and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientPlace {
    /// The number of the client's end of the socket pair, open in the client.
    pub fd: i32,
    /// Its rank in the job.
    pub rank: u32,
    /// Processes in the job.
    pub size: u32,
    /// Its rank among the job's processes on its node.
    pub local_rank: u32,
    /// The job's processes on its node.
    pub local_size: u32,
    /// True for a job that a process has spawned by PMI-1: its key-value space has the contact of the parent.
    pub spawned: bool,
}

/// Returns the variables for one process.
pub fn client_env(place: ClientPlace) -> Vec<(String, String)> {
    let ClientPlace { fd, rank, size, local_rank, local_size, spawned } = place;
    let numbers = [
        ("PMI_FD", i64::from(fd)),
        ("PMI_RANK", rank.into()),
        ("PMI_SIZE", size.into()),
        ("MPI_LOCALRANKID", local_rank.into()),
        ("MPI_LOCALNRANKS", local_size.into()),
        // MPICH 5 uses PMIx when it finds variables of PMIx, and aborts if it was built without PMIx.
        ("MPIR_CVAR_PMI_VERSION", 1),
    ];
    let spawned = spawned.then_some(("PMI_SPAWNED", 1));
    numbers.into_iter().chain(spawned).map(|(name, number)| (name.to_owned(), number.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_learns_its_socket_and_its_rank() {
        let env = client_env(ClientPlace { fd: 7, rank: 3, size: 4, local_rank: 1, local_size: 2, spawned: false });
        assert!(env.iter().all(|(name, _)| name != "PMI_SPAWNED"));
        for pair in [("PMI_FD", "7"), ("PMI_RANK", "3"), ("PMI_SIZE", "4"), ("MPIR_CVAR_PMI_VERSION", "1")] {
            assert!(env.contains(&(pair.0.into(), pair.1.into())), "{pair:?}");
        }
    }
}
