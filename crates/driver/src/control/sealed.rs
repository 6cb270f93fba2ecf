//! The two directions of a sealed stream, as records of [`ferrite_wire::remote`]: `serve` reads from and writes to them
//! when its client is on another host.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use ferrite_wire::remote::{MAX_PLAIN, TAG_LEN};
use snow::StatelessTransportState;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Size of a record's length prefix (bytes).
const PREFIX: usize = 2;
/// Size of the largest record with its length prefix (bytes).
const MAX_RECORD: usize = PREFIX + MAX_PLAIN + TAG_LEN;
/// Size of the buffer for a client that sends little (bytes).
const SMALL_BUFFER: usize = 4096;

/// Decrypts the records of the client.
pub(super) struct SealedReader<R> {
    noise: Rc<StatelessTransportState>,
    nonce: u64,
    /// Received bytes that are not decrypted yet: `start..end` of it.
    sealed: Vec<u8>,
    start: usize,
    end: usize,
    /// Decrypted bytes, of which `given` were taken.
    plain: Vec<u8>,
    given: usize,
    input: R,
}

/// Encrypts records for the client. Bytes that the connection does not take at once wait for the next call, or for
/// `flush`.
pub(super) struct SealedWriter<W> {
    noise: Rc<StatelessTransportState>,
    nonce: u64,
    /// One record, of which `written` bytes are sent.
    sealed: Vec<u8>,
    written: usize,
    out: W,
}

impl<R> SealedReader<R> {
    /// Starts with this number for the next record.
    pub(super) fn new(noise: Rc<StatelessTransportState>, nonce: u64, input: R) -> SealedReader<R> {
        let sealed = vec![0; SMALL_BUFFER];
        SealedReader { noise, nonce, sealed, start: 0, end: 0, plain: Vec::new(), given: 0, input }
    }

    /// Decrypts a record if all of it has come.
    fn open_next(&mut self) -> io::Result<bool> {
        let Some(record) = first_record(&self.sealed[self.start..self.end]) else {
            return Ok(false);
        };
        open(&self.noise, self.nonce, record, &mut self.plain)?;
        self.start += PREFIX + record.len();
        self.nonce += 1;
        self.given = 0;
        Ok(true)
    }

    /// Moves the remaining bytes to the front, and grows the buffer when one record filled it.
    fn make_room(&mut self) {
        self.sealed.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.sealed.len() {
            self.sealed.resize((self.end * 4).min(MAX_RECORD), 0);
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for SealedReader<R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            let rest = &this.plain[this.given..];
            if !rest.is_empty() {
                let count = rest.len().min(into.remaining());
                into.put_slice(&rest[..count]);
                this.given += count;
                return Poll::Ready(Ok(()));
            }
            // An empty record carries no bytes, and must not be taken for the end.
            if this.open_next()? {
                continue;
            }
            this.make_room();
            let mut room = ReadBuf::new(&mut this.sealed[this.end..]);
            ready!(Pin::new(&mut this.input).poll_read(cx, &mut room))?;
            match room.filled().len() {
                0 if this.end == 0 => return Poll::Ready(Ok(())),
                0 => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                count => this.end += count,
            }
        }
    }
}

impl<W: AsyncWrite + Unpin> SealedWriter<W> {
    /// Starts with this number for the next record.
    pub(super) fn new(noise: Rc<StatelessTransportState>, nonce: u64, out: W) -> SealedWriter<W> {
        SealedWriter { noise, nonce, sealed: Vec::new(), written: 0, out }
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.sealed.len() {
            match ready!(Pin::new(&mut self.out).poll_write(cx, &self.sealed[self.written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for SealedWriter<W> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_drain(cx))?;
        let piece = &bytes[..bytes.len().min(MAX_PLAIN)];
        this.sealed.clear();
        this.written = 0;
        seal(&this.noise, this.nonce, piece, &mut this.sealed)?;
        this.nonce += 1;
        match this.poll_drain(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(piece.len())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_drain(cx))?;
        Pin::new(&mut this.out).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_drain(cx))?;
        Pin::new(&mut this.out).poll_shutdown(cx)
    }
}

/// Returns the first record of these bytes, without its length; `None` while part of it is missing.
fn first_record(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<PREFIX>()?;
    rest.get(..usize::from(u16::from_le_bytes(*length)))
}

/// Appends a record with these bytes.
fn seal(noise: &StatelessTransportState, nonce: u64, plain: &[u8], to: &mut Vec<u8>) -> io::Result<()> {
    let (start, length) = (to.len(), plain.len() + TAG_LEN);
    to.extend_from_slice(&u16::try_from(length).map_err(io::Error::other)?.to_le_bytes());
    to.resize(start + PREFIX + length, 0);
    noise.write_message(nonce, plain, &mut to[start + PREFIX..]).map_err(io::Error::other)?;
    Ok(())
}

/// Decrypts the content of a record.
pub(super) fn open(noise: &StatelessTransportState, nonce: u64, record: &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
    plain.resize(record.len(), 0);
    let damaged = |_| io::Error::new(io::ErrorKind::InvalidData, "a record does not authenticate");
    let count = noise.read_message(nonce, record, plain).map_err(damaged)?;
    plain.truncate(count);
    Ok(())
}

#[cfg(test)]
mod tests {
    use ferrite_wire::remote::{HELLO_LEN, REMOTE_PATTERN};
    use snow::Builder;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn ends() -> (Rc<StatelessTransportState>, Rc<StatelessTransportState>) {
        let builder = || Builder::new(REMOTE_PATTERN.parse().unwrap()).psk(0, &[7; 32]).unwrap();
        let (mut one, mut other) = (builder().build_initiator().unwrap(), builder().build_responder().unwrap());
        let mut hello = [0; HELLO_LEN];
        one.write_message(&[], &mut hello).unwrap();
        other.read_message(&hello, &mut []).unwrap();
        other.write_message(&[], &mut hello).unwrap();
        one.read_message(&hello, &mut []).unwrap();
        let done = |noise: snow::HandshakeState| Rc::new(noise.into_stateless_transport_mode().unwrap());
        (done(one), done(other))
    }

    fn play(scene: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(scene);
    }

    #[test]
    fn what_is_written_is_read_in_whatever_pieces_it_travels() {
        play(async {
            for pipe in [1, 19, 4096, 1 << 20] {
                let size = if pipe == 1 { 5_000 } else { 3 * MAX_PLAIN + 7 };
                let bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
                let (one, other) = ends();
                let (near, far) = tokio::io::duplex(pipe);
                let mut writer = SealedWriter::new(one, 0, near);
                let mut reader = SealedReader::new(other, 0, far);
                let write = async {
                    writer.write_all(&bytes).await.unwrap();
                    // An empty record in the middle is no end.
                    let _ = writer.write(&[]).await.unwrap();
                    writer.write_all(b"the end").await.unwrap();
                    writer.shutdown().await.unwrap();
                };
                let mut got = Vec::new();
                let (_, read) = tokio::join!(write, reader.read_to_end(&mut got));
                read.unwrap();
                assert!(got[..size] == bytes && &got[size..] == b"the end", "pipe of {pipe} bytes");
            }
        });
    }

    #[test]
    fn a_record_that_is_damaged_repeated_or_cut_off_ends_the_stream() {
        play(async {
            let (one, other) = ends();
            let mut record = Vec::new();
            seal(&one, 0, b"abc", &mut record).unwrap();
            let mut damaged = record.clone();
            damaged[5] ^= 1;
            for bytes in
                [damaged, [&record[..], &record[..]].concat(), record[..7].to_vec(), vec![0, 0], vec![3, 0, 1, 2, 3]]
            {
                let mut reader = SealedReader::new(other.clone(), 0, &bytes[..]);
                assert!(reader.read_to_end(&mut Vec::new()).await.is_err(), "{bytes:?}");
            }
            let mut got = Vec::new();
            SealedReader::new(other, 0, &record[..]).read_to_end(&mut got).await.unwrap();
            assert_eq!(got, b"abc");
            assert!(seal(&one, 1, &vec![0; MAX_PLAIN + 1], &mut record).is_err());
        });
    }
}
