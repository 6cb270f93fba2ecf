//! `prte`: starts a DVM that outlives its jobs.

use ferrite_cli::limits::{Files, run};

fn main() {
    std::process::exit(run("prte", Files::Dvm, ferrite_cli::prte::main, std::env::args_os().skip(1)));
}
