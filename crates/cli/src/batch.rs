//! `prun --batch`: many jobs over one connection.

pub mod line;

use ferrite_client::Connection;

use crate::args::BatchRun;
use crate::machine::Surroundings;
use crate::setup::ClientSetup;

pub(crate) fn start(
    _name: &'static str,
    _batch: &BatchRun,
    _setup: &ClientSetup,
    _around: &Surroundings,
    _connect: impl FnOnce() -> Option<Connection>,
) -> i32 {
    1
}
