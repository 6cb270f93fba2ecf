//! A file that a job brings along stays inside the job's files, whatever its name, and so does what a link names. The
//! first line is the name, the second the target of a link.
#![no_main]

use std::path::{Component, Path};

use ferrite_types::{check_preload_link, check_preload_name};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (name, target) = text.split_once('\n').unwrap_or((text, ""));
    if check_preload_name(name).is_err() {
        return;
    }
    assert_eq!(lowest(0, name), Some(0), "{name:?}");
    let parts = name.split('/').count() as i64;
    assert_eq!(Path::new(name).components().count() as i64, parts, "{name:?} has parts that vanish");
    if check_preload_link(name, target).is_ok() {
        assert!(lowest(parts - 1, target).is_some_and(|lowest| lowest >= 0), "{name:?} -> {target:?}");
    }
});

/// Returns the lowest depth on the way along a path that begins at this depth; `None` for an absolute one.
fn lowest(depth: i64, path: &str) -> Option<i64> {
    let (mut depth, mut lowest) = (depth, depth);
    for part in Path::new(path).components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
        lowest = lowest.min(depth);
    }
    Some(lowest)
}
