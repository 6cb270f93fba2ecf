//! `prted`: the daemon of one node.

fn main() {
    std::process::exit(ferrite_cli::prted::main(std::env::args_os().skip(1)));
}
