use super::*;
use proptest::prelude::*;

#[test]
fn the_conversation_of_an_mpi_program_is_understood() {
    let bytes = b"cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\ncmd=get_appnum\ncmd=get_my_kvsname\n\
        cmd=get kvsname=kvs_1 key=PMI_process_mapping\ncmd=put kvsname=kvs_1 key=P0-bc value=x$y#1 z\n\
        cmd=barrier_in\ncmd=get_universe_size\ncmd=finalize\n";
    let requests = parse(bytes).expect("it is PMI-1");
    let (kvsname, key) = ("kvs_1".to_owned(), "PMI_process_mapping".to_owned());
    let put = Request::Put { kvsname: kvsname.clone(), key: "P0-bc".into(), value: "x$y#1 z".into() };
    assert_eq!(
        requests,
        [
            Request::Init { version: 1, subversion: 1 },
            Request::GetMaxes,
            Request::GetAppnum,
            Request::GetMyKvsname,
            Request::Get { kvsname, key },
            put,
            Request::BarrierIn,
            Request::GetUniverseSize,
            Request::Finalize,
        ]
    );
}

#[test]
fn a_line_without_words_is_skipped_however_it_is_cut() {
    let line = [&[b' '; 12][..], b"\t\r\n"].concat();
    for cut in 0..line.len() {
        let mut parser = Parser::new();
        for part in [&line[..cut], &line[cut..], b"cmd=get_maxes\n"] {
            parser.feed(part);
            let found = parser.next_request();
            assert_eq!(found, part.starts_with(b"cmd").then_some(Ok(Request::GetMaxes)), "cut after {cut} bytes");
        }
    }
    // A vertical tab is no space here, whether its line is whole or not.
    assert!(parse(b"\x0b\n").is_err() && parse(b"\x0b").is_err());
}

#[test]
fn an_abort_keeps_its_message_with_spaces() {
    let requests = parse(b"cmd=abort exitcode=7 message=out of luck\n").expect("it is PMI-1");
    assert_eq!(requests, [Request::Abort { exit_code: 7, message: "out of luck".into() }]);
    let requests = parse(b"cmd=abort exitcode=-1\n").expect("it is PMI-1");
    assert_eq!(requests, [Request::Abort { exit_code: -1, message: String::new() }]);
}

#[test]
fn names_may_contain_spaces() {
    let bytes = b"cmd=publish_name service=my port=service port=tag#0$connentry#\ncmd=lookup_name service=my service\n\
        cmd=unpublish_name service=my service\ncmd=publish_name service=s port=\n";
    let text = str::to_owned;
    assert_eq!(
        parse(bytes).expect("it is PMI-1"),
        [
            Request::PublishName { service: text("my port=service"), port: text("tag#0$connentry#") },
            Request::LookupName { service: text("my service") },
            Request::UnpublishName { service: text("my service") },
            Request::PublishName { service: text("s"), port: String::new() },
        ]
    );
    for bad in ["publish_name service=s", "publish_name port=p", "lookup_name", "unpublish_name service="] {
        let line = format!("cmd={bad}\n");
        assert!(matches!(parse(line.as_bytes()), Err(ParseError::BadField { .. })), "{bad}");
    }
    let long = format!("cmd=lookup_name service={}\n", "s".repeat(MAX_VALUE + 1));
    assert!(matches!(parse(long.as_bytes()), Err(ParseError::BadField { field: "service", .. })));
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_the_memory() {
    let mut parser = Parser::new();
    parser.feed(&vec![b'x'; MAX_LINE + 1]);
    assert_eq!(parser.next_request(), Some(Err(ParseError::LineTooLong)));
    parser.feed(b"cmd=init\n");
    assert_eq!(parser.next_request(), None, "nothing follows an error");
    assert!(parser.buffer.is_empty());
}

#[test]
fn other_protocols_and_garbage_are_named() {
    assert_eq!(parse(b"    42cmd=fullinit;pmirank=0;"), Err(ParseError::Pmi2), "it sends no newline");
    assert!(matches!(parse(b"\x00\x01"), Err(ParseError::NoCommand { .. })), "no need to wait for a newline");
    assert_eq!(parse(b"cm"), Ok(vec![]), "a start of a line is not judged");
    assert!(matches!(parse(b"GET / HTTP/1.1\n"), Err(ParseError::NoCommand { .. })));
    assert!(matches!(parse(b"cmd=explode\n"), Err(ParseError::UnknownCommand { .. })));
    assert_eq!(parse(b"cmd=put \xff\n"), Err(ParseError::NotText));
    let long = format!("cmd=put kvsname=k key={} value=v\n", "k".repeat(65));
    assert!(matches!(parse(long.as_bytes()), Err(ParseError::BadField { field: "key", .. })));
    assert!(matches!(parse(b"cmd=get kvsname=k\n"), Err(ParseError::BadField { field: "key", .. })));
    assert!(matches!(parse(b"cmd=init pmi_version=x\n"), Err(ParseError::BadField { .. })));
}

proptest! {
    #[test]
    fn any_bytes_are_taken_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn portions_do_not_matter(cuts in proptest::collection::vec(0usize..120, 0..6)) {
        let text = b"cmd=init pmi_version=1 pmi_subversion=1\nmcmd=spawn\nx=1\nendcmd\ncmd=put kvsname=a key=b value=c d\ncmd=finalize\n";
        let mut parser = Parser::new();
        let mut requests = Vec::new();
        let mut cuts = cuts;
        cuts.push(text.len());
        cuts.sort_unstable();
        let mut from = 0;
        for cut in cuts.into_iter().map(|cut| cut.min(text.len())) {
            parser.feed(&text[from..cut]);
            from = cut;
            requests.extend(std::iter::from_fn(|| parser.next_request()));
        }
        let whole: Vec<_> = parse(text).expect("it is PMI-1").into_iter().map(Ok).collect();
        prop_assert_eq!(requests, whole);
    }
}
