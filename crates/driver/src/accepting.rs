//! Taking calls at a listening socket, whatever it is for.

use std::io;
use std::time::Duration;

/// Out of descriptors, they may come back from anywhere: there is no one event to wait for. Whoever calls waits in the queue.
const PAUSE: Duration = Duration::from_millis(20);

/// The next caller. No error ends the listening: a caller may be gone already, and a lack of descriptors passes.
pub(crate) async fn next<T>(what: &str, accept: impl AsyncFn() -> io::Result<T>) -> T {
    loop {
        match accept().await {
            Ok(caller) => return caller,
            Err(error) => {
                tracing::warn!(%error, what, "a caller could not be let in");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn an_error_is_no_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let calls = Cell::new(0);
        let caller = runtime.block_on(next("tests", async || {
            calls.set(calls.get() + 1);
            if calls.get() < 3 { Err(io::Error::from_raw_os_error(libc::EMFILE)) } else { Ok("in") }
        }));
        assert_eq!((caller, calls.get()), ("in", 3));
    }
}
