//! Bytes that arrive before a peer is known to be one of ours: launch tickets, preambles, hellos.
#![no_main]

use ferrite_wire::{Hello, PREAMBLE_LEN, Ticket, check_preamble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(ticket) = Ticket::decode(data) {
        assert_eq!(Ticket::decode(&ticket.encode()).map(|t| t.node), Ok(ticket.node));
    }
    if let Some(hello) = Hello::decode(data) {
        assert_eq!(Hello::decode(&hello.encode()), Some(hello));
    }
    if let Some(preamble) = data.first_chunk::<PREAMBLE_LEN>() {
        let _ = check_preamble(preamble);
    }
});
