//! Signals of this process as a descriptor to poll. A handler only writes a byte.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use ferrite_types::Signal;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

/// A command like `timeout` signals its child and then the whole process group: repetitions within this time count as
/// one signal.
const SAME_SIGNAL_WITHIN: Duration = Duration::from_millis(20);

/// The requested signals.
pub(crate) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    last: Option<(Signal, Instant)>,
}

impl Signals {
    /// Catches these from now on, for as long as the process lives.
    pub(crate) fn catch(signals: &[Signal]) -> io::Result<Signals> {
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, signals.iter().map(|signal| signal.0))?;
        Ok(Signals { delivery, last: None })
    }

    /// Readable when there is one.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// Returns the signals that came since the last call.
    pub(crate) fn take(&mut self) -> Vec<Signal> {
        let now = Instant::now();
        let mut came: Vec<Signal> = self.delivery.pending().map(Signal).collect();
        came.retain(|signal| {
            let again = self.last.is_some_and(|(last, at)| last == *signal && now - at < SAME_SIGNAL_WITHIN);
            self.last = Some((*signal, now));
            !again
        });
        came
    }
}

/// True when this process was started with the signal ignored, as `nohup` does it with SIGHUP.
#[must_use]
pub fn is_ignored(Signal(signal): Signal) -> bool {
    let lines = File::open("/proc/self/status").map(|status| BufReader::new(status).lines());
    let mut lines = lines.into_iter().flatten().map_while(Result::ok);
    let mask = lines.find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let mask = mask.unwrap_or(0);
    (1..=64).contains(&signal) && mask & (1 << (signal - 1)) != 0
}
