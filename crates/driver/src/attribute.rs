//! Attributes of the system: small files below `/sys`, each of which one read returns whole. `std::fs` would ask for
//! the size first, which is no size there, and read a second time for the end.

use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The kernel's limit of an attribute (bytes).
const LARGEST: usize = 4096;

/// Returns the text of an attribute without the newline at its end; `None` when it is not there.
pub(crate) fn read(file: &Path) -> Option<String> {
    let file = rustix::fs::open(file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut buffer = [0u8; LARGEST];
    let length = rustix::io::read(&file, &mut buffer).ok()?;
    Some(std::str::from_utf8(&buffer[..length]).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_its_text_and_a_missing_one_is_none() {
        assert!(read(Path::new("/sys/devices/system/cpu/online")).is_some_and(|list| list.starts_with('0')));
        assert_eq!(read(Path::new("/sys/devices/system/cpu/missing")), None);
        assert_eq!(read(Path::new("/sys/devices/system/cpu")), None, "a directory");
    }
}
