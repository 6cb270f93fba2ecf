//! Explains why the system does not run a binary: the machine that it was built for. Reads only the first bytes of the
//! file, and only after a start has failed.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The first bytes of every ELF file.
pub(super) const MAGIC: &[u8; 4] = b"\x7fELF";

/// Names of machines by their ELF numbers. Source: elf(5) and `elf.h`.
const MACHINES: [(u16, &str); 9] = [
    (3, "i386"),
    (20, "powerpc"),
    (21, "powerpc64"),
    (22, "s390x"),
    (40, "arm"),
    (62, "x86_64"),
    (183, "aarch64"),
    (243, "riscv64"),
    (258, "loongarch64"),
];

/// Returns the message for a file that the system cannot execute (ENOEXEC).
pub(super) fn not_for_this_node(program: &Path) -> String {
    let here = std::env::consts::ARCH;
    let shown = program.display();
    match machine_of(program) {
        Ok(Some(there)) if there == here => {
            format!("{shown}: this node cannot execute the binary, although it is for {here}; is the file whole?")
        }
        Ok(Some(there)) => {
            format!("{shown}: the binary is for {there} and this node is {here}; build the program for {here}")
        }
        Ok(None) | Err(_) => format!("{shown}: it is neither a binary for this node ({here}) nor a script"),
    }
}

/// Returns the machine of an ELF file; `None` when it is no ELF file or too short.
fn machine_of(program: &Path) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    File::open(program)?.take(20).read_to_end(&mut head)?;
    let [low, high] = match head.get(18..20) {
        Some(&[a, b]) if head.starts_with(MAGIC) => [a, b],
        _ => return Ok(None),
    };
    // The sixth byte says in which order the bytes of numbers are.
    let number = if head[5] == 2 { u16::from_be_bytes([low, high]) } else { u16::from_le_bytes([low, high]) };
    let known = MACHINES.iter().find(|(machine, _)| *machine == number);
    Ok(Some(known.map_or_else(|| format!("machine {number} (of elf.h)"), |(_, name)| (*name).to_owned())))
}
