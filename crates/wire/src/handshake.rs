//! The first bytes on a link, before any encryption: both sides name their build, so that a wrong version or a stray
//! client gets a clear answer. Then the driver's Noise handshake carries [`Hello`].

use ferrite_types::DaemonRank;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::SpreadId;

/// Version of the daemons' protocol, increased with every change of a message; daemons of one DVM are the same build.
pub(crate) const PROTOCOL: u64 = u64::from_le_bytes(*b"ferr0014");

/// Length of the preamble (bytes).
pub const PREAMBLE_LEN: usize = 32;

const MAGIC: &[u8; 8] = b"FERRITE\n";

/// The preamble of this build: magic, protocol, version text padded with zeros.
#[must_use]
pub fn preamble() -> [u8; PREAMBLE_LEN] {
    let mut out = [0; PREAMBLE_LEN];
    out[..8].copy_from_slice(MAGIC);
    out[8..16].copy_from_slice(&PROTOCOL.to_le_bytes());
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let n = version.len().min(16);
    out[16..16 + n].copy_from_slice(&version[..n]);
    out
}

/// The reason why the other side is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PreambleError {
    /// The other side is no Ferrite daemon.
    #[error("the other side does not speak Ferrite's protocol")]
    Stranger,
    /// The other side is another build.
    #[error("the other side is version {theirs}, this is {ours}: install the same build on every node")]
    OtherVersion {
        /// The version of the other side.
        theirs: String,
        /// The version of this build.
        ours: &'static str,
    },
}

/// Checks the other side's preamble.
///
/// # Errors
/// When it is not the preamble of this build.
pub fn check_preamble(theirs: &[u8; PREAMBLE_LEN]) -> Result<(), PreambleError> {
    if &theirs[..8] != MAGIC {
        return Err(PreambleError::Stranger);
    }
    if theirs == &preamble() {
        return Ok(());
    }
    let version: Vec<u8> = theirs[16..].iter().copied().take_while(u8::is_ascii_graphic).collect();
    Err(PreambleError::OtherVersion {
        theirs: String::from_utf8_lossy(&version).into_owned(),
        ours: env!("CARGO_PKG_VERSION"),
    })
}

/// The payload of the Noise handshake: the DVM and the rank of the sender, and what the connection is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Name of the DVM.
    pub dvm: String,
    /// The sender's rank.
    pub rank: DaemonRank,
    /// The spread whose lane the connection is to be; `None` = a link. The answerer says what the caller said.
    pub lane: Option<SpreadId>,
}

impl Hello {
    /// Encodes the payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a hello holds no type that postcard refuses")
    }
    /// Decodes the payload; `None` for garbage.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Hello> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_named_and_a_stranger_is_called_one() {
        assert_eq!(check_preamble(&preamble()), Ok(()));
        assert_eq!(check_preamble(&[b'G'; PREAMBLE_LEN]), Err(PreambleError::Stranger));
        let mut old = preamble();
        old[8] ^= 1;
        assert!(matches!(check_preamble(&old), Err(PreambleError::OtherVersion { theirs, .. }) if theirs == "0.1.0"));
    }
}
