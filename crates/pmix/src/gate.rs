//! The gate of a front door: what may pass to the library. The library reads the first message of a connection on its one
//! thread and waits for all of it, so that anything else than a complete first message must stay outside. Pure.

/// Longer first messages are nobody's: they hold a name, a rank and a few words.
const MAX_MESSAGE: usize = 16 * 1024;
/// What the header's first two fields hold in a first message.
const START: [u8; 8] = [0xff; 8];
/// Two marks, the length, and padding.
const HEADER: usize = 16;

/// What the bytes that a new connection has sent so far are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstMessage {
    /// Nothing wrong yet; read on, for a few seconds at most.
    Incomplete,
    /// Connect to the library, hand over all bytes, and relay from here on.
    Complete,
    /// No PMIx client: close the connection.
    Garbage,
}

impl FirstMessage {
    /// Judges everything that was received.
    pub fn judge(bytes: &[u8]) -> Self {
        let start = &bytes[..bytes.len().min(START.len())];
        if !START.starts_with(start) {
            return Self::Garbage;
        }
        let Some(len) = bytes.get(8..12).and_then(|len| len.try_into().ok()).map(u32::from_ne_bytes) else {
            return Self::Incomplete;
        };
        match len as usize {
            len if len == 0 || len > MAX_MESSAGE => Self::Garbage,
            len if bytes.len() < HEADER + len => Self::Incomplete,
            _ => Self::Complete,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(len: u32) -> Vec<u8> {
        let mut bytes = START.to_vec();
        bytes.extend_from_slice(&len.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend(std::iter::repeat_n(b'x', len.min(100) as usize));
        bytes
    }

    #[test]
    fn a_message_passes_when_its_last_byte_is_there() {
        let bytes = message(56);
        for end in 0..bytes.len() {
            assert_eq!(FirstMessage::judge(&bytes[..end]), FirstMessage::Incomplete, "{end}");
        }
        assert_eq!(FirstMessage::judge(&bytes), FirstMessage::Complete);
    }

    #[test]
    fn garbage_is_known_by_its_first_byte_or_its_length() {
        assert_eq!(FirstMessage::judge(b"G"), FirstMessage::Garbage);
        assert_eq!(FirstMessage::judge(&message(0)), FirstMessage::Garbage);
        assert_eq!(FirstMessage::judge(&message(u32::MAX)), FirstMessage::Garbage);
    }
}
