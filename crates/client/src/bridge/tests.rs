//! The bridge between pipes and a DVM that is played by the test.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, pipe};
use std::thread::JoinHandle;

use super::*;

const CLOSED_LINE: &[u8] = b"{\"schema\":1,\"kind\":\"closed\",\"id\":null}\n";

/// A bridge, and the test's ends of its three sides.
struct Bridge {
    input: PipeWriter,
    output: PipeReader,
    dvm: UnixStream,
    ended: JoinHandle<Result<(), BridgeError>>,
}

impl Bridge {
    fn new() -> Bridge {
        let (stream, dvm) = UnixStream::pair().expect("a pair of sockets");
        let (from_user, input) = pipe().expect("a pipe");
        let (output, to_user) = pipe().expect("a pipe");
        let channel = Channel { dvm: "d".to_owned(), head: None, stream, relay: None };
        let ended = thread::spawn(move || join(channel, from_user, to_user));
        Bridge { input, output, dvm, ended }
    }

    /// Gives this input and its end; returns what the DVM hears until it has heard the request to close.
    fn hear(self, input: &[u8]) -> (Bridge, String) {
        let Bridge { input: mut writer, output, dvm, ended } = self;
        writer.write_all(input).expect("somebody reads the input");
        drop(writer);
        let mut heard = String::new();
        let mut lines = BufReader::new(&dvm);
        while !heard.ends_with(std::str::from_utf8(CLOSE).expect("a text")) {
            assert_ne!(lines.read_line(&mut heard).expect("a line"), 0, "{heard}");
        }
        let (_, input) = pipe().expect("a pipe");
        (Bridge { input, output, dvm, ended }, heard)
    }

    /// The DVM says this and hangs up; returns what the user reads and how the bridge ends.
    fn end(self, says: &[u8]) -> (String, Result<(), BridgeError>) {
        let Bridge { mut dvm, mut output, ended, .. } = self;
        dvm.write_all(says).expect("somebody listens");
        drop(dvm);
        let mut text = String::new();
        output.read_to_string(&mut text).expect("a text");
        (text, ended.join().expect("no panic"))
    }
}

/// The beginning and the end of the conversation (spec L153).
#[test]
fn the_first_byte_is_said_before_the_input_begins_and_a_close_behind_its_end() {
    let mut bridge = Bridge::new();
    let mut first = [0];
    bridge.dvm.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"{", "the input has not begun");
    let (bridge, heard) = bridge.hear(b"{\"a\":1}\n{\"b\":2}\n");
    assert_eq!(heard, "\"a\":1}\n{\"b\":2}\n{\"schema\":1,\"kind\":\"close\"}\n");
    let (text, ended) = bridge.end(&[b"{\"c\":3}\n", CLOSED_LINE].concat());
    assert_eq!(text.as_bytes(), [b"{\"c\":3}\n", CLOSED_LINE].concat());
    ended.unwrap();
}

/// The DVM hears whole lines, also when the last one of the input has no end (spec L153).
#[test]
fn input_without_a_line_and_input_that_ends_within_a_line_are_closed_as_well() {
    let close = "{\"schema\":1,\"kind\":\"close\"}\n";
    let cases = [
        (&b""[..], close.to_owned()),
        (b" \n\n ", close.to_owned()),
        (b"\n {", format!("{{\n{close}")),
        (b"{\"a\":1}", format!("{{\"a\":1}}\n{close}")),
        (b"{}\n\n", format!("{{}}\n\n{close}")),
    ];
    for (input, wanted) in cases {
        let (bridge, heard) = Bridge::new().hear(input);
        assert_eq!(heard, wanted, "{input:?}");
        bridge.end(CLOSED_LINE).1.unwrap();
    }
}

#[test]
fn input_that_is_no_json_is_named_and_the_dvm_hears_nothing_of_it() {
    let (bridge, heard) = Bridge::new().hear(b" hello\n");
    assert_eq!(heard, "{\"schema\":1,\"kind\":\"close\"}\n");
    let (_, ended) = bridge.end(CLOSED_LINE);
    assert!(matches!(ended, Err(BridgeError::NoJson(b'h'))), "{ended:?}");
}

/// A bridge fails unless the DVM has closed the conversation (spec L153).
#[test]
fn a_dvm_that_goes_before_it_has_closed_the_conversation_is_lost() {
    let kind = "{\"schema\":1,\"kind\":\"closed\",\"id\":\"x\"}";
    for says in ["", "{\"a\":1}\n", "{\"a\":1}", kind, &format!("{kind}\n{{\"a\":1}}\n"), &format!("{{\"a\":{kind}\n")]
    {
        let (text, ended) = Bridge::new().end(says.as_bytes());
        assert_eq!(text, says);
        let Err(BridgeError::Connection(ConnectionError::Lost { dvm, .. })) = ended else {
            panic!("{says}: {ended:?}")
        };
        assert_eq!(dvm, "d");
    }
    // A client that sends `close` itself gets the end before its input has ended.
    Bridge::new().end(format!("{{\"a\":1}}\n{kind}\n").as_bytes()).1.unwrap();
    let (text, ended) = Bridge::new().end(b"\x00FERRITE");
    assert!(text.is_empty() && matches!(ended, Err(BridgeError::NoService { .. })), "{text}: {ended:?}");
}

/// A reader that goes ends the bridge, and with it the connection (spec L153).
#[test]
fn a_reader_that_goes_ends_the_bridge_although_the_dvm_is_silent() {
    let Bridge { input: _input, output, mut dvm, ended } = Bridge::new();
    dvm.read_exact(&mut [0]).unwrap();
    drop(output);
    ended.join().unwrap().unwrap();
}

/// Memory of the bridge is bounded (spec L153).
#[test]
fn a_side_that_does_not_read_makes_the_other_one_wait_and_nothing_is_lost() {
    let Bridge { mut input, mut output, mut dvm, ended } = Bridge::new();
    let line = [&vec![b'x'; 1 << 20][..], b"\n"].concat();
    let (said, sent) = ([b"{", &line[..]].concat(), [&line[..], &line[..], CLOSED_LINE].concat());
    let (fed, tell) = (said.clone(), [b"{", &sent[..]].concat());
    let user = thread::spawn(move || {
        input.write_all(&fed).expect("somebody reads the input");
        drop(input);
        // Nobody has read the output so far.
        let mut all = Vec::new();
        output.read_to_end(&mut all).expect("an output");
        all
    });
    let told = tell.clone();
    let mut speaker = dvm.try_clone().unwrap();
    let head = thread::spawn(move || {
        speaker.write_all(&told).expect("somebody listens");
        speaker.shutdown(std::net::Shutdown::Write).expect("a socket");
    });
    let mut heard = vec![0; said.len()];
    dvm.read_exact(&mut heard).unwrap();
    assert!(heard == said, "the input has changed");
    head.join().unwrap();
    assert!(user.join().unwrap() == tell, "the output has changed");
    ended.join().unwrap().unwrap();
}

#[test]
fn an_input_that_cannot_be_read_is_a_fault_and_no_end() {
    let (stream, mut dvm) = UnixStream::pair().unwrap();
    let (_output, to_user) = pipe().unwrap();
    let channel = Channel { dvm: "d".to_owned(), head: None, stream, relay: None };
    let directory = std::fs::File::open("/").unwrap();
    let ended = thread::spawn(move || join(channel, directory, to_user));
    let mut heard = String::new();
    BufReader::new(&dvm).read_line(&mut heard).unwrap();
    dvm.write_all(CLOSED_LINE).unwrap();
    drop(dvm);
    assert!(matches!(ended.join().unwrap(), Err(BridgeError::Input(_))));
}
