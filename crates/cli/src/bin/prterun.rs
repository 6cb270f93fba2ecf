//! `prterun`: a private runtime and one job.

fn main() {
    std::process::exit(ferrite_cli::prterun::main(std::env::args_os().skip(1)));
}
