//! `prun`: a job for a DVM that is running.

fn main() {
    std::process::exit(ferrite_cli::prun::main(std::env::args_os().skip(1)));
}
