//! Guesses whether a program will want libpmix, so that its start can go on beside that of the program. Only a hint: who
//! was not recognised is served when it connects.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Names of libraries are near the beginning of an executable.
const LOOK_AT: u64 = 64 * 1024;

/// What only a user of PMIx is linked with. (MPICH's library is `libmpi.so.12` or `libmpich.so`.)
const LIBRARIES: [&[u8]; 3] = [b"libpmix.so", b"libmpi.so.40", b"libmpi.so.20"];

/// True when the program names a library that uses PMIx.
pub(super) fn wants_pmix(program: &str, wdir: &Path) -> bool {
    let file = if program.contains('/') {
        File::open(wdir.join(program)).ok()
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).find_map(|dir| File::open(dir.join(program)).ok())
    };
    let mut head = Vec::new();
    let read = file.map(|f| f.take(LOOK_AT).read_to_end(&mut head));
    matches!(read, Some(Ok(_))) && head.starts_with(b"\x7fELF") && LIBRARIES.iter().any(|l| contains(&head, l))
}

fn contains(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|w| w == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_without_mpi_start_nothing() {
        assert!(!wants_pmix("true", Path::new("/")));
        assert!(!wants_pmix("./none", Path::new("/")));
    }

    #[test]
    fn a_program_that_names_the_library_is_recognised() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("p"), b"\x7fELF....\0libmpi.so.40\0").unwrap();
        assert!(wants_pmix("./p", dir.path()));
    }
}
