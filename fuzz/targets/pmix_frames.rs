//! No bytes of the process that runs libpmix make its daemon panic, and none of a daemon that process. An upcall's
//! completer answers once.
#![no_main]

use ferrite_pmix::protocol::{AnswerSender, Frames};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let send = AnswerSender::new(|_| ());
    let mut frames = Frames::default();
    frames.buffer().extend(data);
    while let Ok(Some(_)) = frames.report(&send) {}
    let mut frames = Frames::default();
    frames.buffer().extend(data);
    while let Ok(Some(_)) = frames.order() {}
});
