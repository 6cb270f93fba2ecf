//! Job data of a launch order beside the places of its processes.

mod common;

use common::{Cluster, job};
use ferrite_core::PmixEffect;
use ferrite_types::*;
use ferrite_wire::control::Submission;

/// The offsets that daemon 1 has heard of, in the order of the jobs.
fn offsets(dvm: &Cluster) -> Vec<(u32, u32)> {
    let registered = dvm.pmix.iter().filter(|(at, _)| *at == DaemonRank(1));
    let told = registered.filter_map(|(_, effect)| match effect {
        PmixEffect::Register(registration) => Some((registration.order.job.0, registration.order.rank_offset)),
        _ => None,
    });
    told.collect()
}

#[test]
fn with_its_jobs_offset_a_rank_is_unique_in_the_dvm() {
    let mut dvm = Cluster::persistent(2);
    for (client, procs) in [(1, 2), (2, 1), (3, 1)] {
        let mut spec = job("a.out", procs);
        spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named("n1"))];
        dvm.submit(client, Submission::of(spec));
        dvm.exit_all();
    }
    assert_eq!(offsets(&dvm), [(1, 0), (2, 2), (3, 3)], "jobs that are over count as well");
}
