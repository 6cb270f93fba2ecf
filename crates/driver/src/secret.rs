//! Keys in memory, and processes that hold them. A key lies on a page of its own that is never swapped out nor written
//! into a core file, and is wiped after use. The machine of `core` never sees a key: the driver puts it into tickets.
#![allow(unsafe_code)]

use std::io;
use std::ops::Deref;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap_anonymous, munmap};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::rand::{GetRandomFlags, getrandom};
use zeroize::Zeroize;

/// Size of a key (bytes).
pub(crate) const LEN: usize = 32;
/// A multiple of every page size of Linux (bytes).
const PAGE: usize = 64 * 1024;
/// Size of the locked part (bytes): the kernel locks the whole page of the key.
const LOCKED: usize = LEN;

/// A key of the DVM.
pub(crate) struct Secret(NonNull<[u8; LEN]>);

impl Secret {
    /// Makes a random key.
    ///
    /// # Errors
    /// When there is no memory, or the kernel gives no random bytes.
    pub(crate) fn random() -> io::Result<Secret> {
        let mut secret = Secret::blank()?;
        // The kernel returns up to 256 bytes at once.
        getrandom(secret.bytes(), GetRandomFlags::empty())?;
        Ok(secret)
    }

    /// Moves a key here and wipes its former place.
    ///
    /// # Errors
    /// When there is no memory.
    pub(crate) fn taken_from(place: &mut [u8; LEN]) -> io::Result<Secret> {
        let mut secret = Secret::blank()?;
        secret.bytes().copy_from_slice(place);
        place.zeroize();
        Ok(secret)
    }

    fn blank() -> io::Result<Secret> {
        // SAFETY: no address is asked for, so that no memory of others is replaced.
        let page = unsafe {
            mmap_anonymous(std::ptr::null_mut(), PAGE, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
        };
        // SAFETY: both concern the mapping that was just made, and neither changes what is in it.
        let kept = unsafe { madvise(page, PAGE, Advice::LinuxDontDump).and(mlock(page, LOCKED)) };
        if let Err(error) = kept {
            // Under a small limit of locked memory (`ulimit -l`) a key is used all the same.
            tracing::debug!(%error, "a key may be swapped out");
        }
        NonNull::new(page.cast()).map(Secret).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    fn bytes(&mut self) -> &mut [u8; LEN] {
        // SAFETY: the mapping is ours alone, larger than a key, readable and writable, and lives until `drop`.
        unsafe { self.0.as_mut() }
    }
}

impl Deref for Secret {
    type Target = [u8; LEN];

    fn deref(&self) -> &[u8; LEN] {
        // SAFETY: as in `bytes`; a shared borrow keeps `bytes` and `drop` away.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.bytes().zeroize();
        // SAFETY: the mapping was made in `blank`, and nobody can borrow from it any more.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), PAGE) };
    }
}

/// Keeps other processes of the same user from reading this process's memory, and the kernel from writing it into a
/// core file. This holds until the next exec, so that processes of jobs can be debugged as usual.
pub(crate) fn hide_memory() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::debug!(%error, "other processes of this user can read our memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the flags that the kernel shows for the mapping at this address.
    fn flags(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines().skip_while(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let ends = range.and_then(|(from, to)| Some((hex(from)?, hex(to)?)));
            !ends.is_some_and(|(from, to)| (from..to).contains(&address))
        });
        lines.find_map(|line| line.strip_prefix("VmFlags: ")).unwrap().to_owned()
    }

    fn hex(text: &str) -> Option<usize> {
        usize::from_str_radix(text, 16).ok()
    }

    #[test]
    fn a_key_moves_to_a_page_that_is_neither_swapped_nor_dumped() {
        let mut place = [7; LEN];
        let secret = Secret::taken_from(&mut place).unwrap();
        assert_eq!((place, *secret), ([0; LEN], [7; LEN]));
        let flags = flags(secret.0.as_ptr() as usize);
        assert!(flags.split(' ').any(|flag| flag == "dd") && flags.split(' ').any(|flag| flag == "lo"), "{flags}");
    }

    #[test]
    fn two_random_keys_differ() {
        assert_ne!(*Secret::random().unwrap(), *Secret::random().unwrap());
    }
}
