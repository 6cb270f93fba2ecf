//! Roots of other Debian releases, with other releases of libpmix and of the MPIs.
//!
//! `cargo xtask setup --peers` makes them by debootstrap below `target/peers`; `cargo xtask scenarios --in SUITE` and
//! `cargo xtask pmix-programs --in SUITE PATH` run in one. The product is the build of this machine; C programs are
//! compiled in the root, against its own libraries, and what it lacks is installed there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::setup;
use crate::workspace::{bin_dir, root, target};

/// A Debian release and its libpmix.
struct Suite {
    name: &'static str,
    libpmix: &'static str,
}

const SUITES: [Suite; 2] =
    [Suite { name: "trixie", libpmix: "5.0.7" }, Suite { name: "sid", libpmix: "the newest, 7.0.0~rc1 in 2026" }];

const MIRROR: &str = "http://deb.debian.org/debian";

/// The packages that debootstrap brings; `cargo xtask setup` in the root installs the rest.
const FIRST: &str = "ca-certificates,procps,python3-minimal";

/// Lets apt take the index of a mirror whose copy of the unstable release is older than a week.
const OLD_INDEX: (&str, &str) = ("etc/apt/apt.conf.d/50ferrite", "Acquire::Check-Valid-Until \"false\";\n");

/// Mounts what a running system needs below `$ROOT`, and runs the command there. The mounts end with the command.
const ENTER: &str = r#"
mount --bind "$ROOT" "$ROOT" || exit 99
for dir in tmp run; do mount -t tmpfs -o mode=1777 tmpfs "$ROOT/$dir" || exit 99; done
for dir in proc sys dev "$CHECKOUT" ${MORE:+"$MORE"}; do
    mkdir -p "$ROOT/$dir" && mount --rbind "/$dir" "$ROOT/$dir" || exit 99
done
exec chroot "$ROOT" "$@"
"#;

/// Makes the roots that are missing.
pub(crate) fn make() -> Result<()> {
    setup::install_debootstrap()?;
    for suite in &SUITES {
        if stamp(suite.name).exists() {
            continue;
        }
        let root = root_of(suite.name);
        println!("setup: Debian {} with libpmix {} in {}", suite.name, suite.libpmix, root.display());
        if root.exists() {
            fs::remove_dir_all(&root).context("removing a root that was not finished")?;
        }
        fs::create_dir_all(&root)?;
        let mut command = Command::new("debootstrap");
        command.args(["--variant=minbase", &format!("--include={FIRST}"), suite.name]).arg(&root).arg(MIRROR);
        let log = fs::File::create(target().join("peers").join(format!("{}.log", suite.name)))?;
        let status = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).status();
        let status = status.context("cannot start debootstrap")?;
        ensure!(status.success(), "debootstrap failed: target/peers/{}.log says why", suite.name);
        fs::write(stamp(suite.name), "")?;
    }
    Ok(())
}

/// Runs `cargo xtask COMMAND --no-build WORDS` in the root of a suite, and returns when it has ended. The directory
/// `more` is at its own path there.
pub(crate) fn run_in(suite: &str, command: &str, words: &[String], more: Option<&Path>) -> Result<()> {
    let Some(suite) = SUITES.iter().find(|known| known.name == suite) else {
        let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        bail!("there is no root of {suite:?}; give one of {}", known.join(", "));
    };
    ensure!(stamp(suite.name).exists(), "the root of {} is not made: cargo xtask setup --peers", suite.name);
    let checkout = root();
    let (old_index, text) = OLD_INDEX;
    fs::write(root_of(suite.name).join(old_index), text)?;
    // A tree below the checkout is there already.
    let more = more.filter(|path| !path.starts_with(&checkout));
    let mut process = Command::new("unshare");
    process.args(["--mount", "sh", "-c", ENTER, "sh"]).arg(env::current_exe()?).args([command, "--no-build"]);
    process.args(words).env("ROOT", root_of(suite.name)).env("CHECKOUT", checkout.strip_prefix("/")?);
    process.env("MORE", more.unwrap_or(Path::new("/")).strip_prefix("/")?);
    process.env("CARGO_MANIFEST_DIR", checkout.join("xtask"));
    process.env("CARGO_TARGET_DIR", target().join("peers").join(format!("{}.build", suite.name)));
    process.env("FERRITE_BIN_DIR", bin_dir()).env_remove("FERRITE_LIBPMIX");
    process.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    let status = process.status().context("cannot start unshare")?;
    ensure!(status.success(), "`{command}` did not pass with Debian {}", suite.name);
    Ok(())
}

fn root_of(suite: &str) -> PathBuf {
    target().join("peers").join(suite)
}

/// A file that is there once a root is complete.
fn stamp(suite: &str) -> PathBuf {
    target().join("peers").join(Path::new(suite).with_extension("stamp"))
}
