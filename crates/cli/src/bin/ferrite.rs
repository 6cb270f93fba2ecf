//! All commands in one program, as packages have them: each command is a link to this file, and its name chooses.

use ferrite_cli::one;

fn main() {
    std::process::exit(one::main());
}
