//! `cargo xtask pmix-programs PATH`: the C programs of an unpacked source tree of libpmix or of PRRTE, built against
//! the installed libpmix and run on one virtual node and on two.
//!
//! The programs judge the product and are no part of it: they stay where they are. Each has a line in [`table`] with
//! the end that it is to have. A program of the tree without a line is an error, and so is another end.

mod table;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::args::Args;
use crate::peers;
use crate::programs::{libpmix_major, libpmix_release};
use crate::runner::{self, Outcome, Running, announce, build_product};
use crate::setup::{self, Need};
use crate::testbed::{Bed, Kind};
use crate::workspace::{product, programs_dir, root};
use table::{Program, Run, Tree};

/// A program that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(30);
/// What compilers of all releases are to take: functions without a declaration, and variables without a first value,
/// which are zero then.
const LENIENT: [&str; 3] = ["-w", "-Wno-error=implicit-function-declaration", "-ftrivial-auto-var-init=zero"];
const NODES: usize = 2;
/// The hosts of a job or a DVM, on one node and on two.
const HOSTS: [&str; NODES] = ["n0:8", "n0:4,n1:4"];
/// The page with the tables, and the line below which the tables stand.
const PAGE: &str = "docs/pmix-programs.md";
const MARK: &str = "<!-- made by `cargo xtask pmix-programs PATH --write` -->\n";

/// `cargo xtask pmix-programs PATH [NAME...] [--in SUITE] [--no-build] [--write]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let (is_built, writes, suite) = (!args.flag("--no-build"), args.flag("--write"), args.value("--in")?);
    let path = PathBuf::from(args.operand("PATH, an unpacked source tree of libpmix or PRRTE,")?);
    let mut names = Vec::new();
    while let Some(name) = args.optional()? {
        names.push(name);
    }
    args.finish()?;
    ensure!(!writes || names.is_empty(), "--write needs all programs of the tree, not only {}", names.join(", "));
    let source = Source::at(&path)?;
    if is_built {
        build_product()?;
    }
    if let Some(suite) = suite {
        let path = path.canonicalize()?;
        let mut words = vec![path.to_str().context("the path is no UTF-8")?.to_owned()];
        words.extend(writes.then(|| "--write".to_owned()).into_iter().chain(names));
        return peers::run_in(&suite, "pmix-programs", &words, Some(&path));
    }
    setup::ensure_installed(Need::Nodes)?;
    let release = libpmix_release().context("libpmix-dev is not installed: cargo xtask setup")?;
    let programs: Vec<&Program> = source.tree.programs(libpmix_major().context("libpmix states no release")?);
    let title = format!("{} {} with libpmix {release}", source.tree.name(), source.release);
    announce(&format!("{} programs of {title}", source.programs.len()));
    // Some spawn others, which are there then; what cannot be built is told where it is run.
    programs.iter().for_each(|program| drop(source.build(program)));
    let mut table = Table::new();
    for program in programs.into_iter().filter(|program| source.has(program)) {
        if names.is_empty() || names.iter().any(|name| name == program.name) {
            table.add(&source, program)?;
        }
    }
    if writes {
        let page = root().join(PAGE);
        let text = fs::read_to_string(&page)?;
        fs::write(&page, with_section(&text, &title, &table.rows)?)?;
    }
    ensure!(table.wrong.is_empty(), "these did not end as they should: {}", table.wrong.join(", "));
    Ok(())
}

/// The table that the command makes, and the nodes on which it runs the programs.
struct Table {
    bed: Option<Bed>,
    rows: String,
    wrong: Vec<&'static str>,
}

impl Table {
    fn new() -> Self {
        let rows = "| program | one node | two nodes | remark |\n|---|---|---|---|\n".to_owned();
        Self { bed: None, rows, wrong: Vec::new() }
    }

    /// Runs a program on one node or on two, and says how it ends.
    fn judge(&mut self, source: &Source, program: &Program, nodes: usize, code: i32) -> Result<String> {
        let bed = match self.bed.take() {
            Some(bed) => bed,
            None => Bed::own("pmix-programs", NODES, Kind::Plain)?,
        };
        let verdict = source.judge(program, &bed, nodes, code).unwrap_or_else(|error| format!("fails: {error:#}"));
        // The remains of a failure are no business of the next program, which gets new nodes.
        self.bed = (!is_wrong(&verdict)).then_some(bed);
        Ok(verdict)
    }

    /// Runs a program and adds its row.
    fn add(&mut self, source: &Source, program: &'static Program) -> Result<()> {
        let mut verdicts = [const { String::new() }; NODES];
        for (nodes, (code, verdict)) in program.codes.into_iter().zip(&mut verdicts).enumerate() {
            *verdict = self.judge(source, program, nodes, code)?;
        }
        let remark = match program.run {
            Run::Never(why) => why,
            _ => program.why,
        };
        let [one, two] = &verdicts;
        let row = format!("| `{}/{}` | {one} | {two} | {remark} |", program.directory, program.name);
        println!("{row}");
        writeln!(self.rows, "{row}")?;
        self.wrong.extend(verdicts.iter().any(|verdict| is_wrong(verdict)).then_some(program.name));
        Ok(())
    }
}

/// Puts a section into the page: in the place of the one with this title, else at the end.
fn with_section(page: &str, title: &str, rows: &str) -> Result<String> {
    let (head, tables) = page.split_once(MARK).with_context(|| format!("{PAGE} has no place for the tables"))?;
    let heading = format!("### {title}");
    let section = format!("{heading}\n\n{rows}");
    let mut sections: Vec<String> = Vec::new();
    for line in tables.trim().lines() {
        match sections.last_mut() {
            Some(last) if !line.starts_with("### ") => last.push_str(&format!("{line}\n")),
            _ => sections.push(format!("{line}\n")),
        }
    }
    match sections.iter_mut().find(|known| known.lines().next() == Some(&heading)) {
        Some(known) => *known = section,
        None => sections.push(section),
    }
    let sections: Vec<&str> = sections.iter().map(|section| section.trim_end()).collect();
    Ok(format!("{head}{MARK}\n{}\n", sections.join("\n\n")))
}

/// A source tree.
struct Source {
    path: PathBuf,
    tree: Tree,
    release: String,
    /// Its programs, by directory and name.
    programs: BTreeSet<(&'static str, String)>,
}

impl Source {
    /// # Errors
    /// When the path is no source tree that is known, or has a program that has no line in the table.
    fn at(path: &Path) -> Result<Self> {
        let tree = Tree::ALL.into_iter().find(|tree| path.join(tree.header()).is_file());
        let version = fs::read_to_string(path.join("VERSION")).ok();
        let (Some(tree), Some(version)) = (tree, version) else {
            bail!(
                "{} is no source tree of libpmix or PRRTE: it lacks VERSION, or both of {}. Unpack a release and name \
                 its directory",
                path.display(),
                Tree::ALL.map(Tree::header).join(" and ")
            );
        };
        let mut programs = BTreeSet::new();
        for &directory in tree.directories() {
            let at = path.join(directory);
            for entry in fs::read_dir(&at).with_context(|| format!("{} cannot be read", at.display()))? {
                let file = entry?.path();
                if file.extension().is_some_and(|extension| extension == "c") {
                    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    let is_known = tree.lines().iter().any(|line| line.directory == directory && line.name == name);
                    let at = "xtask/src/pmix_programs/table.rs";
                    ensure!(is_known, "{directory}/{name}.c is not known: give it a line in {at}");
                    programs.insert((directory, name));
                }
            }
        }
        Ok(Self { path: path.to_owned(), tree, release: release_of(&version), programs })
    }

    fn has(&self, program: &Program) -> bool {
        self.programs.contains(&(program.directory, program.name.to_owned()))
    }

    /// Runs a program on one node or on two and says how it ends.
    fn judge(&self, program: &Program, bed: &Bed, nodes: usize, code: i32) -> Result<String> {
        let hosts = HOSTS[nodes];
        let outcome = match program.run {
            Run::Never(_) => return Ok("not applicable".into()),
            Run::Tool(words) => as_tool(bed, hosts, &self.build(program)?, words)?,
            Run::Attached => attached(bed, hosts, &self.build(program)?)?,
            Run::Directing => directing(bed, hosts, &self.build(program)?)?,
            Run::Job(processes, options, words) => {
                let built = self.build(program)?;
                let mut command = command(bed, "prterun")?;
                command.args(["--host", hosts, "--map-by", "node"]).args(options.split_whitespace());
                command.args(["-n", &processes.to_string(), "--wdir"]);
                command.arg(built.parent().unwrap_or(&built)).arg(&built).args(words.split_whitespace());
                runner::run(&mut command, LIMIT)?
            }
        };
        let log = self.output_of(program).with_extension(format!("{}.txt", nodes + 1));
        fs::write(log, format!("{:?}\n{}\n{}\n", outcome.status, outcome.stdout, outcome.stderr))?;
        if outcome.code().is_some() {
            let left = bed.residue(Duration::from_secs(5));
            if !left.is_empty() {
                eprintln!("{}/{} leaves behind\n    {}", program.directory, program.name, left.join("\n    "));
                bail!("something is left behind");
            }
        }
        Ok(verdict(program, &outcome, code))
    }

    /// Returns the path of the built program, which is the same on all nodes. Its last outputs are beside it.
    fn output_of(&self, program: &Program) -> PathBuf {
        let directory = format!("{}-{}-source", self.tree.name(), self.release);
        programs_dir().join(directory).join(program.directory).join(program.name)
    }

    /// Builds a program; returns its path.
    fn build(&self, program: &Program) -> Result<PathBuf> {
        let output = self.output_of(program);
        let (directory, source) = (self.path.join(program.directory), format!("{}.c", program.name));
        fs::create_dir_all(output.parent().unwrap_or(&output))?;
        let asked = Command::new("pkg-config").args(["--cflags", "--libs", "pmix"]).output().context("pkg-config")?;
        let flags = String::from_utf8(asked.stdout)?;
        let mut command = Command::new("cc");
        command.args(LENIENT).arg("-o").arg(&output).arg(directory.join(source));
        // The headers of the installed library come before those of the tree, which may be of another release.
        command.args(flags.split_whitespace()).arg("-I").arg(&directory).arg("-I").arg(self.path.join("examples"));
        command.arg("-I").arg(&self.path).args(["-lpthread", "-lm", "-levent", "-levent_pthreads"]);
        let result = command.output().context("cc")?;
        if !result.status.success() {
            let text = String::from_utf8_lossy(&result.stderr).into_owned();
            let is_error = |line: &&str| line.contains("error:") || line.contains("undefined reference");
            bail!("does not compile: {}", text.lines().find(is_error).or(text.lines().next()).unwrap_or_default());
        }
        if let Some(alias) = program.alias {
            fs::copy(&output, output.with_file_name(alias))?;
        }
        Ok(output)
    }
}

/// Returns the release that a file VERSION states.
fn release_of(version: &str) -> String {
    let value = |key: &str| version.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap_or("");
    format!("{}.{}.{}{}", value("major"), value("minor"), value("release"), value("greek"))
}

fn is_wrong(verdict: &str) -> bool {
    verdict.starts_with("fails") || verdict.starts_with("hangs")
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
    start_dvm(bed, hosts, directory)?;
    let mut tool = bed.command(0, "env")?;
    tool.arg("-C").arg(directory).arg(built).args(words.split_whitespace());
    let outcome = runner::run(&mut tool, LIMIT)?;
    end_dvm(bed)?;
    Ok(outcome)
}

/// Runs a tool that starts `prterun` and directs its job.
fn directing(bed: &Bed, hosts: &str, built: &Path) -> Result<Outcome> {
    let directory = built.parent().unwrap_or(built);
    let mut tool = bed.command(0, "env")?;
    tool.arg("-C").arg(directory).args(["PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1"]).arg(built);
    tool.arg(product("prterun")).args(["--host", hosts, "--map-by", "node", "-n", "2", "./hello", "3"]);
    runner::run(&mut tool, LIMIT)
}

/// Starts a DVM that finds the programs of a directory.
fn start_dvm(bed: &Bed, hosts: &str, directory: &Path) -> Result<()> {
    let mut dvm = command(bed, "prte")?;
    let path = dvm.get_envs().find_map(|(name, value)| value.filter(|_| name == "PATH"));
    let mut path = path.map(ToOwned::to_owned).unwrap_or_default();
    path.push(":");
    path.push(directory);
    let started = runner::run(dvm.env("PATH", path).args(["--daemonize", "--host", hosts]), LIMIT)?;
    ensure!(started.is_success(), "no DVM: {}", started.tail());
    Ok(())
}

fn end_dvm(bed: &Bed) -> Result<()> {
    let ended = runner::run(&mut command(bed, "pterm")?, LIMIT)?;
    ensure!(ended.is_success(), "the DVM does not end: {}", ended.tail());
    Ok(())
}

/// Runs a tool that waits for the end of its DVM beside a job of a DVM. The DVM ends when the tool waits and the job is
/// over.
fn attached(bed: &Bed, hosts: &str, built: &Path) -> Result<Outcome> {
    let directory = built.parent().unwrap_or(built);
    start_dvm(bed, hosts, directory)?;
    // Both say each line at once.
    let by_line = ["stdbuf", "-oL"];
    let mut job = command(bed, "prun")?;
    job.args(["--map-by", "node", "-n", "4"]).args(by_line).arg(directory.join("hello")).arg("3");
    let mut job = Running::start_unread(&mut job)?;
    let mut said = lines(&mut job)?;
    let first = said.next().context("the job says nothing")??;
    let name = first.split_whitespace().nth(2).context("the job does not state its name")?.to_owned();
    let mut tool = bed.command(0, "env")?;
    tool.arg("-C").arg(directory).args(by_line).arg(built).arg(&name);
    let mut tool = Running::start_unread(&mut tool)?;
    let mut shown = String::new();
    let mut told = lines(&mut tool)?;
    while let Some(line) = told.next().transpose()? {
        shown.push_str(&format!("{line}\n"));
        if line.starts_with("Waiting for debugger daemon") {
            break;
        }
    }
    said.for_each(drop);
    let ended = job.finish(LIMIT)?;
    ensure!(ended.is_success(), "the job fails: {}", ended.tail());
    end_dvm(bed)?;
    let outcome = tool.finish(LIMIT)?;
    told.map_while(Result::ok).for_each(|line| shown.push_str(&format!("{line}\n")));
    Ok(Outcome { stdout: shown, ..outcome })
}

fn lines(running: &mut Running) -> Result<std::io::Lines<BufReader<ChildStdout>>> {
    Ok(BufReader::new(running.child().stdout.take().context("no stdout")?).lines())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_no_source_tree_is_refused_by_its_name() {
        let error = Source::at(Path::new("/usr")).err().expect("it is none").to_string();
        assert!(error.contains("/usr is no source tree of libpmix or PRRTE"), "{error}");
    }

    #[test]
    fn a_release_is_read_from_the_file_that_states_it() {
        assert_eq!(release_of("# major, minor\nmajor=4\nminor=2\nrelease=2\ngreek=rc2\n"), "4.2.2rc2");
    }

    #[test]
    fn a_table_takes_the_place_of_the_one_with_its_title_and_leaves_the_others() {
        let page = format!("Words.\n\n{MARK}\n### a with 4\n\n| old |\n\n### a with 5\n\n| five |\n");
        let changed = with_section(&page, "a with 4", "| new |\n").unwrap();
        assert_eq!(changed, format!("Words.\n\n{MARK}\n### a with 4\n\n| new |\n\n### a with 5\n\n| five |\n"));
        let added = with_section(&page, "b with 4", "| b |\n").unwrap();
        assert!(added.ends_with("| five |\n\n### b with 4\n\n| b |\n"), "{added}");
        assert_eq!(with_section(&changed, "a with 4", "| new |\n").unwrap(), changed);
    }

    #[test]
    fn each_program_has_one_line_for_a_release() {
        for tree in Tree::ALL {
            for major in [4, 5, 7] {
                let programs = tree.programs(major);
                let names: BTreeSet<_> = programs.iter().map(|program| (program.directory, program.name)).collect();
                assert_eq!(names.len(), programs.len());
            }
        }
    }
}
