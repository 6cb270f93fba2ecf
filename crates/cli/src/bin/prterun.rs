//! `prterun`: runs one job in a private DVM.

use ferrite_cli::limits::{Files, run};

fn main() {
    std::process::exit(run("prterun", Files::Dvm, ferrite_cli::prterun::main, std::env::args_os().skip(1)));
}
