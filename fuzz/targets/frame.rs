//! No bytes from a link make the frame codec panic, and a frame that decodes encodes to one that
//! decodes to the same. (The bytes may differ: a number has more than one encoding.)
#![no_main]

use bytes::Bytes;
use ferrite_wire::{Frame, Message};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(frame) = Frame::decode(Bytes::copy_from_slice(data)) {
        assert_eq!(Frame::decode(frame.encode()).as_ref(), Ok(&frame));
        if let Ok(message) = Message::decode(&frame.payload) {
            let _ = message.encode();
        }
    }
    if let Ok(message) = Message::decode(data) {
        let again = Message::decode(&message.encode());
        assert_eq!(again.map(|m| m.kind()), Ok(message.kind()));
    }
});
