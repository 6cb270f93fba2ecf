//! Replies to a client: one line each.

use std::fmt;

use crate::{MAX_KEY, MAX_KVSNAME, MAX_VALUE};

/// An answer. `to_string()` is the line that goes to the client, its newline included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    /// To `Init`: whether the version is supported.
    Init {
        /// False for another version than 1.
        accepted: bool,
    },
    /// To `GetMaxes`.
    Maxes,
    /// To `GetAppnum`.
    Appnum(u32),
    /// To `GetMyKvsname`. No spaces in it.
    MyKvsname(&'a str),
    /// To `GetUniverseSize`.
    UniverseSize(u32),
    /// To a `Put` that was stored.
    Put,
    /// To a `Put` into another space than the job's own.
    PutRefused,
    /// To `Get`.
    Value(&'a str),
    /// To a `Get` of a key that nobody has put.
    NoSuchKey,
    /// To `BarrierIn`, when all processes are in.
    BarrierOut,
    /// To `BarrierIn`, when a process can no longer come.
    BarrierFailed,
    /// To `Finalize`.
    Finalized,
    /// To `Spawn`, when all processes run.
    Spawned,
    /// To `Spawn`, when nothing runs.
    SpawnRefused,
    /// To `PublishName`; false when the name is taken.
    Published(bool),
    /// To `UnpublishName`; false when the client has not published the name.
    Unpublished(bool),
    /// To `LookupName`: the port.
    Port(&'a str),
    /// To a `LookupName` of a name that nobody has published.
    NoSuchName,
}

impl fmt::Display for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Init { accepted } => {
                let rc = if accepted { 0 } else { -1 };
                writeln!(f, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc={rc}")
            }
            Self::Maxes => {
                writeln!(f, "cmd=maxes kvsname_max={MAX_KVSNAME} keylen_max={MAX_KEY} vallen_max={MAX_VALUE} rc=0")
            }
            Self::Appnum(number) => writeln!(f, "cmd=appnum appnum={number} rc=0"),
            Self::MyKvsname(name) => writeln!(f, "cmd=my_kvsname kvsname={name} rc=0"),
            Self::UniverseSize(size) => writeln!(f, "cmd=universe_size size={size} rc=0"),
            Self::Put => writeln!(f, "cmd=put_result rc=0 msg=success"),
            Self::PutRefused => writeln!(f, "cmd=put_result rc=-1 msg=unknown_kvsname"),
            Self::Value(value) => writeln!(f, "cmd=get_result rc=0 msg=success value={value}"),
            Self::NoSuchKey => writeln!(f, "cmd=get_result rc=-1 msg=key_not_found value=unknown"),
            Self::BarrierOut => writeln!(f, "cmd=barrier_out rc=0"),
            Self::BarrierFailed => writeln!(f, "cmd=barrier_out rc=-1 msg=a_participant_is_lost"),
            Self::Finalized => writeln!(f, "cmd=finalize_ack rc=0"),
            Self::Spawned => writeln!(f, "cmd=spawn_result rc=0"),
            Self::SpawnRefused => writeln!(f, "cmd=spawn_result rc=1 msg=not_started"),
            Self::Published(true) => writeln!(f, "cmd=publish_result rc=0"),
            Self::Published(false) => writeln!(f, "cmd=publish_result rc=1 msg=name_is_taken"),
            Self::Unpublished(true) => writeln!(f, "cmd=unpublish_result rc=0"),
            Self::Unpublished(false) => writeln!(f, "cmd=unpublish_result rc=1 msg=not_published_by_caller"),
            Self::Port(port) => writeln!(f, "cmd=lookup_result rc=0 port={port}"),
            Self::NoSuchName => writeln!(f, "cmd=lookup_result rc=1 msg=name_not_found"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reply_is_one_line() {
        let replies = [
            Reply::Init { accepted: true },
            Reply::Maxes,
            Reply::Appnum(1),
            Reply::MyKvsname("kvs_1"),
            Reply::UniverseSize(8),
            Reply::Put,
            Reply::PutRefused,
            Reply::Value("x y"),
            Reply::NoSuchKey,
            Reply::BarrierOut,
            Reply::BarrierFailed,
            Reply::Finalized,
            Reply::Spawned,
            Reply::SpawnRefused,
            Reply::Published(true),
            Reply::Published(false),
            Reply::Unpublished(true),
            Reply::Unpublished(false),
            Reply::Port("tag#0$"),
            Reply::NoSuchName,
        ];
        for reply in replies {
            let line = reply.to_string();
            assert!(line.starts_with("cmd=") && line.ends_with('\n') && line.matches('\n').count() == 1, "{line}");
        }
    }
}
