//! Services for processes by PMIx: collectives and the data server.

mod collectives;
mod data_server;

pub(in crate::head) use self::collectives::Collectives;
pub(in crate::head) use self::data_server::Store;
