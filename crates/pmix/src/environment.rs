//! Environment variables: those by which a child finds its server, those by which MPI libraries look for one, and those
//! that make a server's start cheap. Pure: returns names and values, and sets none.

use std::path::Path;

/// The server's address and the data of its daemon, for a child's environment. All of it is known without libpmix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontDoor<'a> {
    /// The port on 127.0.0.1 that the driver listens on.
    pub port: u16,
    /// As in [`crate::ServerConfig`].
    pub server_nspace: &'a str,
    /// As in [`crate::ServerConfig`].
    pub server_rank: u32,
    /// As in [`crate::ServerConfig`].
    pub hostname: &'a str,
    /// As in [`crate::ServerConfig`].
    pub tmpdir: &'a Path,
    /// As in [`crate::ServerConfig`].
    pub system_tmpdir: &'a Path,
}

impl FrontDoor<'_> {
    /// Returns the variables that the library would give to that process, with the driver's port instead of its own.
    pub fn child_env(&self, nspace: &str, rank: u32) -> Vec<(String, String)> {
        let uri = format!("{}.{};tcp4://127.0.0.1:{}", self.server_nspace, self.server_rank, self.port);
        let mut env: Vec<_> = URI_NAMES.iter().map(|name| ((*name).to_owned(), uri.clone())).collect();
        let mut set = |name: &str, value: String| env.push((name.to_owned(), value));
        set("PMIX_NAMESPACE", nspace.to_owned());
        set("PMIX_RANK", rank.to_string());
        set("PMIX_SECURITY_MODE", "native".into());
        set("PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC".into());
        // Shared memory is laid out by a server that does not run yet; and it loses keys (README).
        set("PMIX_GDS_MODULE", "hash".into());
        set("PMIX_SERVER_TMPDIR", self.tmpdir.to_string_lossy().into_owned());
        set("PMIX_SYSTEM_TMPDIR", self.system_tmpdir.to_string_lossy().into_owned());
        set("PMIX_HOSTNAME", self.hostname.to_owned());
        env
    }
}

/// Each generation of clients looks for its own name, and the newest for all of them.
const URI_NAMES: [&str; 5] =
    ["PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI2", "PMIX_SERVER_URI21"];

/// The parts of Open MPI 4 that guess a process's launcher from the environment: without Open MPI's own launcher, or
/// inside a job of a manager but in no step of it, they guess that there is none.
const NO_GUESSING: &str = "^orte,alps,flux,jsm,slurm";

/// The parts of libpmix that log by themselves, switched off. The client of libpmix 7 turns to them when its server
/// refuses a text, and answers success where the text is lost (spec L100).
const NO_OWN_LOGS: &str = "^syslog,smtp";

/// Returns further variables for children: without the first two Open MPI 4 takes itself for a lone process under any
/// launcher. Open MPI 5 needs `HOME`; `home` is used when the child has none.
pub fn compat_env(has_home: bool, home: &Path) -> Vec<(String, String)> {
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut env =
        vec![own("OMPI_MCA_schizo", NO_GUESSING), own("OMPI_MCA_ess", "pmi"), own("PMIX_MCA_plog", NO_OWN_LOGS)];
    if !has_home {
        env.push(("HOME".to_owned(), home.to_string_lossy().into_owned()));
    }
    env
}

/// Variables for the process of the library: the first four take 14 of 18 ms out of the start of libpmix 4.2.2. A
/// variable that the user has set stays.
pub const PROCESS_ENV: [(&str, &str); 8] = [
    // No part of a PMIx server uses PCI and block devices.
    ("HWLOC_COMPONENTS", "-pci,-linuxio"),
    // Debian's plug-ins of hwloc pull in X11 and OpenCL.
    ("HWLOC_PLUGINS_PATH", "/nonexistent"),
    ("PMIX_MCA_gds", "hash"),
    ("PMIX_MCA_psec", "native"),
    // Events that wait for a process to register for them; each process has its own copy.
    ("PMIX_MCA_pmix_max_events", "2048"),
    // Pieces of output that no tool reads, of up to 128 KiB each.
    ("PMIX_MCA_pmix_max_iof_cache", "64"),
    // With PMIX_LOG_ONCE libpmix 4.2.2 logs to the system's log itself, without an error where there is none: the text
    // would be lost, and the next channel not tried (spec L100).
    ("PMIX_MCA_plog", NO_OWN_LOGS),
    // libpmix 4.2.2 accepts a monitor, and its alert comes to nobody. Without its sensors it asks its host, which
    // watches files and refuses heartbeats (spec L102).
    ("PMIX_MCA_psensor", "^heartbeat,file"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_gets_the_port_of_the_driver_under_every_name() {
        let dir = Path::new("/tmp/x");
        let door = FrontDoor {
            port: 4711,
            server_nspace: "prte-n0-5@0",
            server_rank: 2,
            hostname: "n0",
            tmpdir: dir,
            system_tmpdir: dir,
        };
        let env = door.child_env("prte-n0-5@1", 3);
        let uris = env.iter().filter(|(_, value)| value == "prte-n0-5@0.2;tcp4://127.0.0.1:4711");
        assert_eq!(uris.count(), 5);
        assert!(env.contains(&("PMIX_RANK".into(), "3".into())));
        assert!(env.contains(&("PMIX_GDS_MODULE".into(), "hash".into())));
    }

    #[test]
    fn home_is_given_only_to_those_without() {
        assert!(compat_env(false, Path::new("/root")).contains(&("HOME".into(), "/root".into())));
        assert!(!compat_env(true, Path::new("/root")).iter().any(|(name, _)| name == "HOME"));
    }

    /// Only the server's answer counts (spec L100).
    #[test]
    fn neither_the_server_nor_a_child_logs_by_its_library() {
        let off = ("PMIX_MCA_plog", "^syslog,smtp");
        assert!(PROCESS_ENV.contains(&off));
        assert!(compat_env(true, Path::new("/root")).iter().any(|(name, value)| (&**name, &**value) == off));
    }
}
