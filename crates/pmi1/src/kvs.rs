//! The key-value space of a job, as one daemon holds it: everything up to the last barrier, and what its own
//! processes put since.

use std::collections::BTreeMap;

/// Why a delta of another daemon was not merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// A length points beyond the end.
    #[error("a key-value delta ends in the middle of a record")]
    Truncated,
    /// Keys and values are text.
    #[error("a key-value delta contains bytes that are not text")]
    NotText,
}

/// Keys with their values. The name of the space is the caller's affair: a job has one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kvs {
    values: BTreeMap<String, String>,
    /// Records of what was put since the last barrier: key length and value length (u16 each, little-endian), then
    /// both. A concatenation of deltas is a delta, which is all that a collective can do with them.
    delta: Vec<u8>,
}

impl Kvs {
    /// An empty space.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores a value that every daemon knows by itself, such as the process mapping: it does not travel.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.values.insert(key.into(), value.into());
    }

    /// Stores a value of a local process; it travels with the next barrier. False when a length is beyond 65,535
    /// bytes, which the parser does not let through.
    pub fn put(&mut self, key: String, value: String) -> bool {
        let (Ok(key_len), Ok(value_len)) = (u16::try_from(key.len()), u16::try_from(value.len())) else { return false };
        self.delta.extend_from_slice(&key_len.to_le_bytes());
        self.delta.extend_from_slice(&value_len.to_le_bytes());
        self.delta.extend_from_slice(key.as_bytes());
        self.delta.extend_from_slice(value.as_bytes());
        self.values.insert(key, value);
        true
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// What was put since the last call: this daemon's contribution to a barrier.
    pub fn take_delta(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.delta)
    }

    /// Adds the contributions of all daemons, this one's own included or not. Nothing is added unless all of it is
    /// sound.
    ///
    /// # Errors
    /// When the bytes are no concatenation of deltas.
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
