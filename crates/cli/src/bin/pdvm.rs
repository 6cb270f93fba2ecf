//! `pdvm`: asks a DVM, and tells it what to do.

fn main() {
    std::process::exit(ferrite_cli::pdvm::main(std::env::args_os().skip(1)));
}
