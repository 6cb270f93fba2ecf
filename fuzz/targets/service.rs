//! Lines for the service of a DVM: whatever comes, each line is answered by whole lines or by messages for the DVM.
#![no_main]

use std::time::Duration;

use ferrite_cli::service::JsonService;
use ferrite_driver::{Interpreter, Service};
use ferrite_types::JobId;
use ferrite_wire::control::{ClientMessage, DvmMessage, Reply, Request};
use libfuzzer_sys::fuzz_target;

const NOW: Duration = Duration::from_secs(2_000_000_000);

thread_local! {
    // Making the definitions of options costs more than a conversation.
    static SERVICE: JsonService = JsonService::plain();
}

fuzz_target!(|bytes: &[u8]| {
    SERVICE.with(|service| {
        let mut talk = service.interpreter("dvm", Duration::ZERO);
        for piece in bytes.chunks(61) {
            talk.hear(piece);
            converse(talk.as_mut());
        }
        talk.hear(b"\n");
        converse(talk.as_mut());
    });
});

fn converse(talk: &mut dyn Interpreter) {
    while let Some(said) = talk.next(NOW) {
        assert!(said.lines.is_empty() || said.lines.ends_with(b"\n"));
        for message in said.messages {
            let ClientMessage::Open { id, request } = message else { continue };
            let reply = match request {
                Request::Submit(submission) => {
                    assert!(!submission.spec.apps[0].argv[0].is_empty());
                    let job = JobId(id);
                    talk.tell(DvmMessage::Accepted { id, job, nspace: "n".to_owned() }, NOW);
                    talk.tell(DvmMessage::ReadStdin { id, limit: 7 }, NOW);
                    Reply::Detached(job)
                }
                Request::Kill(_) => Reply::Ordered,
                _ => Reply::Refused("no".to_owned()),
            };
            talk.tell(DvmMessage::Reply { id, reply }, NOW);
        }
    }
}
