//! The handshake between the head and a client on another host, before the conversation of [`crate::control`]. The
//! head listens on TCP; both sides send the greeting of `control` unencrypted, so that a stranger or another version
//! is told apart from a wrong key. Then comes Noise with the key of the key file, two messages of [`HELLO_LEN`]
//! bytes, and after that records: a length (2 bytes, little-endian) and that many sealed bytes. The client's first
//! record is empty: it proves that its hello was no replay. The records carry the same bytes as the control socket.
//!
//! This module is pure: `driver` and `client` have the sockets and ciphers.

/// The Noise protocol.
pub const REMOTE_PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// Length of the key (bytes).
pub const KEY_LEN: usize = 32;

/// Length of a seal's tag (bytes).
pub const TAG_LEN: usize = 16;

/// Length of each handshake message: a public key and a tag (bytes).
pub const HELLO_LEN: usize = 32 + TAG_LEN;

/// The most bytes in a record before sealing.
pub const MAX_PLAIN: usize = u16::MAX as usize - TAG_LEN;

/// The Noise prologue, which both sides must share besides the key: this protocol, and the name of the DVM.
#[must_use]
pub fn prologue(dvm: &str) -> Vec<u8> {
    [b"ferrite control", dvm.as_bytes()].concat()
}

/// The text of a key file.
#[must_use]
pub fn key_text(key: &[u8; KEY_LEN]) -> String {
    // Allocated in full at once: a growing string would leave copies of the key behind.
    let mut text = String::with_capacity(2 * KEY_LEN + 1);
    for byte in key {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    text.push('\n');
    text
}

/// The key from the text of a key file; `None` when it has none.
#[must_use]
pub fn parse_key(text: &str) -> Option<[u8; KEY_LEN]> {
    let digits = text.trim().as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    if digits.len() != 2 * KEY_LEN {
        return None;
    }
    let mut key = [0; KEY_LEN];
    for (byte, [high, low]) in key.iter_mut().zip(digits.as_chunks::<2>().0) {
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Some(key)
}

/// Host and port from `host:port`, `1.2.3.4:port`, `[::1]:port`; `None` for any other text.
#[must_use]
pub fn split_address(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    // An IPv6 address without brackets has no clear end.
    let host = bare.or(Some(host).filter(|host| !host.contains(':')))?;
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '[' | ']');
    let is_name = !host.is_empty() && !host.contains(is_odd);
    Some((host, port.parse().ok()?)).filter(|_| is_name)
}

/// Joins host and port, with brackets around an IPv6 address.
#[must_use]
pub fn join_address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_from_its_text_and_from_nothing_else() {
        let key: [u8; KEY_LEN] = std::array::from_fn(|i| (i * 37) as u8);
        let text = key_text(&key);
        assert_eq!((text.len(), text.ends_with('\n')), (65, true));
        assert_eq!(parse_key(&text), Some(key));
        assert_eq!(parse_key(&text.to_uppercase()), Some(key));
        for bad in ["", &text[1..], &text.replace(&text[..1], "x"), &format!("0{text}"), &"é".repeat(KEY_LEN)] {
            assert_eq!(parse_key(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for text in ["n0:4000", "10.0.0.1:1", "[::1]:65535", "n0:0"] {
            let (host, port) = split_address(text).unwrap();
            assert_eq!(join_address(host, port), text);
        }
        for bad in
            ["", "n0", ":1", "n0:", "n0:x", "n0:65536", "::1:4000", "[]:1", "[::1:4", "a b:1", "n0:-1", "[a]b]:1"]
        {
            assert_eq!(split_address(bad), None, "{bad}");
        }
    }

    #[test]
    fn another_dvm_has_another_prologue() {
        assert_ne!(prologue("prte-n0-1"), prologue("prte-n0-2"));
    }
}
