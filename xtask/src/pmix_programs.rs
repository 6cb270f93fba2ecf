//! `cargo xtask pmix-programs PATH`: the C programs of an unpacked source tree of libpmix, built against the installed
//! library and run under `prterun` on one virtual node and on two.
//!
//! The programs judge the product and are no part of it: they stay where they are. Each has a line in [`PROGRAMS`] with
//! the end that it is to have. A program of the tree without a line is an error, and so is another end.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::args::Args;
use crate::programs::libpmix_release;
use crate::runner::{self, Outcome, announce, build_product};
use crate::setup::{self, Need};
use crate::testbed::{Bed, Kind};
use crate::workspace::{product, programs_dir, root};

/// A program that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(30);
const NODES: usize = 2;
/// The directories of the tree that have programs for users of a server.
const DIRECTORIES: [&str; 2] = ["examples", "test/simple"];
/// The page with the table, and the line below which the table stands.
const PAGE: &str = "docs/pmix-programs.md";
const MARK: &str = "<!-- made by `cargo xtask pmix-programs PATH --write` -->\n";

/// How a program is run.
enum Run {
    /// As a job of four processes with these arguments.
    Job(&'static str),
    /// As a tool beside a DVM, with these arguments.
    Tool(&'static str),
    /// Not at all: the reason.
    Never(&'static str),
}

/// A program with the exit code that it is to have, and the reason for a code other than 0.
struct Program {
    directory: &'static str,
    name: &'static str,
    run: Run,
    /// On one node, and on two.
    codes: [i32; 2],
    why: &'static str,
}

impl Program {
    const fn on_two(self, code: i32, why: &'static str) -> Program {
        let Program { directory, name, run, codes: [one, _], .. } = self;
        Program { directory, name, run, codes: [one, code], why }
    }
}

const fn program(directory: &'static str, name: &'static str, run: Run, code: i32, why: &'static str) -> Program {
    Program { directory, name, run, codes: [code, code], why }
}

const fn job(directory: &'static str, name: &'static str) -> Program {
    program(directory, name, Run::Job(""), 0, "")
}

const fn never(directory: &'static str, name: &'static str, why: &'static str) -> Program {
    program(directory, name, Run::Never(why), 0, "")
}

const E: &str = "examples";
const S: &str = "test/simple";

const PROGRAMS: &[Program] = &[
    job(E, "abi_no_init"),
    job(E, "abi_with_init"),
    never(E, "alloc", "its rank 0 asks for no nodes, and its rank 1 waits without a limit for the end of that"),
    job(E, "asyncgroup"),
    program(E, "bad_exit", Run::Job(""), 1, "a process exits with 1"),
    job(E, "client"),
    job(E, "client2"),
    program(E, "debugger", Run::Tool(""), 0, ""),
    never(E, "debuggerd", "the debugger starts it"),
    job(E, "dmodex"),
    job(E, "dynamic"),
    program(E, "fault", Run::Job(""), 1, "rank 0 exits with 1"),
    job(E, "group"),
    job(E, "group_dmodex"),
    job(E, "group_lcl_cid"),
    job(E, "hello"),
    program(E, "jctrl", Run::Job(""), 0, "its checkpoint is refused: NOT-SUPPORTED"),
    never(E, "launcher", "it starts a launcher of its own as an intermediate"),
    program(E, "log", Run::Job(""), 0, ""),
    program(E, "nodeinfo", Run::Job(""), 0, "it shows that coordinates of the fabric are not known"),
    never(E, "pmi1client", "it needs pmi.h, which libpmix-dev does not have"),
    job(E, "pub"),
    job(E, "pubi"),
    never(E, "server", "it is a server itself"),
    program(E, "tool", Run::Tool(""), 0, ""),
    job(S, "asyncio"),
    never(
        S,
        "doubleget",
        "it crashes when it is faster than its partner; libpmix 4.2.2 does not wait for keys on one node",
    ),
    job(S, "get_put_example"),
    never(S, "gwclient", "it reads what the server `gwtest` has put"),
    never(S, "gwtest", "it is a server itself"),
    job(S, "hybrid"),
    program(S, "quietclient", Run::Job(""), 139, "it frees a value twice"),
    job(S, "simpclient").on_two(1, "it takes the data of another node for an error"),
    program(S, "simpcoord", Run::Job(""), 0, "it shows that coordinates of the fabric are not known"),
    job(S, "simpcycle"),
    program(S, "simpdie", Run::Job(""), 1, "rank 0 exits with 1"),
    program(S, "simpdmodex", Run::Job("--sleep 1"), 0, "").on_two(1, "across nodes it asks for data of no rank"),
    never(S, "simpdyn", "its rank 0 connects to a child that does not connect, and the others wait for rank 0"),
    job(S, "simpfabric"),
    program(S, "simpft", Run::Job(""), 227, "rank 0 calls PMIx_Abort with -29"),
    job(S, "simpio"),
    program(S, "simpjctrl", Run::Job(""), 209, "its checkpoint is refused: NOT-SUPPORTED"),
    job(S, "simppub"),
    never(S, "simpsched", "it is a server itself"),
    never(S, "simptest", "it is a server itself"),
    program(S, "simptimeout", Run::Job(""), 0, "its message about `PMIx_Get` stands under the wrong condition"),
    program(S, "simptool", Run::Tool(""), 0, "it shows that its two made-up keys have no answer"),
    job(S, "simpvni"),
    never(S, "stability", "it is a server itself"),
    program(S, "test_pmix", Run::Job(""), 134, "it asserts that the rank of a process is an `int`"),
];

/// `cargo xtask pmix-programs PATH`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let (is_built, writes) = (!args.flag("--no-build"), args.flag("--write"));
    let tree = PathBuf::from(args.operand("PATH, an unpacked source tree of libpmix,")?);
    args.finish()?;
    let sources = sources(&tree)?;
    setup::ensure_installed(Need::Nodes)?;
    if is_built {
        build_product()?;
    }
    let release = libpmix_release().context("libpmix-dev is not installed: cargo xtask setup")?;
    announce(&format!("{} programs of {} with libpmix {release}", sources.len(), tree.display()));
    // Some spawn others, which are there then; what cannot be built is told where it is run.
    PROGRAMS.iter().for_each(|program| drop(build(&tree, program)));
    let new_bed = || Bed::own("pmix-programs", NODES, Kind::Plain);
    let mut bed = new_bed()?;
    let mut rows = String::from("| program | one node | two nodes | remark |\n|---|---|---|---|\n");
    let mut wrong = Vec::new();
    for program in PROGRAMS.iter().filter(|program| sources.contains(&(program.directory, program.name.to_owned()))) {
        let mut verdicts = [const { String::new() }; 2];
        let mut is_wrong = false;
        for ((hosts, code), verdict) in ["n0:8", "n0:4,n1:4"].into_iter().zip(program.codes).zip(&mut verdicts) {
            *verdict = judge(&tree, program, &bed, hosts, code).unwrap_or_else(|error| format!("fails: {error:#}"));
            if verdict.starts_with("fails") || verdict.starts_with("hangs") {
                is_wrong = true;
                // Its remains are no business of the next program.
                bed.down()?;
                bed = new_bed()?;
            }
        }
        let remark = match program.run {
            Run::Never(why) => why,
            _ => program.why,
        };
        let [one, two] = &verdicts;
        let row = format!("| `{}/{}` | {one} | {two} | {remark} |", program.directory, program.name);
        println!("{row}");
        writeln!(rows, "{row}")?;
        wrong.extend(is_wrong.then_some(program.name));
    }
    if writes {
        let page = root().join(PAGE);
        let text = fs::read_to_string(&page)?;
        let (head, _) = text.split_once(MARK).with_context(|| format!("{PAGE} has no place for the table"))?;
        fs::write(&page, format!("{head}{MARK}\nlibpmix {release}.\n\n{rows}"))?;
    }
    ensure!(wrong.is_empty(), "these did not end as they should: {}", wrong.join(", "));
    Ok(())
}

/// Returns the programs of a tree, by directory and name.
///
/// # Errors
/// When the path is no source tree of libpmix, or has a program that this module does not know.
fn sources(tree: &Path) -> Result<BTreeSet<(&'static str, String)>> {
    let is_tree = fs::read_to_string(tree.join("VERSION")).is_ok_and(|text| text.contains("pmix"))
        && tree.join("include/pmix.h").is_file();
    ensure!(
        is_tree,
        "{} is no source tree of libpmix: it lacks VERSION or include/pmix.h. Unpack a release and name its directory",
        tree.display()
    );
    let mut found = BTreeSet::new();
    for directory in DIRECTORIES {
        let at = tree.join(directory);
        for entry in fs::read_dir(&at).with_context(|| format!("{} cannot be read", at.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "c") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let is_known = PROGRAMS.iter().any(|program| program.directory == directory && program.name == name);
                ensure!(is_known, "{directory}/{name}.c is not known: give it a line in xtask/src/pmix_programs.rs");
                found.insert((directory, name));
            }
        }
    }
    Ok(found)
}

/// Runs a program on these hosts and says how it ends.
fn judge(tree: &Path, program: &Program, bed: &Bed, hosts: &str, code: i32) -> Result<String> {
    let outcome = match program.run {
        Run::Never(_) => return Ok("not applicable".into()),
        Run::Tool(words) => as_tool(bed, hosts, &build(tree, program)?, words)?,
        Run::Job(words) => {
            let built = build(tree, program)?;
            let mut command = command(bed, "prterun")?;
            command.args(["--host", hosts, "--map-by", "node", "-n", "4", "--wdir"]);
            command.arg(built.parent().unwrap_or(tree)).arg(&built).args(words.split_whitespace());
            runner::run(&mut command, LIMIT)?
        }
    };
    if outcome.code().is_some() {
        let left = bed.residue(Duration::from_secs(5));
        if !left.is_empty() {
            eprintln!("{}/{} leaves behind\n    {}", program.directory, program.name, left.join("\n    "));
            bail!("something is left behind");
        }
    }
    Ok(verdict(program, &outcome, code))
}

fn verdict(program: &Program, outcome: &Outcome, wanted: i32) -> String {
    match outcome.code() {
        None => {
            eprintln!("{}/{}:\n    {}", program.directory, program.name, outcome.tail());
            format!("hangs for {} s", LIMIT.as_secs())
        }
        Some(0) if wanted == 0 => "passes".into(),
        Some(code) if code == wanted => format!("passes (code {code})"),
        Some(code) => {
            eprintln!("{}/{}:\n    {}", program.directory, program.name, outcome.tail());
            format!("fails: code {code}")
        }
    }
}

fn command(bed: &Bed, tool: &str) -> Result<Command> {
    let mut command = bed.command(0, product(tool))?;
    command.env("PRTE_ALLOW_RUN_AS_ROOT", "1").env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1").stdin(Stdio::null());
    Ok(command)
}

/// Runs a tool beside a DVM on these hosts, which finds the programs that the tool spawns.
fn as_tool(bed: &Bed, hosts: &str, built: &Path, words: &str) -> Result<Outcome> {
    let directory = built.parent().unwrap_or(built);
    let mut dvm = command(bed, "prte")?;
    let path = dvm.get_envs().find_map(|(name, value)| value.filter(|_| name == "PATH"));
    let mut path = path.map(ToOwned::to_owned).unwrap_or_default();
    path.push(":");
    path.push(directory);
    let started = runner::run(dvm.env("PATH", path).args(["--daemonize", "--host", hosts]), LIMIT)?;
    ensure!(started.is_success(), "no DVM: {}", started.tail());
    let mut tool = bed.command(0, "env")?;
    tool.arg("-C").arg(directory).arg(built).args(words.split_whitespace());
    let outcome = runner::run(&mut tool, LIMIT)?;
    let ended = runner::run(&mut command(bed, "pterm")?, LIMIT)?;
    ensure!(ended.is_success(), "the DVM does not end: {}", ended.tail());
    Ok(outcome)
}

/// Builds a program; returns its path, which is the same on all nodes.
fn build(tree: &Path, program: &Program) -> Result<PathBuf> {
    let directory = programs_dir().join("libpmix-source").join(program.directory);
    fs::create_dir_all(&directory)?;
    let output = directory.join(program.name);
    let asked = Command::new("pkg-config").args(["--cflags", "--libs", "pmix"]).output().context("pkg-config")?;
    let flags = String::from_utf8(asked.stdout)?;
    let mut command = Command::new("cc");
    command.arg("-w").arg("-o").arg(&output).arg(tree.join(program.directory).join(format!("{}.c", program.name)));
    command.arg("-I").arg(tree.join(program.directory)).arg("-I").arg(tree);
    command.args(flags.split_whitespace()).args(["-lpthread", "-lm", "-levent", "-levent_pthreads"]);
    let result = command.output().context("cc")?;
    if !result.status.success() {
        bail!("does not compile: {}", String::from_utf8_lossy(&result.stderr).lines().next().unwrap_or_default());
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_no_source_tree_is_refused_by_its_name() {
        let error = sources(Path::new("/usr")).unwrap_err().to_string();
        assert!(error.contains("/usr is no source tree of libpmix"), "{error}");
    }

    #[test]
    fn each_program_has_one_line() {
        let names: BTreeSet<_> = PROGRAMS.iter().map(|program| (program.directory, program.name)).collect();
        assert_eq!(names.len(), PROGRAMS.len());
    }
}
