//! The remains of a job: processes, files and shared memory on the nodes that were not there before.
//!
//! Looks from outside through `/proc/PID/root`, so that the look itself leaves no trace on the nodes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::procs;
use super::state::Identity;

/// The private places of a node where a program may leave something.
const PLACES: [&str; 3] = ["tmp", "run", "dev/shm"];

/// Everything on one node that a job could leave behind, as lines for people.
pub(super) fn inventory(init: Identity) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for process in procs::of_namespace(init).iter().filter(|p| !p.is_furniture()) {
        found.insert(process.to_string());
    }
    let root = PathBuf::from(format!("/proc/{}/root", init.pid));
    for place in PLACES {
        let place = root.join(place);
        if let Ok(meta) = place.metadata() {
            list(&root, &place, meta.dev(), &mut found);
        }
    }
    found
}

/// Lists the files below `dir`; shared directories are other file systems and stay out.
fn list(root: &Path, dir: &Path, device: u64, found: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(meta) = path.symlink_metadata() else {
            continue;
        };
        if meta.dev() != device {
            continue;
        }
        let shown = path.strip_prefix(root).unwrap_or(&path);
        found.insert(format!("file /{}", shown.display()));
        if meta.is_dir() {
            list(root, &path, device, found);
        }
    }
}
