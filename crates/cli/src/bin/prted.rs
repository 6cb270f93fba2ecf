//! `prted`: the daemon of one node.

use ferrite_cli::limits::{Files, run};

fn main() {
    std::process::exit(run("prted", Files::Dvm, ferrite_cli::prted::main, std::env::args_os().skip(1)));
}
