//! Real clients over TCP; the test plays the machine behind the door.

use std::io::{Read, Write, pipe};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ferrite_client::{ConnectionError, FindError, Here, Patience, Selector};
use ferrite_core::{HeadInput, Input};
use ferrite_wire::DvmContact;
use ferrite_wire::control::{CONTROL_VERSION, Reply, Request};
use ferrite_wire::remote::KEY_LEN;
use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::LocalSet;

use super::super::service::Opened;
use super::super::tests::{CLOSED, Echo};
use super::*;

struct House {
    dir: TempDir,
    remote: Remote,
    control: Control,
    inputs: UnboundedReceiver<Input>,
}

impl House {
    fn new() -> House {
        let dir = tempfile::tempdir().unwrap();
        let (inbox, inputs) = tokio::sync::mpsc::unbounded_channel();
        let service = Opened::new(Rc::new(Echo), "prte-there-1", Instant::now());
        let control = Control::new(inbox.clone(), inbox, "prte-there-1", Some(service));
        let session_dir = SessionDir::planned(dir.path(), "prte", 1);
        let place = Listen { address: Some("127.0.0.1".to_owned()), port: 0 };
        let remote = listen(&control, &session_dir, &place, "there").unwrap();
        House { dir, remote, control, inputs }
    }

    /// The file by which clients find it, as another host has it.
    fn contact_file(&self) -> PathBuf {
        let contact = DvmContact {
            dvm: "prte-there-1".to_owned(),
            endpoints: Vec::new(),
            pid: 1,
            host: "there".to_owned(),
            started_s: 1,
            head: None,
            batch: None,
            system: false,
            socket: "/not/here".to_owned(),
            control: CONTROL_VERSION,
            remote: Some(self.remote.address.clone()),
            key: None,
        };
        let file = self.dir.path().join("uri");
        std::fs::write(&file, contact.to_text()).expect("a directory of ours");
        file
    }

    /// A client with this key file asks for the status, and is answered with this text if it gets so far.
    async fn ask(&mut self, key: &Path, answer: &str) -> Result<Reply, FindError> {
        let (file, key) = (self.contact_file(), key.to_owned());
        let client = tokio::task::spawn_blocking(move || {
            let connection =
                ferrite_client::connect(&Selector::UriFile(file), Some(&key), Patience::default(), &here());
            Ok(connection?.ask(Request::Status)?)
        });
        tokio::pin!(client);
        loop {
            tokio::select! {
                result = &mut client => return result.unwrap(),
                input = self.inputs.recv() => match input {
                    Some(Input::Head(HeadInput::Request { id, request: Request::Status })) => {
                        self.control.reply(id, Reply::Refused(answer.to_owned()));
                    }
                    other => panic!("unexpected {other:?}"),
                },
            }
        }
    }

    async fn lets_its_own_in(&mut self) {
        let key = self.remote.key_file.clone();
        assert_eq!(self.ask(&key, "hello").await.unwrap(), Reply::Refused("hello".to_owned()));
    }

    async fn caller(&self) -> TcpStream {
        TcpStream::connect(&self.remote.address).await.unwrap()
    }
}

fn here() -> Here {
    Here { bases: Vec::new(), host: "here".to_owned(), batch: None }
}

fn play(scene: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, scene);
}

#[test]
fn who_has_the_key_is_served_and_the_key_is_private() {
    play(async {
        let mut house = House::new();
        let key = house.remote.key_file.clone();
        assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        let large = "x".repeat(3 << 20);
        assert_eq!(house.ask(&key, &large).await.unwrap(), Reply::Refused(large));
        // The client is gone by now, and so is what it had here.
        while !house.control.hub.clients.borrow().is_empty() {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn another_key_is_refused_in_plain_words() {
    play(async {
        let mut house = House::new();
        let other = house.dir.path().join("other");
        files::replace(&other, &key_text(&[7; KEY_LEN])).unwrap();
        let error = house.ask(&other, "").await.unwrap_err();
        assert!(matches!(error, FindError::Connection(ConnectionError::KeyRefused { .. })), "{error}");
        assert!(error.to_string().contains(&house.remote.address) && error.to_string().contains("other"), "{error}");
        house.lets_its_own_in().await;
    });
}

#[test]
fn strangers_other_versions_and_garbage_learn_what_this_is_and_no_more() {
    play(async {
        let mut house = House::new();
        let mut newer = greeting();
        newer[8] += 1;
        let garbage = [&greeting()[..], &[9; 4096]].concat();
        for bytes in [b"GET / HTTP/1.1\r\n\r\n", &newer[..], &garbage[..], &greeting()[..3]] {
            let mut caller = house.caller().await;
            caller.write_all(bytes).await.unwrap();
            caller.shutdown().await.unwrap();
            let mut all = Vec::new();
            caller.read_to_end(&mut all).await.unwrap();
            assert_eq!(all, greeting());
        }
        house.lets_its_own_in().await;
        assert!(house.inputs.try_recv().is_err(), "a stranger reached the machine");
    });
}

/// Lines of JSON behind the handshake are those of the control socket (spec L153).
#[test]
fn who_has_the_key_speaks_lines_of_json_through_a_bridge() {
    play(async {
        let mut house = House::new();
        let (file, key) = (house.contact_file(), house.remote.key_file.clone());
        let (input, mut user) = pipe().unwrap();
        let (mut output, to_user) = pipe().unwrap();
        let bridge = tokio::task::spawn_blocking(move || {
            let find = ferrite_client::connect_silently;
            let channel = find(&Selector::UriFile(file), Some(&key), Patience::default(), &here());
            ferrite_client::join(channel.expect("a channel"), input, to_user)
        });
        user.write_all(b"{a}\n").unwrap();
        let Some(Input::Head(HeadInput::Request { id, request: Request::Nodes })) = house.inputs.recv().await else {
            panic!("the line did not reach the machine")
        };
        house.control.reply(id, Reply::Nodes(Vec::new()));
        let mut answer = [0; b"{a}\n{reply}\n".len()];
        let (mut output, answer) = tokio::task::spawn_blocking(move || {
            output.read_exact(&mut answer).expect("an answer");
            (output, answer)
        })
        .await
        .unwrap();
        assert_eq!(&answer, b"{a}\n{reply}\n");
        drop(user);
        bridge.await.unwrap().unwrap();
        let mut rest = Vec::new();
        output.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, CLOSED);
        while !house.control.hub.clients.borrow().is_empty() {
            tokio::task::yield_now().await;
        }
    });
}

/// Lines of JSON without the handshake are garbage like any other (spec L153).
#[test]
fn a_stranger_who_speaks_json_learns_what_this_is_and_reaches_nothing() {
    play(async {
        let mut house = House::new();
        let line = b"{\"schema\":1,\"kind\":\"terminate\"}\n";
        let behind_a_greeting = [&greeting()[..], &line.repeat(100)].concat();
        for bytes in [b"{", &line[..], &line.repeat(2_000), &behind_a_greeting] {
            let mut caller = house.caller().await;
            caller.write_all(bytes).await.unwrap();
            caller.shutdown().await.unwrap();
            let mut all = Vec::new();
            caller.read_to_end(&mut all).await.unwrap();
            assert_eq!(all, greeting());
        }
        assert!(house.control.hub.clients.borrow().is_empty(), "a stranger has become a client");
        house.lets_its_own_in().await;
        assert!(house.inputs.try_recv().is_err(), "a stranger reached the machine");
    });
}

#[test]
fn whoever_says_nothing_keeps_nobody_out() {
    play(async {
        let mut house = House::new();
        let mut oldest = house.caller().await;
        let mut others = Vec::new();
        for _ in 0..STRANGERS.most {
            others.push(house.caller().await);
        }
        let mut all = Vec::new();
        // Not long, but until it is hung up on.
        let _ = oldest.read_to_end(&mut all).await;
        house.lets_its_own_in().await;
    });
}

#[test]
fn the_address_for_others_is_one_that_others_can_call() {
    let place = |address: Option<&str>| Listen { address: address.map(str::to_owned), port: 1 };
    for any in [None, Some("0.0.0.0"), Some("::")] {
        assert_eq!(public_name(&place(any), "n0"), "n0");
    }
    assert_eq!(public_name(&place(Some("10.0.0.1")), "n0"), "10.0.0.1");
}

#[test]
fn a_port_that_is_taken_is_named() {
    play(async {
        let house = House::new();
        let (_, port) = house.remote.address.rsplit_once(':').unwrap();
        let place = Listen { address: Some("127.0.0.1".to_owned()), port: port.parse().unwrap() };
        let error = bind(&place).unwrap_err().to_string();
        assert!(error.contains(&format!("--listen 127.0.0.1:{port}")), "{error}");
    });
}
