//! No bytes of a client make the DVM panic, and none of a DVM its client; a message that decodes encodes to one that
//! decodes to the same. Greetings are bytes of strangers too.
#![no_main]

use ferrite_wire::control::{ClientMessage, DvmMessage, check_greeting};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(message) = ClientMessage::decode(data) {
        assert_eq!(ClientMessage::decode(&message.encode_frame()[4..]).as_ref(), Ok(&message));
    }
    if let Ok(message) = DvmMessage::decode(data) {
        assert_eq!(DvmMessage::decode(&message.encode_frame()[4..]).as_ref(), Ok(&message));
    }
    if let Some(greeting) = data.first_chunk() {
        let _ = check_greeting(greeting);
    }
});
