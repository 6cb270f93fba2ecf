//! The key-value space of a job on one daemon: all values up to the last barrier, and those that its own processes have
//! put since.

use std::collections::BTreeMap;

/// The reason why a delta of another daemon was not merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// A length exceeds the data.
    #[error("a key-value delta ends in the middle of a record")]
    Truncated,
    /// A key or value is not UTF-8.
    #[error("a key-value delta contains bytes that are not text")]
    NotText,
}

/// Keys with their values. A job has one space; the caller checks its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kvs {
    values: BTreeMap<String, String>,
    /// The records since the last barrier: key length and value length (u16 each, little-endian), then both. A
    /// concatenation of deltas is a delta; a collective can only concatenate.
    delta: Vec<u8>,
}

impl Kvs {
    /// An empty space.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores a value that every daemon has already, such as the process mapping; it is not sent.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.values.insert(key.into(), value.into());
    }

    /// Stores a value of a local process; the next barrier sends it. False when a length exceeds 65,535 bytes, which
    /// the parser refuses before.
    pub fn put(&mut self, key: String, value: String) -> bool {
        let (Ok(key_len), Ok(value_len)) = (u16::try_from(key.len()), u16::try_from(value.len())) else { return false };
        self.delta.extend_from_slice(&key_len.to_le_bytes());
        self.delta.extend_from_slice(&value_len.to_le_bytes());
        self.delta.extend_from_slice(key.as_bytes());
        self.delta.extend_from_slice(value.as_bytes());
        self.values.insert(key, value);
        true
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// Takes what was put since the last call: this daemon's contribution to a barrier.
    pub fn take_delta(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.delta)
    }

    /// Merges the contributions of all daemons, with or without this one's own: all of them or nothing.
    ///
    /// # Errors
    /// The bytes are no concatenation of deltas.
    pub fn merge(&mut self, deltas: &[u8]) -> Result<(), MergeError> {
        let mut added = Vec::new();
        let mut rest = deltas;
        while !rest.is_empty() {
            let key_len = usize::from(take_u16(&mut rest)?);
            let value_len = usize::from(take_u16(&mut rest)?);
            added.push((take_text(&mut rest, key_len)?, take_text(&mut rest, value_len)?));
        }
        self.values.extend(added);
        Ok(())
    }
}

fn take_u16(rest: &mut &[u8]) -> Result<u16, MergeError> {
    let (bytes, tail) = rest.split_first_chunk().ok_or(MergeError::Truncated)?;
    *rest = tail;
    Ok(u16::from_le_bytes(*bytes))
}

fn take_text(rest: &mut &[u8], len: usize) -> Result<String, MergeError> {
    let (bytes, tail) = rest.split_at_checked(len).ok_or(MergeError::Truncated)?;
    *rest = tail;
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| MergeError::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn after_a_barrier_every_daemon_knows_what_each_put() {
        let (mut one, mut two) = (Kvs::new(), Kvs::new());
        assert!(one.put("a".into(), "1".into()));
        assert!(two.put("b".into(), "2".into()) && two.put("c".into(), String::new()));
        let all = [one.take_delta(), two.take_delta()].concat();
        one.merge(&all).expect("it is sound");
        two.merge(&all).expect("it is sound");
        assert_eq!(one, two);
        assert_eq!((one.get("a"), one.get("b"), one.get("c")), (Some("1"), Some("2"), Some("")));
        assert!(one.take_delta().is_empty(), "what was merged does not travel again");
    }

    #[test]
    fn what_everyone_knows_does_not_travel() {
        let mut kvs = Kvs::new();
        kvs.insert("PMI_process_mapping", "(vector,(0,1,1))");
        assert!(kvs.take_delta().is_empty());
    }

    #[test]
    fn of_an_unsound_delta_nothing_is_merged() {
        let mut other = Kvs::new();
        assert!(other.put("key".into(), "value".into()));
        let mut delta = other.take_delta();
        delta.extend_from_slice(&[9, 0]);
        let mut kvs = Kvs::new();
        assert_eq!(kvs.merge(&delta), Err(MergeError::Truncated));
        assert_eq!(kvs, Kvs::new());
    }

    proptest! {
        #[test]
        fn any_bytes_are_merged_or_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Kvs::new().merge(&bytes);
        }
    }
}
