//! Frames to Noise messages and back. Each frame is its length (u32, little endian) and its bytes; that stream is cut
//! into Noise messages, each preceded by its own length (u16). Several small frames share a message, a large one spans
//! many.

use std::rc::Rc;

use bytes::{Buf, Bytes, BytesMut};
use ferrite_wire::{CodecError, Frame, MAX_FRAME};
use snow::StatelessTransportState;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::handshake::TAG;

const MAX_MESSAGE: usize = 65535;
const MAX_PLAIN: usize = MAX_MESSAGE - TAG;
/// Sealed bytes that are collected before a write: this saves writes, and a second copy of a large frame.
const WRITE_AT: usize = 2 * (MAX_MESSAGE + 2);

/// The reason why a link ends.
#[derive(Debug, Error)]
pub(crate) enum SealError {
    /// The bytes were tampered with, or there is a bug.
    #[error("a message does not authenticate")]
    Damaged,
    /// The frame is longer than allowed; its length (bytes).
    #[error("a frame of {0} bytes is longer than any frame can be")]
    TooLong(usize),
    /// The frame does not decode.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The connection failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The sending side of a link.
pub(super) struct Sealer<W> {
    noise: Rc<StatelessTransportState>,
    nonce: u64,
    plain: Vec<u8>,
    /// Buffer of sealed bytes, never shrunk; `ready` bytes of it wait to be written.
    sealed: Vec<u8>,
    ready: usize,
    out: W,
}

impl<W: AsyncWrite + Unpin> Sealer<W> {
    pub(super) fn new(noise: Rc<StatelessTransportState>, first_nonce: u64, out: W) -> Self {
        Sealer { noise, nonce: first_nonce, plain: Vec::new(), sealed: Vec::new(), ready: 0, out }
    }

    /// Takes a frame; bytes that do not fill a message stay here until [`Sealer::flush`].
    pub(super) async fn send(&mut self, mut frame: Frame) -> Result<(), SealError> {
        // The header is encoded apart, so that the payload is not copied.
        let payload = std::mem::take(&mut frame.payload);
        let header = frame.encode();
        let length = header.len() + payload.len();
        if length > MAX_FRAME {
            return Err(SealError::TooLong(length));
        }
        self.push(&(length as u32).to_le_bytes()).await?;
        self.push(&header).await?;
        self.push(&payload).await
    }

    /// Writes everything out.
    pub(super) async fn flush(&mut self) -> Result<(), SealError> {
        if !self.plain.is_empty() {
            let plain = std::mem::take(&mut self.plain);
            self.seal(&plain)?;
            self.plain = plain;
            self.plain.clear();
        }
        self.write_out().await
    }

    /// Returns the writer.
    pub(super) fn into_inner(self) -> W {
        self.out
    }

    async fn push(&mut self, mut bytes: &[u8]) -> Result<(), SealError> {
        while !bytes.is_empty() {
            if self.plain.is_empty() && bytes.len() >= MAX_PLAIN {
                self.seal(&bytes[..MAX_PLAIN])?;
                bytes = &bytes[MAX_PLAIN..];
            } else {
                let n = bytes.len().min(MAX_PLAIN - self.plain.len());
                self.plain.extend_from_slice(&bytes[..n]);
                bytes = &bytes[n..];
                if self.plain.len() < MAX_PLAIN {
                    return Ok(());
                }
                let plain = std::mem::take(&mut self.plain);
                self.seal(&plain)?;
                self.plain = plain;
                self.plain.clear();
            }
            if self.ready >= WRITE_AT {
                self.write_out().await?;
            }
        }
        Ok(())
    }

    fn seal(&mut self, plain: &[u8]) -> Result<(), SealError> {
        let length = plain.len() + TAG;
        let end = self.ready + 2 + length;
        if self.sealed.len() < end {
            self.sealed.resize(end, 0);
        }
        let message = &mut self.sealed[self.ready..end];
        message[..2].copy_from_slice(&(length as u16).to_le_bytes());
        self.noise.write_message(self.nonce, plain, &mut message[2..]).map_err(|_| SealError::Damaged)?;
        self.nonce += 1;
        self.ready = end;
        Ok(())
    }

    async fn write_out(&mut self) -> Result<(), SealError> {
        if self.ready > 0 {
            self.out.write_all(&self.sealed[..self.ready]).await?;
            self.ready = 0;
        }
        Ok(())
    }
}

/// The receiving side of a link.
pub(super) struct Opener<R> {
    noise: Rc<StatelessTransportState>,
    nonce: u64,
    /// Received sealed bytes: `start..end` of it.
    sealed: Vec<u8>,
    start: usize,
    end: usize,
    plain: Vec<u8>,
    /// The beginning of a frame whose end has not come yet.
    partial: BytesMut,
    input: R,
}

impl<R: AsyncRead + Unpin> Opener<R> {
    pub(super) fn new(noise: Rc<StatelessTransportState>, first_nonce: u64, input: R) -> Self {
        Opener {
            noise,
            nonce: first_nonce,
            sealed: vec![0; 4096],
            start: 0,
            end: 0,
            plain: Vec::new(),
            partial: BytesMut::new(),
            input,
        }
    }

    /// Reads once and appends the frames that are complete now; false at the end of the stream.
    pub(super) async fn receive(&mut self, frames: &mut Vec<Frame>) -> Result<bool, SealError> {
        self.make_room();
        let n = self.input.read(&mut self.sealed[self.end..]).await?;
        self.end += n;
        while let Some(length) = self.next_length() {
            let message = self.start + 2..self.start + 2 + length;
            if message.end > self.end {
                break;
            }
            self.start = message.end;
            self.open(message, frames)?;
        }
        Ok(n > 0)
    }

    /// Moves the remaining bytes to the front and grows the buffer when it was full: a busy link gets a large one, an
    /// idle link keeps a small one.
    fn make_room(&mut self) {
        let was_full = self.end == self.sealed.len();
        self.sealed.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if was_full && self.sealed.len() < WRITE_AT {
            let larger = (self.sealed.len() * 4).min(WRITE_AT);
            self.sealed.resize(larger, 0);
        }
    }

    fn next_length(&self) -> Option<usize> {
        let bytes = self.sealed[self.start..self.end].first_chunk::<2>()?;
        Some(usize::from(u16::from_le_bytes(*bytes)))
    }

    fn open(&mut self, message: std::ops::Range<usize>, frames: &mut Vec<Frame>) -> Result<(), SealError> {
        if self.plain.len() < message.len() {
            self.plain.resize(message.len(), 0);
        }
        let n = self
            .noise
            .read_message(self.nonce, &self.sealed[message], &mut self.plain)
            .map_err(|_| SealError::Damaged)?;
        self.nonce += 1;
        let plain = std::mem::take(&mut self.plain);
        let result = self.assemble(&plain[..n], frames);
        self.plain = plain;
        result
    }

    fn assemble(&mut self, mut plain: &[u8], frames: &mut Vec<Frame>) -> Result<(), SealError> {
        if !self.partial.is_empty() {
            let n = self.missing()?.min(plain.len());
            self.partial.extend_from_slice(&plain[..n]);
            plain = &plain[n..];
            // The length itself may have been missing.
            let n = self.missing()?.min(plain.len());
            self.partial.extend_from_slice(&plain[..n]);
            plain = &plain[n..];
            if self.missing()? > 0 {
                return Ok(());
            }
            let mut frame = std::mem::take(&mut self.partial).freeze();
            frame.advance(4);
            frames.push(Frame::decode(frame)?);
        }
        // One allocation serves all small frames of a message: they are slices of it.
        let mut whole = Bytes::copy_from_slice(plain);
        while let Some(length) = frame_length(&whole)? {
            if whole.len() < 4 + length {
                break;
            }
            whole.advance(4);
            frames.push(Frame::decode(whole.split_to(length))?);
        }
        if !whole.is_empty() {
            self.partial.extend_from_slice(&whole);
            self.partial.reserve(self.missing()?);
        }
        Ok(())
    }

    /// Returns how many bytes the partial frame lacks, as far as is known.
    fn missing(&self) -> Result<usize, SealError> {
        Ok(match frame_length(&self.partial)? {
            None => 4 - self.partial.len(),
            Some(length) => 4 + length - self.partial.len(),
        })
    }
}

/// Reads the length prefix, and refuses a wrong one before memory is allocated for the frame.
fn frame_length(bytes: &[u8]) -> Result<Option<usize>, SealError> {
    let Some(prefix) = bytes.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes(*prefix) as usize;
    if length > MAX_FRAME {
        return Err(SealError::TooLong(length));
    }
    Ok(Some(length))
}
