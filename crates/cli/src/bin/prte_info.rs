//! `prte_info`: what this installation is, and all parameters.

use ferrite_cli::limits::{Files, run};

fn main() {
    std::process::exit(run("prte_info", Files::Client, ferrite_cli::prte_info::main, std::env::args_os().skip(1)));
}
