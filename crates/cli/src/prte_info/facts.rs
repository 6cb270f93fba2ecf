//! The installation: versions, paths, build.

use std::path::Path;
use std::process::{Command, Stdio};

use ferrite_driver::LIBPMIX_ENV;
use ferrite_rm::Params;

use super::options::InfoOptions;
use crate::args::{UsageError, help};
use crate::machine::Surroundings;
use crate::setup::parameter_files;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Lines of a block: the name of each fact, and its value.
type Lines = Vec<(String, String)>;

/// Facts of this installation, found when they are asked for.
pub(super) struct Facts<'a, L> {
    around: &'a Surroundings,
    libpmix: L,
}

impl<'a, L: FnOnce() -> String> Facts<'a, L> {
    pub(super) fn of(around: &'a Surroundings, libpmix: L) -> Facts<'a, L> {
        Facts { around, libpmix }
    }

    /// The blocks that were asked for.
    pub(super) fn blocks(self, options: &InfoOptions) -> Result<Vec<(&'static str, Lines)>, UsageError> {
        let around = self.around;
        let mut blocks = Vec::new();
        if options.all || options.is_open() {
            let commit = help::COMMIT.map(|commit| ("Commit".to_owned(), commit.to_owned()));
            let mut lines = lines(&[("Ferrite", VERSION), ("PMIx", &(self.libpmix)())]);
            lines.extend(commit);
            let files = parameter_files(around).into_iter().map(|path| {
                let there = if path.exists() { "" } else { " (not there)" };
                ("Parameter file".to_owned(), format!("{}{there}", path.display()))
            });
            lines.extend(files);
            blocks.push(("version", lines));
        }
        if options.all || options.path.is_some() {
            blocks.push(("path", paths(around, options.path.as_deref().unwrap_or("all"))?));
        }
        let build = match (options.all || options.config, options.arch) {
            (true, _) => build(),
            (false, true) => build().into_iter().filter(|(name, _)| name == ARCHITECTURE).collect(),
            (false, false) => Vec::new(),
        };
        if !build.is_empty() {
            blocks.push(("config", build));
        }
        if options.all || options.hostname {
            blocks.push(("host", lines(&[("Host", &around.hostname)])));
        }
        Ok(blocks)
    }
}

fn lines(pairs: &[(&str, &str)]) -> Lines {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

const ARCHITECTURE: &str = "Architecture";

fn build() -> Lines {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let architecture = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    lines(&[
        (ARCHITECTURE, &architecture),
        ("Build", profile),
        ("Rust", concat!(env!("CARGO_PKG_RUST_VERSION"), " or later")),
        ("PMIx releases", "4.2 to 7.0, opened at run time"),
        ("PMI-1", "yes"),
        ("Launchers", "ssh, rsh, local, slurm, lsf, gridengine, pals, flux"),
        ("Resource managers", "slurm, pbs, lsf, gridengine, pals, flux"),
    ])
}

/// The field's names of directories, below the prefix.
const PATHS: [(&str, &str); 7] = [
    ("prefix", ""),
    ("bindir", "bin"),
    ("libdir", "lib"),
    ("incdir", "include"),
    ("mandir", "share/man"),
    ("pkglibdir", "lib/prte"),
    ("sysconfdir", "etc"),
];

fn paths(around: &Surroundings, which: &str) -> Result<Lines, UsageError> {
    let prefix = around.prefix().unwrap_or(Path::new("/"));
    let chosen = PATHS.iter().filter(|(name, _)| which == "all" || *name == which);
    let found: Lines = chosen
        .map(|(name, below)| {
            let path = if below.is_empty() { prefix.to_path_buf() } else { prefix.join(below) };
            ((*name).to_owned(), path.display().to_string())
        })
        .collect();
    if found.is_empty() {
        let names: Vec<_> = PATHS.iter().map(|(name, _)| *name).collect();
        return Err(UsageError::Conflict {
            what: format!("--path: there is no path {which:?}"),
            next: format!("Give all, or one of {}.", names.join(", ")),
        });
    }
    Ok(found)
}

/// The text of `--show-version`.
pub(super) fn version(asked: &str) -> Result<String, UsageError> {
    let (what, part) = asked.split_once(':').unwrap_or((asked, "full"));
    let mut numbers = VERSION.split(['.', '-']);
    let at = match part {
        "full" => None,
        "major" => Some(0),
        "minor" => Some(1),
        "release" => Some(2),
        _ => Some(usize::MAX),
    };
    let text = match at {
        _ if !matches!(what, "prte" | "ferrite" | "all") => None,
        None => Some(VERSION),
        Some(at) => numbers.nth(at),
    };
    let refused = || UsageError::Conflict {
        what: format!("--show-version: {asked:?} names no version"),
        next: "Give prte, or prte:full, prte:major, prte:minor, prte:release.".to_owned(),
    };
    text.map(|text| format!("{text}\n")).ok_or_else(refused)
}

/// The PMIx server program's word on the library that it finds, with the parameters about both.
pub(super) fn libpmix(around: &Surroundings, params: &Params) -> String {
    let text = |name| params.text(name).ok().flatten();
    let program = text("ferrite_pmixd").map_or_else(|| around.exe.with_file_name("ferrite-pmixd"), Into::into);
    let mut command = Command::new(&program);
    command.arg("--libpmix").stdin(Stdio::null()).envs(text("ferrite_libpmix").map(|file| (LIBPMIX_ENV, file)));
    match command.output() {
        Ok(output) => {
            let said = if output.status.success() { output.stdout } else { output.stderr };
            String::from_utf8_lossy(&said).trim().to_owned()
        }
        Err(error) => format!("unknown: {} cannot be run: {error}", program.display()),
    }
}
