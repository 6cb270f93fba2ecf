//! `cargo xtask`: set-up, tests, virtual nodes, demo and benchmarks of the project.
//!
//! Needs nothing but Rust to build. Each command is a module of its own; this file only chooses.

mod args;
mod bench;
mod book;
mod cast;
mod checkout;
mod demo;
mod dist;
mod documented;
mod fuzz;
mod listed;
mod man;
mod peers;
mod pictures;
mod pmix_programs;
mod programs;
mod purity;
mod runner;
mod scenarios;
mod screen;
mod sequence;
mod setup;
mod sim;
mod soak;
mod spec;
mod supply;
mod svg;
mod test;
mod testbed;
mod tracked;
mod unsafety;
mod verify;
mod vm;
mod width;
mod wings;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use args::Args;

const USAGE: &str = "\
cargo xtask COMMAND

  demo        run one real MPI job on four virtual nodes, from nothing (--record: makes the picture of README)
  test        all tests (--quick: less of what takes long)
  verify      what CI runs: formatting, purity, specification, lints, supply, documentation, fuzz targets, tests
  fix         formatting and those lints that can be mended by a machine
  spec        docs/spec: each rule is cited by its code and its tests, and each citation names a rule
  tidy        the lists of ARCHITECTURE and CONTRIBUTING, the width of comments and Markdown, what git keeps
  fuzz        the parsers with made-up input, 20 s each ([TARGET...] --seconds N --keep: new inputs that reach further)
  supply      licences, sources, bans and known faults of what we depend on (update DIR: from a copy of the RustSec database)
  scenarios   real programs under prterun on virtual nodes ([FILTER...] --list --quick --no-build --repeat N; --in SUITE:
              in a root of another Debian)
  sim         the simulator: --seed S, --seeds N, replay FILE, mutants, scale (without words: says how)
  soak        100,000 jobs through one DVM, of which nothing is left in it (--jobs N --no-build);
              or N changes of the size of one MPI job (--resizes N --mpich)
  bench       launch, dvm: times beside the peers; init: where the start of an MPI program goes; elastic: of changes of size; resize: of changes of an MPI
              job's size; fill: of a stream of elastic jobs; slurm: in jobs of it; map: of placement; repair: of the tree (--runs N --write); counts: instructions and system calls of commands (--write | --check);
              tasks: small tasks per second beside other tools (--tasks N --runs N --write);
              plot: pictures, ratios and JSON from the tables of docs/benchmarks.md (--check)
  pmix-programs  the programs of a source tree of libpmix or PRRTE as a referee (PATH [NAME...] --no-build; --write: into
              docs; --in SUITE: in a root of another Debian)
  dist        archive, .deb and .rpm in target/dist (--processor x86_64|aarch64 --no-build); --check: installs them in fresh
              roots of Debian and Ubuntu, runs jobs, removes them; --twice: builds again elsewhere, compares the bytes;
              --order: lists anew which functions come first in the program
  book        the book of docs/book: checks links, lays it with the reference in target/book-src, builds it with mdBook
  pictures    the pictures of the book that a DVM draws: pdvm top, and the traces of a job and of a batch
  documented  the commands that README and docs/book show, as they stand there (--no-build)
  vm          limits of memory in a machine of its own (qemu), with control groups of version 2
  testbed     virtual nodes on this machine: up, exec, run, crash, start, link, status, down
  setup       install what is missing (--check: only say what; --peers: roots of other Debian releases)
";

fn main() -> ExitCode {
    be_quiet_without_a_reader();
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_else(|| "help".into());
    let words: Vec<String> = words.collect();
    match dispatch(&command, words) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("xtask {command}: {error:#}");
            match error.downcast_ref::<testbed::NotPermitted>() {
                Some(_) => ExitCode::from(testbed::EXIT_NOT_PERMITTED),
                None => ExitCode::FAILURE,
            }
        }
    }
}

/// Says nothing when the reader of the standard output has gone (`xtask ... | head`). The command ends all the same,
/// and removes what it has made.
fn be_quiet_without_a_reader() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let is_unread = |text: &str| text.starts_with("failed printing to stdout") && text.contains("Broken pipe");
        if !panic.payload_as_str().is_some_and(is_unread) {
            report(panic);
        }
    }));
}

fn dispatch(command: &str, words: Vec<String>) -> Result<u8> {
    // These commands pass on the command line of another program.
    match command {
        "sim" => return sim::main(&words),
        "_agent" => return bench::agent_main(words).map(|()| 0),
        "_bench_preload" => return bench::preload::inner(&words).map(|()| 0),
        "_bench_init" => return bench::init::inner(&words).map(|()| 0),
        "_bench_fence" => return bench::fence::inner(&words).map(|()| 0),
        "_bench_elastic" => return bench::elastic::inner(&words).map(|()| 0),
        "_bench_resize" => return bench::resize::inner(&words).map(|()| 0),
        "_bench_slurm" => return bench::slurm::inner(&words).map(|()| 0),
        "_bench_dvm" => return bench::dvm::inner(&words).map(|()| 0),
        "_bench" => return bench::launch::inner(&words).map(|()| 0),
        _ => {}
    }
    let args = Args::new(words);
    match command {
        "testbed" => return testbed::cli::main(args),
        "setup" => setup::main(args)?,
        "scenarios" => scenarios::main(args)?,
        "soak" => soak::main(args)?,
        "demo" => demo::main(args)?,
        "book" => book::main(args)?,
        "pictures" => pictures::main(args)?,
        "dist" => dist::main(args)?,
        "documented" => documented::main(args)?,
        "test" => test::main(args)?,
        "verify" => verify::main(args)?,
        "vm" => vm::main(args)?,
        "fix" => verify::fix(args)?,
        "purity" => purity::check()?,
        "spec" => spec::check()?,
        "tidy" => verify::tidy()?,
        "supply" => supply::main(args)?,
        "fuzz" => fuzz::main(args)?,
        "bench" => bench::main(args)?,
        "pmix-programs" => pmix_programs::main(args)?,
        "_agentd" => bench::agentd_main(args)?,
        "_head" => testbed::head_main(args)?,
        "_node" => testbed::node_main(args)?,
        "_sweep" => {
            testbed::sweep_own_namespace()?;
        }
        "help" | "-h" | "--help" => print!("{USAGE}"),
        _ => bail!("unknown command\n\n{USAGE}"),
    }
    Ok(0)
}
