//! No bytes of a PMI-1 client make the parser panic, and it does not matter how they are cut into reads.
#![no_main]

use ferrite_pmi1::{Kvs, ParseError, Parser, Request, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (usize, &[u8])| {
    let (cut, data) = input;
    let whole = parse(data);
    let (first, second) = data.split_at(cut % (data.len() + 1));
    match (&whole, in_two_reads(first, second)) {
        (Ok(requests), two) => assert_eq!(two.as_ref(), Ok(requests)),
        (Err(_), two) => assert!(two.is_err(), "{whole:?}"),
    }
    let _ = Kvs::new().merge(data);
});

fn in_two_reads(first: &[u8], second: &[u8]) -> Result<Vec<Request>, ParseError> {
    let mut parser = Parser::new();
    let mut requests = Vec::new();
    for part in [first, second] {
        parser.feed(part);
        while let Some(request) = parser.next_request() {
            requests.push(request?);
        }
    }
    Ok(requests)
}
