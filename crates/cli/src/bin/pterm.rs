//! `pterm`: the end of a DVM.

fn main() {
    std::process::exit(ferrite_cli::pterm::main(std::env::args_os().skip(1)));
}
