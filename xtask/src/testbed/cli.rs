//! `cargo xtask testbed ...`

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::{Bed, Kind, LOGIN, node_name};
use crate::args::Args;

const USAGE: &str = "\
cargo xtask testbed VERB [--name NAME]

  up N [--slurm]     bring up the nodes n0 .. n(N-1) and leave them standing
  exec NODE -- CMD   run a command on a node
  run N [--slurm] -- CMD
                     bring up N nodes, run a command on n0, take them down; exit as the command does
  crash NODE         kill a node with all that runs on it
  start NODE         bring a crashed node back, empty
  link NODE up|down  mend or cut the network of a node
  status             show the nodes and what runs on them
  down               remove the nodes

Each node has its own network, host name, mounts (empty /tmp, /run, /dev/shm), IPC and processes, and an ssh
server; `ssh n1` works from every node without a question. The checkout and its build output are at the same
path everywhere. With --slurm there is a real Slurm over the nodes and one node more, `login`, whose controller it
is and on which commands of `run` are run instead of n0: `run 4 --slurm -- salloc -N 3 prterun hostname`. --name keeps several beds apart (default: 'default'). Needs root; exit code 77 where the right
to make nodes is missing.
";

/// Runs one verb; the value is xtask's exit code.
pub(crate) fn main(mut args: Args) -> Result<u8> {
    let name = args.value("--name")?;
    let verb = args.optional()?.unwrap_or_else(|| "help".into());
    if verb == "run" {
        return run(args, name);
    }
    let name = name.unwrap_or_else(|| "default".into());
    match verb.as_str() {
        "up" => up(args, &name)?,
        "exec" => return exec(args, &name),
        "crash" => on_node(args, &name, |bed, index| bed.crash(index))?,
        "start" => on_node(args, &name, Bed::start)?,
        "link" => link(args, &name)?,
        "status" => status(args, &name)?,
        "down" => down(args, &name)?,
        "help" | "-h" => print!("{USAGE}"),
        _ => bail!("unknown verb '{verb}'\n\n{USAGE}"),
    }
    Ok(0)
}

fn up(mut args: Args, name: &str) -> Result<()> {
    let kind = kind(&mut args);
    let count = args.parsed_operand("number of nodes")?;
    args.finish()?;
    let start = Instant::now();
    let bed = Bed::up(name, count, kind)?;
    println!("testbed: {} up in {} ms", span(&bed), start.elapsed().as_millis());
    bed.detach()
}

fn kind(args: &mut Args) -> Kind {
    if args.flag("--slurm") { Kind::Slurm } else { Kind::Plain }
}

fn span(bed: &Bed) -> String {
    let nodes = match bed.len() {
        1 => "n0".into(),
        count => format!("n0 .. {}", node_name(count - 1)),
    };
    match bed.kind() {
        Kind::Plain => nodes,
        Kind::Slurm => format!("{nodes} and login (Slurm)"),
    }
}

fn exec(mut args: Args, name: &str) -> Result<u8> {
    let index = node_operand(&mut args)?;
    let words = args.command("command")?;
    let error = Bed::find(name)?.command(index, &words[0])?.args(&words[1..]).exec();
    Err(error).context("cannot start nsenter")
}

fn run(mut args: Args, name: Option<String>) -> Result<u8> {
    let kind = kind(&mut args);
    let count = args.parsed_operand("number of nodes")?;
    let words = args.command("command")?;
    let bed = match name {
        Some(name) => Bed::up(&name, count, kind)?,
        None => Bed::own("run", count, kind)?,
    };
    // The terminal sends Ctrl-C to the command as well: it decides, and we stay to tidy up.
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let place = if kind == Kind::Slurm { LOGIN } else { 0 };
    let status = bed.command(place, &words[0])?.args(&words[1..]).status().context("cannot start nsenter")?;
    bed.down()?;
    Ok(exit_code(status))
}

/// The exit code by which a shell would report `status`.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|s| 128 + s));
    code.and_then(|c| u8::try_from(c).ok()).unwrap_or(1)
}

fn on_node(mut args: Args, name: &str, act: impl Fn(&mut Bed, usize) -> Result<()>) -> Result<()> {
    let index = node_operand(&mut args)?;
    args.finish()?;
    act(&mut Bed::find(name)?, index)
}

fn link(mut args: Args, name: &str) -> Result<()> {
    let index = node_operand(&mut args)?;
    let up = match args.operand("up or down")?.as_str() {
        "up" => true,
        "down" => false,
        other => bail!("'{other}': a link goes up or down"),
    };
    args.finish()?;
    Bed::find(name)?.link(index, up)
}

fn status(args: Args, name: &str) -> Result<()> {
    args.finish()?;
    let bed = Bed::find(name)?;
    println!("testbed: {} nodes, shared directory {}", bed.len(), bed.shared().display());
    for index in bed.indices() {
        let state = if bed.is_node_up(index) { "up" } else { "down" };
        println!("{} {state}", node_name(index));
        for process in bed.processes(index) {
            println!("   {process}");
        }
    }
    Ok(())
}

fn down(args: Args, name: &str) -> Result<()> {
    args.finish()?;
    let start = Instant::now();
    Bed::find(name)?.down()?;
    println!("testbed: down in {} ms", start.elapsed().as_millis());
    Ok(())
}

/// `n3` as 3, `login` as what it is.
fn node_operand(args: &mut Args) -> Result<usize> {
    let word = args.operand("node")?;
    if word == node_name(LOGIN) {
        return Ok(LOGIN);
    }
    let index = word.strip_prefix('n').and_then(|digits| digits.parse().ok());
    index.with_context(|| format!("'{word}' is no node: they are called n0, n1, ..."))
}
