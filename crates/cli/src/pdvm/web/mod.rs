//! `pdvm web`: a page about the DVM for a browser on this machine. It shows what `pdvm --json` prints, and changes
//! nothing. `request` decides what a browser gets, `door` has the port and its connections, and this module asks the
//! DVM, seldom enough that many browsers cost it no more than one.

mod door;
mod request;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use ferrite_client::ConnectionError;
use serde::Serialize;

use self::door::Asked;
use self::request::{Question, Wanted};
use super::dvm::Dvm;
use super::failure::Failure;
use super::options::{JobName, JobsOptions};
use super::{NAME, job, jobs, json, nodes, put, session, status};
use crate::frame;

/// An answer of the DVM serves all who ask within this time.
const FRESH: Duration = Duration::from_millis(500);
/// The time after which the DVM is asked whether it is still there, although no browser asks.
const PAUSE: Duration = Duration::from_secs(2);
/// The most answers that are kept.
const MOST_KEPT: usize = 64;

/// `kind: "web"`.
#[derive(Serialize)]
struct Place {
    url: String,
}

/// Opens the port, prints the address, and serves the page until the DVM ends or a signal comes.
///
/// # Errors
/// The port cannot be opened, and then how the DVM has ended.
pub(super) fn serve(mut dvm: Dvm, port: u16, json: bool) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|cause| Failure::Port { port, cause })?;
    let address = listener.local_addr().map_err(|cause| Failure::Port { port, cause })?;
    let token: Arc<str> = token().map_err(Failure::Machine)?.into();
    let url = format!("http://{address}/#{token}");
    let (_, moment) = dvm.status()?;
    put(&if json { json::document("web", &moment, Place { url }) } else { format!("{url}\n") })?;
    let (questions, asked) = channel();
    std::thread::spawn(move || door::serve(&listener, &token, &questions));
    match answer_all(dvm, &asked) {
        Err(Failure::Connection(ConnectionError::Lost { dvm, .. })) => {
            frame::print(&format!("{NAME}: the DVM {dvm} has ended\n"));
            Ok(())
        }
        ended => ended,
    }
}

/// True when this head of a request gets something about the DVM, for the fuzz target.
#[must_use]
pub fn is_answered(head: &[u8], token: &str) -> bool {
    matches!(request::judge(head, token), Wanted::Ask(_))
}

/// A secret that the address has and other users of the machine do not know.
fn token() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn answer_all(mut dvm: Dvm, asked: &Receiver<Asked>) -> Result<(), Failure> {
    let mut kept: BTreeMap<Question, (Instant, Result<String, String>)> = BTreeMap::new();
    loop {
        let Asked { question, answer } = match asked.recv_timeout(PAUSE) {
            Ok(asked) => asked,
            Err(RecvTimeoutError::Timeout) => {
                dvm.status()?;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        kept.retain(|_, (when, _)| when.elapsed() < FRESH);
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        let document = match kept.get(&question) {
            Some((_, document)) => document.clone(),
            None => {
                let document = match document(&mut dvm, question) {
                    Err(Failure::Refused(why)) => Err(why),
                    Err(failure) => return Err(failure),
                    Ok(document) => Ok(document),
                };
                kept.insert(question, (Instant::now(), document.clone()));
                document
            }
        };
        // A browser that is gone needs no answer.
        let _ = answer.send(document);
    }
}

fn document(dvm: &mut Dvm, question: Question) -> Result<String, Failure> {
    match question {
        Question::Status => status::answer(dvm, true),
        Question::Nodes => nodes::answer(dvm, true),
        Question::Jobs => jobs::answer(dvm, &JobsOptions { all: false, tree: false }, true),
        Question::Sessions => session::list(dvm, true),
        Question::Job(id) => job::answer(dvm, &JobName { id, dvm: None }, true),
    }
}
