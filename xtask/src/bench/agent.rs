//! A light launch agent: what `ssh host command` would be without encryption and sessions.
//!
//! The server (`xtask _agentd`) runs on every node of a benchmark's bed, the client (`xtask _agent [options] HOST
//! WORDS...`) stands in for ssh. The command gets the connection as its standard streams. It is for benchmarks on
//! virtual nodes only: it does not authenticate its callers.

use std::io::{Read, Write, stdin, stdout};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::args::Args;

const PORT: u16 = 2222;

/// Options of ssh with a value that launchers use.
const WITH_VALUE: [&str; 4] = ["-l", "-p", "-o", "-i"];

/// `xtask _agentd`: serves until it is killed.
pub(crate) fn serve_main(args: Args) -> Result<()> {
    args.finish()?;
    let listener = TcpListener::bind(("0.0.0.0", PORT))?;
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || {
            if let Err(error) = answer(stream) {
                eprintln!("agent: {error:#}");
            }
        });
    }
    Ok(())
}

fn answer(mut stream: TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut line = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut line)?;
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(String::from_utf8(line)?).current_dir("/root").process_group(0);
    command.stdin(OwnedFd::from(stream.try_clone()?));
    command.stdout(OwnedFd::from(stream.try_clone()?));
    command.stderr(OwnedFd::from(stream));
    let mut child = command.spawn()?;
    // The command has the connection now; our copy is closed, or the client would wait for ever.
    drop(command);
    child.wait()?;
    Ok(())
}

/// `xtask _agent [options] HOST WORDS...`
pub(crate) fn call(words: Vec<String>) -> Result<()> {
    let mut words = words.into_iter();
    let host = loop {
        let word = words.next().context("no host")?;
        match word.strip_prefix('-') {
            Some(_) if WITH_VALUE.contains(&word.as_str()) => drop(words.next()),
            Some(_) => {}
            None => break word,
        }
    };
    let line = words.collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        bail!("no command for {host}");
    }
    let mut stream = TcpStream::connect((host.as_str(), PORT)).with_context(|| format!("cannot reach {host}"))?;
    stream.set_nodelay(true)?;
    let mut message = (line.len() as u32).to_be_bytes().to_vec();
    message.extend(line.as_bytes());
    stream.write_all(&message)?;
    let mut input = stream.try_clone()?;
    std::thread::spawn(move || {
        let _ = pass_on(&mut stdin().lock(), &mut input);
        let _ = input.shutdown(Shutdown::Write);
    });
    pass_on(&mut stream, &mut stdout().lock())
}

/// Copies until the input ends. `std::io::copy` would splice a connection into a pipe, and a splice that waits for data
/// holds the lock of the pipe: the launcher could neither read the pipe nor close it.
fn pass_on(from: &mut impl Read, to: &mut impl Write) -> Result<()> {
    let mut buffer = [0; 8192];
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..n])?;
        to.flush()?;
    }
}
