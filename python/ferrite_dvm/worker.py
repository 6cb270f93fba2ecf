"""Calls functions in a process of its own.

`python -m ferrite_dvm.worker` reads one call from standard input. The value goes to standard output, behind a mark;
what the function prints goes to standard error. In a job of several processes each makes the call, and the value is
that of process 0. `python -m ferrite_dvm.worker --calls` makes one call after the other, until its input ends.
"""

from __future__ import annotations

import base64
import os
import pickle
import runpy
import struct
import sys
import traceback
import types
from typing import IO, Any, List, Optional, Tuple

#: What stands before the value.
MARK = b"\nferrite-dvm value "
#: The length before each call and each value of a worker that makes several (bytes).
LENGTH = struct.Struct("!Q")
#: What stands behind each of these values.
END = b"\n"


class RemoteTraceback(Exception):
    """The traceback of an error in another process, as its cause."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


def main(arguments: List[str]) -> None:
    """Makes one call, or with `--calls` all that come."""
    out = os.dup(1)
    os.dup2(2, 1)
    if arguments == ["--calls"]:
        _make_calls(out)
        return
    context = pickle.loads(base64.b64decode(sys.stdin.buffer.read()))
    good, value = _called(context["path"], context["main"], context["call"])
    sys.stdout.flush()
    if os.environ.get("PMIX_RANK", "0") == "0":
        with os.fdopen(out, "wb") as file:
            file.write(MARK + base64.b64encode(_packed(good, value)) + b"\n")
    elif not good:
        # Nobody reads this value, so the error is the end of the job.
        sys.exit(value[1])


def _make_calls(out: int) -> None:
    with os.fdopen(os.dup(0), "rb") as calls, os.fdopen(out, "wb") as values:
        # Functions have no standard input.
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        # The first value says that this process is ready.
        _write_value(values, b"")
        while True:
            frame = _read_call(calls)
            if frame is None:
                return
            path, main_path, call = pickle.loads(frame)
            value = _packed(*_called(path, main_path, call))
            sys.stdout.flush()
            _write_value(values, value)


def _write_value(file: IO[bytes], data: bytes) -> None:
    # A DVM passes on whole lines at once, and waits for the rest of others: hence the end of a line.
    file.write(LENGTH.pack(len(data)) + data + END)
    file.flush()


def _read_call(file: IO[bytes]) -> Optional[bytes]:
    """Reads a call; None at the end of the input, also in the middle of a call."""
    head = file.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    length = LENGTH.unpack(head)[0]
    data = file.read(length)
    return data if len(data) == length else None


def _called(path: List[str], main_path: Optional[str], call: bytes) -> Tuple[bool, Any]:
    try:
        sys.path[:] = path + [entry for entry in sys.path if entry not in path]
        if main_path is not None:
            _become(main_path)
        fn, args, kwargs = pickle.loads(call)
        return True, fn(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - every error of the function is its caller's
        return False, (error, traceback.format_exc())


def _become(path: str) -> None:
    """Gives `__main__` the definitions of the program that submits, without running it as one."""
    if getattr(sys.modules["__main__"], "__ferrite_path__", None) == path:
        return
    module = types.ModuleType("__ferrite_main__")
    module.__dict__.update(runpy.run_path(path, run_name="__ferrite_main__"), __ferrite_path__=path)
    sys.modules["__main__"] = sys.modules["__ferrite_main__"] = module


def _packed(good: bool, value: Any) -> bytes:
    try:
        packed = pickle.dumps((good, value))
        # Some errors can be packed and not unpacked.
        pickle.loads(packed)
        return packed
    except Exception as error:  # noqa: BLE001 - the caller gets whatever can be told
        text = f"{'the value' if good else 'the error'} {value!r} cannot be sent back: {error}"
        return pickle.dumps((False, (RuntimeError(text), text)))


def unpacked(packed: bytes) -> Any:
    """Returns the value of a call, or raises its error."""
    good, value = pickle.loads(packed)
    if good:
        return value
    error, text = value
    # Errors lose their cause on the way.
    error.__cause__ = RemoteTraceback(text)
    raise error


if __name__ == "__main__":
    # Under its own name, so that both sides mean the same classes.
    from ferrite_dvm import worker

    worker.main(sys.argv[1:])
