//! Records between two ends of Noise, and a head that is no more than a few bytes.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use super::*;

const KEY: [u8; KEY_LEN] = [7; KEY_LEN];

/// Both ends after a handshake: the client's, the head's.
fn ends(dvm: &str, key: &[u8; KEY_LEN]) -> Option<(StatelessTransportState, StatelessTransportState)> {
    let (mut ours, first) = begin("d", &KEY).unwrap();
    let mut theirs = answerer(dvm, key);
    theirs.read_message(&first, &mut []).ok()?;
    let mut second = [0; HELLO_LEN];
    theirs.write_message(&[], &mut second).unwrap();
    ours.read_message(&second, &mut []).unwrap();
    Some((ours.into_stateless_transport_mode().unwrap(), theirs.into_stateless_transport_mode().unwrap()))
}

fn answerer(dvm: &str, key: &[u8; KEY_LEN]) -> HandshakeState {
    let prologue = prologue(dvm);
    let builder = Builder::with_resolver(REMOTE_PATTERN.parse().unwrap(), Box::new(DefaultResolver));
    builder.psk(0, key).unwrap().prologue(&prologue).unwrap().build_responder().unwrap()
}

/// A file with the key in it and these permissions.
fn key_file(dir: &Path, mode: u32) -> PathBuf {
    let path = dir.join("key");
    std::fs::write(&path, ferrite_wire::remote::key_text(&KEY)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[test]
fn a_key_file_that_others_may_read_is_refused_with_the_way_to_close_it() {
    let dir = tempfile::tempdir().unwrap();
    for mode in [0o600, 0o400] {
        assert_eq!(*Key::read(&key_file(dir.path(), mode)).unwrap().bytes, KEY);
    }
    for mode in [0o640, 0o604, 0o620, 0o602] {
        let error = Key::read(&key_file(dir.path(), mode)).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(&format!("mode is {mode:04o}")), "{error}");
        assert!(error.next_step().contains("chmod 600"), "{}", error.next_step());
    }
}

#[test]
fn what_is_no_file_or_holds_no_key_is_refused_and_waits_for_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    assert!(matches!(Key::read(&fifo), Err(KeyError::NoKey)));
    assert!(matches!(Key::read(dir.path()), Err(KeyError::NoKey)));
    assert!(matches!(Key::read(&dir.path().join("none")), Err(KeyError::Io(_))));
    let path = key_file(dir.path(), 0o600);
    for bytes in [&b""[..], b"07", b"secret\n", &b"07".repeat(4_000)] {
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(Key::read(&path), Err(KeyError::NoKey)), "{bytes:?}");
    }
    std::fs::write(&path, [0xff; 65]).unwrap();
    assert!(Key::read(&path).is_err());
}

fn key() -> Key {
    Key { path: "/the/key".into(), bytes: Zeroizing::new(KEY) }
}

#[test]
fn a_record_is_opened_by_the_other_end_and_only_once_in_its_turn() {
    let (ours, theirs) = ends("d", &KEY).unwrap();
    let (mut sealed, mut plain) = (Vec::new(), Vec::new());
    for (nonce, size) in [(0, 0), (1, 5), (2, MAX_PLAIN)] {
        sealed.clear();
        let bytes = vec![nonce as u8; size];
        seal(&ours, nonce, &bytes, &mut sealed).unwrap();
        assert_eq!(usize::from(u16::from_le_bytes([sealed[0], sealed[1]])), sealed.len() - 2);
        open(&theirs, nonce, &sealed[2..], &mut plain).unwrap();
        assert_eq!(plain, bytes);
    }
    assert!(open(&theirs, 3, &sealed[2..], &mut plain).is_err(), "a record came again");
    sealed[9] ^= 1;
    assert!(open(&theirs, 2, &sealed[2..], &mut plain).is_err(), "a damaged record was taken");
    assert!(seal(&ours, 4, &vec![0; MAX_PLAIN + 1], &mut sealed).is_err());
}

#[test]
fn another_key_or_another_dvm_is_not_talked_to() {
    assert!(ends("e", &KEY).is_none());
    assert!(ends("d", &[8; KEY_LEN]).is_none());
}

/// Calls a head that says these bytes to each caller, and hangs up when it has heard him.
fn called(says: &'static [u8]) -> ConnectionError {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let head = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; GREETING_LEN + HELLO_LEN]).unwrap();
        stream.write_all(says).unwrap();
    });
    let error = call("d", &address, &key()).unwrap_err();
    head.join().unwrap();
    error
}

#[test]
fn what_is_wrong_with_the_other_side_is_told_apart() {
    assert!(matches!(called(b""), ConnectionError::Lost { .. }));
    assert!(matches!(called(b"HTTP/1.1 400 Bad Request\r\n"), ConnectionError::Greeting { .. }));
    let ours: &'static [u8] = greeting().to_vec().leak();
    let refused = called(ours);
    assert!(matches!(refused, ConnectionError::KeyRefused { .. }));
    assert!(refused.to_string().contains("/the/key"), "{refused}");
    let garbage = [ours, &[9; HELLO_LEN]].concat().leak();
    assert!(matches!(called(garbage), ConnectionError::KeyRefused { .. }));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    assert!(matches!(call("d", &nobody, &key()), Err(ConnectionError::FarAway { .. })));
}

#[test]
fn what_either_side_says_last_arrives_before_the_end() {
    let (ours, theirs) = ends("d", &KEY).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    let (mut stream, relay) = relay(near, ours).unwrap();
    let big = vec![b'x'; 3 << 20];
    let sent = big.clone();
    let head = thread::spawn(move || {
        let mut record = Vec::new();
        seal(&theirs, 0, b"last words", &mut record).unwrap();
        let mut all = Vec::new();
        far.read_to_end(&mut all).unwrap();
        far.write_all(&record).unwrap();
        let (mut heard, mut plain, mut rest, mut nonce) = (Vec::new(), Vec::new(), &all[..], 1);
        while let Some((length, sealed)) = rest.split_first_chunk::<2>() {
            let (record, more) = sealed.split_at(usize::from(u16::from_le_bytes(*length)));
            open(&theirs, nonce, record, &mut plain).unwrap();
            heard.extend_from_slice(&plain);
            (rest, nonce) = (more, nonce + 1);
        }
        heard
    });
    stream.write_all(&sent).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap();
    assert_eq!(said, b"last words");
    assert!(head.join().unwrap() == big);
    drop(relay);
}
