//! Facts about this process and its machine: environment, directories, names. They are read once, at the start.

use std::io;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use crate::args::Environment;

/// Facts that `setup` needs besides files; tests make their own.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The environment; variables that are not text are left out.
    pub environment: Environment,
    /// The current directory, by the name that the user's shell has for it.
    pub cwd: PathBuf,
    /// Our own executable.
    pub exe: PathBuf,
    /// True when we run as root.
    pub root: bool,
    /// The host name of this machine.
    pub hostname: String,
}

impl Surroundings {
    /// Reads the surroundings of this process.
    ///
    /// # Errors
    /// The current directory is gone, or our executable cannot be found.
    pub fn of_process(environment: Environment) -> io::Result<Surroundings> {
        Ok(Surroundings {
            cwd: logical_cwd(std::env::current_dir()?, environment.get("PWD")),
            exe: std::env::current_exe()?,
            root: rustix::process::geteuid().is_root(),
            hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            environment,
        })
    }

    /// Returns the installation of our executable: the directory above `bin`.
    #[must_use]
    pub fn prefix(&self) -> Option<&Path> {
        self.exe.parent()?.parent()
    }
}

/// Returns this process's name for the DVM that it submits jobs to, in the form that the field's tools use.
pub(crate) fn launcher(tool: &str) -> String {
    let host = rustix::system::uname();
    format!("{tool}.{}.{}", host.nodename().to_string_lossy(), std::process::id())
}

/// Returns `$PWD` when it means the current directory. With an automounter the physical name may not exist on other
/// nodes.
fn logical_cwd(physical: PathBuf, pwd: Option<&String>) -> PathBuf {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| std::fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
    let same = |p: &PathBuf| p.is_absolute() && id(p).is_some() && id(p) == id(&physical);
    pwd.map(PathBuf::from).filter(same).unwrap_or(physical)
}

/// The message for a machine without `/proc`: the cause, and the next step.
pub(crate) const NO_PROC: [&str; 2] = [
    "there is no /proc here, and without it a process can find out nothing about itself and those that it starts",
    "Mount it (mount -t proc proc /proc), or give the container a /proc of its own.",
];

/// True when the kernel shows processes.
#[must_use]
pub(crate) fn has_proc() -> bool {
    Path::new("/proc/self/stat").exists()
}

/// Returns the environment of this process, without names and values that are not UTF-8: they cannot be forwarded.
#[must_use]
pub fn environment() -> Environment {
    std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?))).collect()
}

/// Returns the addresses of this machine's interfaces, for users who name hosts by address.
#[must_use]
pub fn addresses() -> Vec<String> {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let mut found = ipv4_of(&read("/proc/self/net/fib_trie"));
    found.extend(ipv6_of(&read("/proc/self/net/if_inet6")));
    found
}

/// Reads our addresses from the kernel's routing table: a leaf line, then a line that marks it as our own.
fn ipv4_of(fib_trie: &str) -> Vec<String> {
    let mut leaf = None;
    let mut found = Vec::new();
    for line in fib_trie.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = Some(address);
        } else if line == "/32 host LOCAL"
            && let Some(address) = leaf
            && !found.iter().any(|f| f == address)
        {
            found.push(address.to_owned());
        }
    }
    found
}

/// Reads our addresses from lines such as `fe80...01 02 40 20 80 eth0`.
fn ipv6_of(if_inet6: &str) -> Vec<String> {
    let address = |line: &str| {
        let digits = line.split_whitespace().next().filter(|d| d.len() == 32)?;
        let bits = u128::from_str_radix(digits, 16).ok()?;
        Some(Ipv6Addr::from(bits).to_string())
    };
    if_inet6.lines().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_found_in_the_kernels_tables() {
        let trie = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     |-- 10.1.0.7\n        /32 host LOCAL\n\
            \x20    |-- 10.1.0.255\n        /32 link BROADCAST\n     |-- 10.1.0.7\n        /32 host LOCAL\n";
        assert_eq!(ipv4_of(trie), ["10.1.0.7"]);
        let six = "00000000000000000000000000000001 01 80 10 80       lo\nfe800000000000000042acfffe110002 02 40 20 80     eth0\nbad\n";
        assert_eq!(ipv6_of(six), ["::1", "fe80::42:acff:fe11:2"]);
    }

    #[test]
    fn the_shells_name_of_the_directory_is_kept_when_it_is_the_same_directory() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        let link = dir.path().join("link");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let shown = link.to_string_lossy().into_owned();
        assert_eq!(logical_cwd(real.clone(), Some(&shown)), link);
        assert_eq!(logical_cwd(real.clone(), Some(&"/".to_owned())), real);
        assert_eq!(logical_cwd(real.clone(), None), real);
    }
}
