//! All commands in one program, as packages have them: each command is a link to this file, and its name chooses.

use dlmalloc::GlobalDlmalloc;
use ferrite_cli::one;

/// The memory of the program. The allocator that a static program has by default asks the kernel for each large buffer
/// and gives it back after use, by which a stream of output has half its speed.
#[global_allocator]
static MEMORY: GlobalDlmalloc = GlobalDlmalloc;

fn main() {
    std::process::exit(one::main());
}
