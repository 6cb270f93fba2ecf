//! The port of `pdvm web`: connections of browsers of this machine, each with one request. Every user may connect, so
//! connections are few and short.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use super::request::{LONGEST, Question, Wanted, is_whole, judge};

/// The most connections at a time; further ones are closed.
const MOST: usize = 32;
/// The time before the next connection is taken after one has failed.
const PAUSE: Duration = Duration::from_millis(50);
/// The time for a request, and for the DVM's answer.
const LIMIT: Duration = Duration::from_secs(10);

/// A question of a browser, and where its answer goes; an error is a refusal of the DVM.
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) answer: Sender<Result<String, String>>,
}

/// Takes connections until the process ends.
pub(super) fn serve(listener: &TcpListener, token: &Arc<str>, questions: &Sender<Asked>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // A connection that has failed concerns its browser alone. When there are no more descriptors, the pause
            // keeps the loop from spinning until there are.
            std::thread::sleep(PAUSE);
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= MOST {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (token, questions, leaving) = (token.clone(), questions.clone(), open.clone());
        let begun = std::thread::Builder::new().spawn(move || {
            // The browser sees the outcome itself.
            let _ = answer(stream, &token, &questions);
            leaving.fetch_sub(1, Ordering::Relaxed);
        });
        if begun.is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn answer(mut stream: TcpStream, token: &str, questions: &Sender<Asked>) -> std::io::Result<()> {
    stream.set_write_timeout(Some(LIMIT))?;
    let head = read(&mut stream)?;
    let (status, kind, body) = match judge(&head, token) {
        Wanted::File(file) => ("200 OK", file.kind, file.text.to_owned()),
        Wanted::Refuse(status, why) => (status, "text/plain; charset=utf-8", format!("{why}\n")),
        Wanted::Ask(question) => match ask(question, questions) {
            Some(Ok(document)) => ("200 OK", "application/json", document),
            Some(Err(why)) => ("404 Not Found", "text/plain; charset=utf-8", format!("{why}\n")),
            None => ("504 Gateway Timeout", "text/plain; charset=utf-8", "The DVM does not answer.\n".to_owned()),
        },
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Reads the head of a request.
fn read(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let until = Instant::now() + LIMIT;
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    while !is_whole(&head) && head.len() < LONGEST {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => break,
            n => head.extend_from_slice(&piece[..n]),
        }
    }
    Ok(head)
}

fn ask(question: Question, questions: &Sender<Asked>) -> Option<Result<String, String>> {
    let (answer, answered) = channel();
    questions.send(Asked { question, answer }).ok()?;
    answered.recv_timeout(LIMIT).ok()
}
