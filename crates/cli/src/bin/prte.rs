//! `prte`: a DVM that stays, for any number of jobs.

fn main() {
    std::process::exit(ferrite_cli::prte::main(std::env::args_os().skip(1)));
}
