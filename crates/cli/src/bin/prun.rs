//! `prun`: runs a job in a DVM that is running.

use ferrite_cli::limits::{Files, run};

fn main() {
    std::process::exit(run("prun", Files::Client, ferrite_cli::prun::main, std::env::args_os().skip(1)));
}
