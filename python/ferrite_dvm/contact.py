"""Finds the socket of a DVM of this user, by the files that `prte` and the daemons write."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Iterator, List, Optional, Tuple

from .errors import DvmError

#: The variable that names the DVM, as for `prterun`.
VARIABLE = "PRTEPROXY_USE_DVM"


class NoDvm(DvmError):
    """No DVM was found, or several."""


def find_socket(dvm: Optional[str] = None) -> str:
    """Returns the path of the control socket of a DVM.

    `dvm` is `file:PATH` (of `prte --report-uri PATH`), the path of a socket, or the name of a DVM; without it the
    variable PRTEPROXY_USE_DVM counts, and then the only DVM of this user on this host.
    """
    wanted = dvm or os.environ.get(VARIABLE) or "search"
    if wanted.startswith("file:"):
        file = Path(wanted[len("file:") :])
        try:
            return _socket_of(file)[1]
        except OSError as error:
            raise NoDvm(f"cannot read {file}: {error.strerror}") from error
    if "/" in wanted:
        return wanted
    name = None if wanted == "search" else wanted[len("ns:") :] if wanted.startswith("ns:") else wanted
    for group in _groups():
        # Of one DVM the head comes first; its daemons are doors to the same one.
        live: dict = {}
        for found, path in (found for base in group for found in _live(base, name)):
            live.setdefault(found, path)
        if len(live) == 1:
            return live.popitem()[1]
        if live:
            paths = ", ".join(live.values())
            raise NoDvm(f"several DVMs of yours are running; name one: Dvm.connect('file:...'). {paths}")
    raise NoDvm("no DVM of yours is running here: Dvm.start() starts one")


def _groups() -> Iterator[List[Path]]:
    """The directories of session directories: a DVM in an earlier group hides those in a later one."""
    named = os.environ.get("TMPDIR")
    if named:
        yield [Path(named)]
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    common = [Path(runtime)] if runtime and runtime.startswith("/") else []
    common += [Path(f"/run/user/{os.getuid()}"), Path("/tmp")]
    yield [base for at, base in enumerate(common) if base not in common[:at] and str(base) != named]


def _live(base: Path, name: Optional[str]) -> Iterator[Tuple[str, str]]:
    """The names of running DVMs, with their sockets."""
    try:
        entries = sorted(entry for entry in os.listdir(base) if entry.startswith(("prte.", "prted.")))
    except OSError:
        return
    for entry in entries:
        try:
            found = _socket_of(base / entry / "contact", name)
        except (OSError, NoDvm):
            continue
        if _listens(found[1]):
            yield found


def _socket_of(contact: Path, name: Optional[str] = None) -> Tuple[str, str]:
    """Reads the name of the DVM and the path of the socket out of a contact file of this user."""
    with open(contact, encoding="utf-8") as file:
        status = os.fstat(file.fileno())
        if status.st_uid not in (os.getuid(), 0) or not stat.S_ISREG(status.st_mode):
            raise NoDvm(f"{contact} belongs to another user")
        first, *lines = file.read(65536).split("\n")
    dvm = first.split("@")[0]
    if name is not None and dvm != name:
        raise NoDvm(f"{contact} is of another DVM")
    for line in lines:
        if line.startswith("socket "):
            return dvm, line[len("socket ") :].replace("\\n", "\n").replace("\\r", "\r").replace("\\\\", "\\")
    raise NoDvm(f"{contact} does not name a socket")


def _listens(path: str) -> bool:
    try:
        open_socket(path).close()
    except OSError:
        return False
    return True


def open_socket(path: str) -> socket.socket:
    """Connects to a socket by its path, of any length."""
    connection = socket.socket(socket.AF_UNIX)
    if len(os.fsencode(path)) < 100:
        connection.connect(path)
        return connection
    directory = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    try:
        connection.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
    finally:
        os.close(directory)
    return connection
