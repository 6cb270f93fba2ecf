//! `pdvm service`: joins its standard input and output with the service of the DVM, for programs that cannot reach the
//! DVM by themselves.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use ferrite_client::join;

use super::dvm;
use super::failure::Failure;
use crate::args::ConnectionOptions;

/// Passes lines of JSON both ways until the DVM has closed the conversation, or nobody reads the output (spec L153).
pub(super) fn pass(which: ConnectionOptions) -> Result<(), Failure> {
    let channel = dvm::connect(which, ferrite_client::connect_silently)?;
    // The descriptors themselves: nothing waits here in a buffer.
    let own = |fd: io::Result<std::os::fd::OwnedFd>| fd.map(File::from).map_err(Failure::Machine);
    let input = own(io::stdin().as_fd().try_clone_to_owned())?;
    let output = own(io::stdout().as_fd().try_clone_to_owned())?;
    Ok(join(channel, input, output)?)
}
