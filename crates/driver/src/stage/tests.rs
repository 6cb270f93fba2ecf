use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;

const JOB: JobId = JobId(7);

struct Bench {
    stages: Stages,
    inputs: UnboundedReceiver<Input>,
    base: tempfile::TempDir,
    session_dir: SessionDir,
}

fn bench() -> Bench {
    let base = tempfile::tempdir().unwrap();
    let session_dir = SessionDir::planned(base.path(), "prted", 1);
    let (inbox, inputs) = unbounded_channel();
    Bench { stages: Stages::new(inbox, &session_dir), inputs, base, session_dir }
}

fn entry(name: &str, kind: PreloadKind) -> PreloadEntry {
    PreloadEntry { name: name.to_owned(), source: String::new(), kind }
}

impl Bench {
    fn run(&mut self, entries: Vec<PreloadEntry>, contents: &[(u32, &[u8])]) -> Result<(), Failure> {
        self.stages.take(JOB, StageEffect::Begin(entries));
        for (entry, data) in contents {
            self.stages.take(JOB, StageEffect::Write { entry: *entry, data: Bytes::copy_from_slice(data) });
        }
        self.stages.take(JOB, StageEffect::Finish);
        let mut written = 0;
        loop {
            match self.inputs.blocking_recv().unwrap() {
                Input::Daemon(DaemonInput::Staged { job: JOB, bytes }) => written += bytes,
                Input::Daemon(DaemonInput::StageEnded { job: JOB, result }) => {
                    let all: usize = contents.iter().map(|(_, data)| data.len()).sum();
                    assert!(result.is_err() || written == all as u64, "{written} bytes");
                    return result;
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.session_dir.path().join("7").join(FILES).join(name)
    }
}

#[test]
fn files_directories_and_links_are_put_in_their_places() {
    let mut bench = bench();
    let file = |size, executable| PreloadKind::File { size, executable };
    let entries = vec![
        entry("d", PreloadKind::Directory),
        entry("d/a", file(5, false)),
        entry("run", file(2, true)),
        entry("empty", file(0, false)),
        entry("d/l", PreloadKind::Link { target: "../run".to_owned() }),
    ];
    bench.run(entries, &[(1, b"con"), (1, b"ts"), (2, b"#!")]).unwrap();
    assert_eq!(fs::read(bench.at("d/a")).unwrap(), b"conts");
    assert_eq!(fs::read(bench.at("d/l")).unwrap(), b"#!");
    assert_eq!(
        ["d/a", "run", "empty"].map(|name| bench.at(name).metadata().unwrap().mode() & 0o777),
        [0o600, 0o700, 0o600]
    );
    let own = bench.base.path().join("own");
    fs::create_dir(&own).unwrap();
    link_into(&own, &bench.at("")).unwrap();
    assert_eq!(fs::read(own.join("d/a")).unwrap(), b"conts");
    bench.stages.clean(JOB);
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while bench.session_dir.path().join("7").exists() {
        assert!(std::time::Instant::now() < deadline, "the thread has not removed the directory");
        thread::yield_now();
    }
}

#[test]
fn a_size_that_does_not_fit_and_a_full_disk_name_the_file() {
    let mut bench = bench();
    let entries = vec![entry("a", PreloadKind::File { size: 5, executable: false })];
    let (at, cause) = bench.run(entries, &[(0, b"con")]).unwrap_err();
    assert_eq!((at, cause.contains("size")), (0, true));
    assert_eq!(words(&io::Error::from_raw_os_error(libc::ENOSPC)), "No space left on device");
}

/// An archive with one entry of any kind and name: the header's own functions refuse bad names.
fn archive(name: &str, kind: EntryType, mode: u32, target: &str, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(content.len() as u64);
    header.set_cksum();
    let mut builder = Builder::new(Vec::new());
    builder.append(&header, content).unwrap();
    builder.into_inner().unwrap()
}

fn unpacked(bytes: &[u8], gzip: bool) -> Result<PathBuf, String> {
    let mut bench = bench();
    let kind = PreloadKind::Archive { size: bytes.len() as u64, gzip };
    let entries = vec![entry("sub", PreloadKind::Directory), entry("sub/t.tar", kind)];
    bench.run(entries, &[(1, bytes)]).map_err(|(_, cause)| cause)?;
    let dir = bench.at("sub");
    // The test looks at it; its directory stays until the process of the test ends.
    std::mem::forget(bench);
    Ok(dir)
}

#[test]
fn archives_are_unpacked_in_their_place() {
    let plain = archive("./p/q/run", EntryType::Regular, 0o755, "", b"text");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&plain).unwrap();
    for (bytes, gzip) in [(plain, false), (gzip.finish().unwrap(), true)] {
        let dir = unpacked(&bytes, gzip).unwrap();
        assert_eq!(fs::read(dir.join("p/q/run")).unwrap(), b"text");
        assert_eq!(dir.join("p/q/run").metadata().unwrap().mode() & 0o777, 0o700);
        assert!(!dir.join("t.tar").exists());
        fs::remove_dir_all(dir.ancestors().nth(4).unwrap()).unwrap();
    }
}

/// See spec L72.
#[test]
fn archives_get_nothing_outside_and_no_special_files() {
    let bad = [
        (archive("../x", EntryType::Regular, 0o644, "", b""), "upwards"),
        (archive("/x", EntryType::Regular, 0o644, "", b""), "absolute"),
        (archive("a/../../x", EntryType::Regular, 0o644, "", b""), "upwards"),
        (archive("l", EntryType::Symlink, 0o777, "/etc", b""), "absolute"),
        (archive("l", EntryType::Symlink, 0o777, "../../x", b""), "upwards"),
        (archive("l", EntryType::Link, 0o644, "/etc/passwd", b""), "hard links"),
        (archive("n", EntryType::Char, 0o644, "", b""), "only files"),
        (archive("n", EntryType::Fifo, 0o644, "", b""), "only files"),
        (archive("s", EntryType::Regular, 0o4755, "", b""), "setuid"),
        (archive("t", EntryType::Regular, 0o644, "", &[1; 900])[..700].to_vec(), ""),
        (vec![b'x'; 2000], ""),
    ];
    for (bytes, why) in bad {
        let cause = unpacked(&bytes, false).unwrap_err();
        assert!(cause.contains(why), "{why}: {cause}");
    }
}

#[test]
fn nothing_is_written_through_a_link_of_the_archive() {
    let mut bytes = archive("l", EntryType::Symlink, 0o777, "..", b"");
    bytes.truncate(512);
    bytes.extend(archive("l/x", EntryType::Regular, 0o644, "", b"text"));
    let cause = unpacked(&bytes, false).unwrap_err();
    assert!(cause.contains("exists"), "{cause}");
}
