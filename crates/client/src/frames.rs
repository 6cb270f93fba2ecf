//! Decodes the bytes of a control connection into messages, however they were split on the way. Pure.

use ferrite_wire::CodecError;
use ferrite_wire::control::{DvmMessage, MAX_CONTROL_FRAME};
use thiserror::Error;

/// The reason why the other side cannot be understood any more.
#[derive(Debug, Error)]
pub enum FrameError {
    /// The length exceeds that of any message (bytes).
    #[error("a message of {0} bytes was announced, which is more than any has")]
    TooLong(usize),
    /// The message cannot be decoded.
    #[error("a message cannot be decoded: {0}")]
    Message(#[from] CodecError),
}

/// Received bytes; beyond the consumed ones there is at most one message.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: Vec<u8>,
    /// Number of consumed bytes. They are removed only when they are most of the buffer, so that many small messages
    /// cost one move.
    taken: usize,
}

impl Frames {
    /// Adds received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.taken > self.buffer.len() / 2 {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next whole message; `None` = more bytes are needed.
    ///
    /// # Errors
    /// When no message can follow any more.
    pub fn next_message(&mut self) -> Result<Option<DvmMessage>, FrameError> {
        let Some((length, rest)) = self.buffer[self.taken..].split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > MAX_CONTROL_FRAME {
            return Err(FrameError::TooLong(length));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let message = DvmMessage::decode(body)?;
        self.taken += 4 + length;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrite_types::JobId;
    use ferrite_wire::control::Reply;

    #[test]
    fn messages_come_out_however_the_bytes_were_cut() {
        let sent: Vec<DvmMessage> =
            (0..40).map(|id| DvmMessage::Reply { id, reply: Reply::Detached(JobId(id)) }).collect();
        let bytes: Vec<u8> = sent.iter().flat_map(|message| message.encode_frame().to_vec()).collect();
        for size in [1, 3, 7, bytes.len()] {
            let mut frames = Frames::default();
            let mut got = Vec::new();
            for part in bytes.chunks(size) {
                frames.feed(part);
                while let Some(message) = frames.next_message().unwrap() {
                    got.push(message);
                }
            }
            assert_eq!(got, sent, "{size}");
        }
    }

    #[test]
    fn nonsense_is_an_error_and_not_a_wait() {
        let mut frames = Frames::default();
        frames.feed(&u32::MAX.to_le_bytes());
        assert!(matches!(frames.next_message(), Err(FrameError::TooLong(_))));
        let mut frames = Frames::default();
        frames.feed(&[1, 0, 0, 0, 250]);
        assert!(matches!(frames.next_message(), Err(FrameError::Message(_))));
    }
}
