"""A way to a DVM through another program, whose standard input and output are the service of the DVM."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
from typing import List, Optional, Sequence

from .errors import DvmError, DvmGone

#: Time for the program to end by itself when its connection is closed (seconds).
PATIENCE = 10


def pdvm_service(uri: str, key: Optional[str] = None) -> List[str]:
    """Returns the command that joins its standard input and output with the DVM of `pdvm --dvm-uri URI`."""
    program = shutil.which("pdvm")
    if program is None:
        raise DvmError("there is no pdvm in PATH: name a command with Dvm.connect(command=[...])")
    # Errors come as a line of JSON.
    return [program, "service", "--json", "--dvm-uri", uri] + ([] if key is None else ["--dvm-key", key])


class Bridge:
    """A program that is running; `socket` is this side of its standard input and output."""

    def __init__(self, command: Sequence[str]) -> None:
        self.socket, far = socket.socketpair()
        self._errors = tempfile.TemporaryFile()
        try:
            # When this process ends, however that is, the program loses its input and its reader, and ends.
            self._process = subprocess.Popen(list(command), stdin=far.fileno(), stdout=far.fileno(), stderr=self._errors)
        except OSError as error:
            self.socket.close()
            self._errors.close()
            raise DvmGone(f"cannot start {command[0]}: {error.strerror}") from error
        finally:
            far.close()

    def finish(self) -> None:
        """Waits until the program has ended, whose connection was closed."""
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def complaint(self) -> str:
        """What the program, which has ended, has said on standard error."""
        self._errors.seek(0)
        text = self._errors.read().decode(errors="replace").strip()
        self._errors.close()
        try:
            return str(json.loads(text.rpartition("\n")[2])["error"])
        except (ValueError, KeyError, TypeError):
            return text
