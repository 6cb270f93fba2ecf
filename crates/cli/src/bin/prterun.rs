//! `prterun`: a private runtime and one job.

use ferrite_cli::limits::{Files, run};

fn main() {
    std::process::exit(run("prterun", Files::Dvm, ferrite_cli::prterun::main, std::env::args_os().skip(1)));
}
