//! `pdvm top` on a terminal: whatever ends it, the terminal is as it was.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::process::Child;
use std::time::{Duration, Instant};

use ferrite_types::JobId;
use ferrite_wire::control::Request;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::fake::{self, Fake, pdvm};

/// Long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

struct OnTerminal {
    child: Child,
    user: File,
    terminal: OwnedFd,
    before: Termios,
    shown: String,
}

impl OnTerminal {
    fn start(fake: &Fake) -> OnTerminal {
        let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&user).unwrap();
        unlockpt(&user).unwrap();
        let path = ptsname(&user, Vec::new()).unwrap();
        let terminal = rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 20, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let before = tcgetattr(&terminal).unwrap();
        let side = || terminal.try_clone().unwrap();
        let child = pdvm(fake).arg("top").stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        rustix::io::ioctl_fionbio(&user, true).unwrap();
        OnTerminal { child, user: File::from(user), terminal, before, shown: String::new() }
    }

    /// Reads until the DVM's first answer is shown, down to the last line. Keys before it find no job to work on.
    fn until_drawn(&mut self) {
        self.until("filter");
    }

    /// Reads until this was written. Only cells that changed are, so that words stand together, but not always
    /// sentences.
    fn until(&mut self, text: &str) {
        let began = Instant::now();
        while !self.shown.contains(text) {
            assert!(began.elapsed() < LIMIT, "no {text:?} in {:?}", self.shown);
            self.read();
        }
    }

    fn read(&mut self) {
        let mut buffer = [0; 4096];
        match self.user.read(&mut buffer) {
            Ok(count) => self.shown.push_str(&String::from_utf8_lossy(&buffer[..count])),
            Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(5)),
            Err(e) => panic!("{e}"),
        }
    }

    fn press(&mut self, keys: &str) {
        self.user.write_all(keys.as_bytes()).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Its end: well, and with the terminal as it was.
    fn ends_well(&mut self) {
        // The alternate screen is left, and the cursor is seen again.
        self.until("\x1b[?1049l");
        self.until("\x1b[?25h");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        let now = tcgetattr(&self.terminal).unwrap();
        assert_eq!((now.local_modes, now.input_modes), (self.before.local_modes, self.before.input_modes));
    }
}

#[test]
fn the_terminal_is_given_back_after_keys_and_signals() {
    let fake = Fake::new();
    for end in ["q", "\x03", "K\x03"] {
        let mut top = OnTerminal::start(&fake);
        top.until_drawn();
        assert_ne!(tcgetattr(&top.terminal).unwrap().local_modes, top.before.local_modes);
        top.press(end);
        top.ends_well();
    }
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let mut top = OnTerminal::start(&fake);
        top.until_drawn();
        top.signal(signal);
        top.ends_well();
    }
}

#[test]
fn the_end_of_the_terminal_is_the_end_of_top() {
    let fake = Fake::new();
    let mut top = OnTerminal::start(&fake);
    top.until_drawn();
    let OnTerminal { mut child, user, terminal, .. } = top;
    drop((user, terminal));
    let began = Instant::now();
    let ended = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if began.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(ended.expect("top goes on without a terminal").code(), Some(129));
}

#[test]
fn a_job_is_ended_by_a_key_and_a_yes() {
    let fake = Fake::new();
    let mut top = OnTerminal::start(&fake);
    top.until_drawn();
    // Had the first one been taken for a yes, there would be two orders.
    top.press("KnKy");
    let began = Instant::now();
    while fake.asked().is_empty() {
        assert!(began.elapsed() < LIMIT);
        top.read();
    }
    top.press("q");
    top.ends_well();
    assert_eq!(fake.asked(), [Request::Kill(JobId(1))]);
}

#[test]
fn the_end_of_the_dvm_is_the_end_of_top() {
    let looks = std::sync::atomic::AtomicU32::new(0);
    let fake = Fake::answering(move |request| {
        let look = looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (look < 5).then(|| fake::usual(request))
    });
    let mut top = OnTerminal::start(&fake);
    top.until("ended\r\n");
    top.ends_well();
}
