//! `cargo xtask dist --order`: the functions that commands need come first in the program.
//!
//! The kernel maps a program in blocks of 16 pages. The functions that a short command calls lie all over the 12 MB of
//! `ferrite`. Each costs a page fault for the block around it, and the removal of its pages at the end. Side by side
//! they need few blocks. callgrind says which functions commands call; `packaging/order.ld` lists them for the linker.
//!
//! The list has patterns of sections: a function has one section, named as its symbol is. The parts of a symbol that
//! change with the compiler, the release or the flags are left open, so that the list serves all processors, and grows
//! old only as functions are renamed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::io::Errno;
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};

use super::build::Symbols;
use super::release::Release;
use super::{build, link_commands, native};
use crate::runner::{announce, run};
use crate::setup::{self, Need};
use crate::workspace::root;

/// The section of the functions that come first.
const SECTION: &str = ".text.start";

/// The beginning of the line of the script that says how long the section was (kilobytes).
const LEN: &str = " * Length (kB): ";

/// The share of its length below which the section is old (percent).
const OLD: u64 = 75;

/// A command takes 50 times as long under callgrind.
const LIMIT: Duration = Duration::from_secs(60);

/// The commands of one shot.
const SHOTS: [&[&str]; 2] = [
    &["prterun", "-n", "1", "/usr/bin/true"],
    &["prterun", "-n", "8", "--map-by", ":OVERSUBSCRIBE", "/usr/bin/hostname"],
];

/// The clients of a DVM.
const CLIENTS: [&[&str]; 4] = [
    &["prun", "-n", "1", "/usr/bin/true"],
    &["prun", "-n", "2", "/usr/bin/hostname"],
    &["pdvm", "status"],
    &["pdvm", "jobs"],
];

/// A DVM with daemons on three emulated nodes; the command that starts a daemon follows.
const NODES: [&str; 9] =
    ["prte", "--daemonize", "--host", "n0:4,n1:4,n2:4", "--prtemca", "plm", "local", "--prtemca", "prte_launch_agent"];

/// A job on them.
const JOB: [&str; 6] = ["prun", "-n", "3", "--map-by", "node", "/usr/bin/true"];

/// The linker's script.
pub(super) fn script() -> PathBuf {
    root().join("packaging/order.ld")
}

/// Writes the script anew.
pub(super) fn write() -> Result<()> {
    setup::ensure_installed_for_dist()?;
    setup::ensure_installed(Need::Counts)?;
    let program = build::ferrite(&Release::of_checkout(native()?)?, Symbols::Kept)?;
    announce("the functions that commands call");
    set_child_subreaper(Some(getpid()))?;
    let place = tempfile::tempdir()?;
    let bed = Bed { bin: place.path().join("bin"), traces: place.path().join("traces"), tmp: place.path().join("tmp") };
    bed.prepare(&program)?;
    bed.trace()?;
    let traces = bed.read()?;
    ensure!(traces.len() >= SHOTS.len() + CLIENTS.len(), "callgrind has left {} traces only", traces.len());
    let patterns = patterns(&traces);
    // The length is known when the program is linked by the new list.
    fs::write(script(), text(&patterns, 0))?;
    let program = build::ferrite(&Release::of_checkout(native()?)?, Symbols::Stripped)?;
    let len = len(&program)?;
    fs::write(script(), text(&patterns, len))?;
    println!("{} patterns, {len} kB of functions: {}", patterns.len(), script().display());
    Ok(())
}

/// Says so when many functions of the list are no longer in the program.
pub(super) fn tell_age(program: &Path) -> Result<()> {
    let script = fs::read_to_string(script()).context("packaging/order.ld")?;
    let stored = stored_len(&script).context("packaging/order.ld does not say its length")?;
    let len = len(program)?;
    println!("{len} kB of functions that commands need come first ({stored} kB when the list was made)");
    if len * 100 < stored * OLD {
        println!("packaging/order.ld is old, and commands start slower than they could: cargo xtask dist --order");
    }
    Ok(())
}

fn stored_len(script: &str) -> Option<u64> {
    script.lines().find_map(|line| line.strip_prefix(LEN))?.parse().ok()
}

/// The directories of a run with traces.
struct Bed {
    bin: PathBuf,
    traces: PathBuf,
    tmp: PathBuf,
}

impl Bed {
    fn prepare(&self, program: &Path) -> Result<()> {
        for dir in [&self.bin, &self.traces, &self.tmp] {
            fs::create_dir(dir)?;
        }
        fs::copy(program, self.bin.join("ferrite")).with_context(|| format!("cannot copy {}", program.display()))?;
        link_commands(&self.bin)
    }

    fn trace(&self) -> Result<()> {
        for words in SHOTS {
            self.traced(words)?;
        }
        self.traced(&["prte", "--daemonize", "--host", "localhost:4"])?;
        let clients = CLIENTS.iter().try_for_each(|words| self.traced(words)).and_then(|()| self.batch());
        clients.and(self.traced(&["pterm"]))?;
        // valgrind does not know the call by which a head waits for its launchers; the daemons are traced alone.
        let agent = format!("{} {}", self.callgrind().join(" "), self.bin.join("prted").display());
        self.untraced(&[&NODES[..], &[&agent]].concat())?;
        let jobs = self.untraced(&JOB).and_then(|()| self.untraced(&JOB));
        jobs.and(self.untraced(&["pterm"]))?;
        wait_for_orphans()
    }

    fn batch(&self) -> Result<()> {
        let list = self.tmp.join("list");
        fs::write(&list, "-n 1 /usr/bin/true\n".repeat(8))?;
        self.traced(&["prun", "--batch", &list.display().to_string()])
    }

    fn callgrind(&self) -> [String; 8] {
        [
            "valgrind".to_owned(),
            "-q".to_owned(),
            "--vgdb=no".to_owned(),
            "--tool=callgrind".to_owned(),
            "--demangle=no".to_owned(),
            "--trace-children=yes".to_owned(),
            "--trace-children-skip=/usr/bin/*".to_owned(),
            format!("--callgrind-out-file={}/%p", self.traces.display()),
        ]
    }

    fn traced(&self, words: &[&str]) -> Result<()> {
        let [valgrind, options @ ..] = self.callgrind();
        self.run(Command::new(valgrind).args(options), words)
    }

    fn untraced(&self, words: &[&str]) -> Result<()> {
        self.run(&mut Command::new("/usr/bin/env"), words)
    }

    fn run(&self, command: &mut Command, words: &[&str]) -> Result<()> {
        command.arg(self.bin.join(words[0])).args(&words[1..]);
        command.env("TMPDIR", &self.tmp).envs(crate::soak::AS_ROOT).current_dir("/");
        let outcome = run(command, LIMIT)?;
        ensure!(outcome.is_success(), "{words:?} fails: {}", outcome.tail());
        Ok(())
    }

    /// Returns the functions that each process has called.
    fn read(&self) -> Result<Vec<BTreeSet<String>>> {
        let mut files = fs::read_dir(&self.traces)?.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
        files.sort();
        files.iter().map(|file| Ok(functions(&fs::read_to_string(file)?))).collect()
    }
}

/// Waits for the daemons, which have lost their parents: callgrind writes a trace when its process ends. They end with
/// their DVM; whoever has started this command can interrupt it.
fn wait_for_orphans() -> Result<()> {
    loop {
        match wait(WaitOptions::empty()) {
            Err(Errno::CHILD) => return Ok(()),
            Err(Errno::INTR) | Ok(_) => {}
            Err(error) => return Err(error).context("waiting for the daemons"),
        }
    }
}

/// Reads the functions in a file of callgrind, which names each once, `fn=(12) main`: where it is, or is called.
fn functions(trace: &str) -> BTreeSet<String> {
    let named = trace.lines().filter_map(|line| {
        let (_, name) = line.strip_prefix("fn=(").or_else(|| line.strip_prefix("cfn=("))?.split_once(") ")?;
        // A function that calls itself has a depth.
        Some(name.split('\'').next().unwrap_or(name))
    });
    // Symbols of Rust only: those of libc are taken whole, and others have no section of their own.
    named.filter(|name| name.starts_with("_ZN") || name.starts_with("_R")).map(str::to_owned).collect()
}

/// Returns the patterns, those first that most processes need.
fn patterns(traces: &[BTreeSet<String>]) -> Vec<String> {
    let mut users: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (process, functions) in traces.iter().enumerate() {
        for function in functions {
            users.entry(pattern(function)).or_default().insert(process);
        }
    }
    let mut patterns: Vec<(String, BTreeSet<usize>)> = users.into_iter().collect();
    patterns.sort_by(|(_, left), (_, right)| right.len().cmp(&left.len()).then_with(|| left.cmp(right)));
    patterns.into_iter().map(|(pattern, _)| pattern).collect()
}

/// Leaves open what changes in a symbol: `17h0123456789abcdefE` at the end of an old one; in a new one the hash of a
/// crate, `Cs2Nb3gJ4iU0I_5alloc`, and what LLVM adds behind a dot.
fn pattern(symbol: &str) -> String {
    if let Some((path, _)) = symbol.rsplit_once("17h").filter(|_| symbol.starts_with("_ZN")) {
        return format!("{path}17h*");
    }
    let (mut rest, end) = symbol.split_once('.').map_or((symbol, ""), |(name, _)| (name, "*"));
    let mut open = String::new();
    while let Some((before, after)) = rest.split_once("Cs") {
        open += before;
        open += "Cs";
        let hash = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
        let is_hash = hash >= 6 && after[hash..].starts_with('_');
        rest = if is_hash { &after[hash..] } else { after };
        open += if is_hash { "*" } else { "" };
    }
    open + rest + end
}

fn text(patterns: &[String], len: u64) -> String {
    let mut text = format!(
        "/* The functions that commands need, which come first in the program. Made by `cargo xtask dist --order`, which\n \
         * says what it is for (xtask/src/dist/order.rs).\n{LEN}{len}\n */\nSECTIONS {{\n  {SECTION} : {{\n    \
         *libc.a:(.text .text.*)\n"
    );
    for pattern in patterns {
        // Functions that are called seldom are in `.text.unlikely`.
        let _ = writeln!(text, "    *(.text.*{pattern})");
    }
    text + "  }\n} INSERT BEFORE .text;\n"
}

/// The length of the section in a program (kilobytes).
fn len(program: &Path) -> Result<u64> {
    let outcome = run(Command::new("readelf").args(["--sections", "--wide"]).arg(program), LIMIT)?;
    ensure!(outcome.is_success(), "readelf: {}", outcome.tail());
    Ok(section_len(&outcome.stdout).with_context(|| format!("{} has no {SECTION}", program.display()))? / 1_000)
}

/// Reads the length in readelf's line, `[ 5] .text.start PROGBITS 0000000000328b90 127b90 511873 00 AX ...`.
fn section_len(table: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.split_once(&format!(" {SECTION} ")))?.1;
    u64::from_str_radix(line.split_whitespace().nth(3)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_left_open() {
        let cases = [
            ("_ZN12ferrite_core4head4Head6handle17h0123456789abcdefE", "_ZN12ferrite_core4head4Head6handle17h*"),
            ("_ZN4core3fmt5write17h0123456789abcdefE.llvm.123", "_ZN4core3fmt5write17h*"),
            ("_RNvCsfLfy6EI15iL_7___rustc14___rust_dealloc", "_RNvCs*_7___rustc14___rust_dealloc"),
            ("_RNvNtCs7BliBxkEZsN_4core3fmt5write", "_RNvNtCs*_4core3fmt5write"),
            ("_RNvNtCs7BliBxkEZsN_4core3fmt5write.2396", "_RNvNtCs*_4core3fmt5write*"),
            ("_RNvNtC4core4docsCs_1", "_RNvNtC4core4docsCs_1"),
        ];
        for (symbol, expected) in cases {
            assert_eq!(pattern(symbol), expected, "{symbol}");
        }
    }

    #[test]
    fn the_functions_that_most_processes_need_come_first() {
        let trace = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let traces = [trace(&["_ZN1a17h0E", "_ZN1c17h0E"]), trace(&["_ZN1b17h0E", "_ZN1c17h1E"])];
        assert_eq!(patterns(&traces), ["_ZN1c17h*", "_ZN1a17h*", "_ZN1b17h*"]);
    }

    #[test]
    fn a_trace_names_functions_where_they_are_and_where_they_are_called() {
        let trace = "fl=(1) ???\nfn=(1) _ZN1a17h0E\n16 3\ncfn=(2) _RNv1b'2\ncalls=1 0\nfn=(2)\nfn=(3) main\n";
        assert_eq!(functions(trace), ["_RNv1b", "_ZN1a17h0E"].map(str::to_owned).into());
    }

    #[test]
    fn the_length_is_read_back() {
        let table = "  [ 5] .text.start       PROGBITS        0000000000328b90 127b90 0f4240 00  AX  0   0 16\n";
        assert_eq!(section_len(table), Some(1_000_000));
        assert_eq!(section_len("  [ 6] .text PROGBITS 0 0 1 00\n"), None);
        assert_eq!(stored_len(&text(&[], 5_200)), Some(5_200));
    }

    #[test]
    fn the_list_of_the_packages_says_its_length() {
        let script = fs::read_to_string(script()).expect("packaging/order.ld is there");
        assert!(stored_len(&script).is_some_and(|len| len > 0), "cargo xtask dist --order writes it");
    }
}
