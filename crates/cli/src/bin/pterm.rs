//! `pterm`: ends a DVM.

use ferrite_cli::limits::{Files, run};

fn main() {
    std::process::exit(run("pterm", Files::Client, ferrite_cli::pterm::main, std::env::args_os().skip(1)));
}
