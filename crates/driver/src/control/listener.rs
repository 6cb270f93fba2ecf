//! The control socket. Only its owner (and root) can connect: the directory is closed to others, and the kernel tells
//! the user of each connection.

use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use rustix::process::{Resource, getrlimit, getuid};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::spawn_local;

use super::client::serve;
use super::{Control, Hub, OTHER_DIRECTORY, explain};
use crate::accepting;
use crate::session_dir::SessionDir;

/// Name of the socket in the session directory.
const SOCKET: &str = "control";
/// Clients get a quarter of the open files; the rest is for the pipes of processes.
pub(super) const SHARE_OF_FILES: u64 = 4;

/// Opens the control socket; returns its path. Call this within a `LocalSet`.
///
/// # Errors
/// When the socket cannot be made.
pub(crate) fn listen(control: &Control, session_dir: &SessionDir) -> io::Result<PathBuf> {
    let (listener, path) = bind(session_dir)?;
    spawn_local(accept(listener, control.hub.clone()));
    Ok(path)
}

/// The control socket in this session directory.
pub(super) fn bind(session_dir: &SessionDir) -> io::Result<(UnixListener, PathBuf)> {
    let path = session_dir.dir()?.join(SOCKET);
    let listener = UnixListener::bind(&path).map_err(explain("the control socket", &path, OTHER_DIRECTORY))?;
    Ok((listener, path))
}

async fn accept(listener: UnixListener, hub: Rc<Hub>) {
    loop {
        let (stream, _) = accepting::next("clients", async || listener.accept().await).await;
        admit(stream, &hub);
    }
}

fn admit(stream: UnixStream, hub: &Rc<Hub>) {
    if !is_own(&stream) {
        return;
    }
    let surplus = is_surplus(hub);
    let (reader, writer) = stream.into_split();
    spawn_local(serve(reader, writer, hub.clone(), surplus));
}

/// True for a connection of the DVM's own user or root; others are refused.
pub(super) fn is_own(stream: &UnixStream) -> bool {
    let Ok(theirs) = stream.peer_cred() else { return false };
    let is_own = theirs.uid() == getuid().as_raw() || theirs.uid() == 0;
    if !is_own {
        tracing::warn!(uid = theirs.uid(), "a stranger was turned away from the control socket");
    }
    is_own
}

/// True when the number of clients has reached the limit.
pub(super) fn is_surplus(hub: &Hub) -> bool {
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / SHARE_OF_FILES;
    hub.clients.borrow().len() as u64 >= most
}
