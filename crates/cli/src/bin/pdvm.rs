//! `pdvm`: shows the state of a DVM and gives it orders.

use ferrite_cli::limits::{Files, run};

fn main() {
    std::process::exit(run("pdvm", Files::Client, ferrite_cli::pdvm::main, std::env::args_os().skip(1)));
}
