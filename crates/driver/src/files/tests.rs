use std::io::Read;
use std::os::unix::fs::symlink;

use rustix::fs::{Mode, mkfifoat};
use tempfile::{TempDir, tempdir};

use super::*;

struct Place {
    dir: TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let dir = tempdir().unwrap();
    Place { path: dir.path().join("file"), dir }
}

fn fifo(path: &Path) {
    mkfifoat(rustix::fs::CWD, path, Mode::from_raw_mode(0o600)).unwrap();
}

fn names(dir: &TempDir) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_link_is_replaced_and_what_it_leads_to_stays_as_it_is() {
    let Place { dir, path } = place();
    let precious = dir.path().join("precious");
    fs::write(&precious, "mine").unwrap();
    symlink(&precious, &path).unwrap();
    replace(&path, "contact").unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
    assert_eq!(fs::read_to_string(&path).unwrap(), "contact");
    assert_eq!(fs::symlink_metadata(&path).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(names(&dir), ["file", "precious"]);
}

#[test]
fn a_pipe_is_replaced_and_waited_for_by_nobody() {
    let Place { dir, path } = place();
    fifo(&path);
    replace(&path, "contact").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "contact");
    assert_eq!(names(&dir), ["file"]);
}

#[test]
fn a_directory_in_its_place_is_an_error_that_leaves_nothing() {
    let Place { dir, path } = place();
    fs::create_dir(&path).unwrap();
    assert!(replace(&path, "contact").is_err() && write_report(&path, "contact").is_err());
    assert_eq!(names(&dir), ["file"]);
}

#[test]
fn a_report_replaces_a_file_of_ours_with_its_mode() {
    let Place { dir, path } = place();
    write_report(&path, "one").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    write_report(&path, "two").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
    assert_eq!(names(&dir), ["file"]);
}

#[test]
fn a_report_goes_through_links_of_ours_and_to_readers_of_a_pipe() {
    let Place { dir, path } = place();
    let target = dir.path().join("target");
    fs::write(&target, "something longer").unwrap();
    symlink(&target, &path).unwrap();
    write_report(&path, "text").unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "text");
    assert!(path.is_symlink());
    let pipe = dir.path().join("pipe");
    fifo(&pipe);
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut text = String::new();
            File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
            text
        }
    });
    write_report(&pipe, "for the reader").unwrap();
    assert_eq!(reader.join().unwrap(), "for the reader");
    write_report(Path::new("/dev/null"), "nothing").unwrap();
}

#[test]
fn what_others_have_put_there_is_not_written_to() {
    if !rustix::process::geteuid().is_root() {
        return; // Only root can give files away; the testbed plays it with two users.
    }
    let Place { dir, path } = place();
    let stranger = Some(rustix::fs::Uid::from_raw(12_001));
    fifo(&path);
    rustix::fs::chown(&path, stranger, None).unwrap();
    let told = write_report(&path, "x").unwrap_err().to_string();
    assert_eq!(told, "a pipe of user 12001 is there already");
    fs::remove_file(&path).unwrap();
    symlink(dir.path().join("target"), &path).unwrap();
    rustix::fs::chownat(rustix::fs::CWD, &path, stranger, None, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
    assert!(write_report(&path, "x").unwrap_err().to_string().starts_with("a symbolic link of user 12001"));
    // Permissions do not bind root.
    replace(&path, "x").unwrap();
    assert_eq!(names(&dir), ["file"]);
}

#[test]
fn only_what_was_placed_is_removed() {
    let Place { dir, path } = place();
    fs::write(&path, "").unwrap();
    let placed = Placed::at(path.clone()).unwrap();
    replace(&path, "of another").unwrap();
    placed.remove();
    assert!(path.exists());
    Placed::at(path.clone()).unwrap().remove();
    assert!(!path.exists());
    fifo(&path);
    assert!(Placed::at(path).is_none() && Placed::at(PathBuf::from("/dev/null")).is_none());
    assert_eq!(names(&dir), ["file"]);
}
