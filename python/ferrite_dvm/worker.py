"""Calls one function in a process of its own: `python -m ferrite_dvm.worker` reads the call from standard input.

The value goes to standard output, behind a mark; what the function prints goes to standard error.
"""

from __future__ import annotations

import base64
import os
import pickle
import runpy
import sys
import traceback
import types
from typing import Any, Dict, Tuple

#: What stands before the value.
MARK = b"\nferrite-dvm value "


class RemoteTraceback(Exception):
    """The traceback of an error in another process, as its cause."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


def main() -> None:
    """Reads a call, calls, and writes the value."""
    out = os.dup(1)
    os.dup2(2, 1)
    context = pickle.loads(base64.b64decode(sys.stdin.buffer.read()))
    value = _packed(*_called(context))
    sys.stdout.flush()
    with os.fdopen(out, "wb") as file:
        file.write(MARK + base64.b64encode(value) + b"\n")


def _called(context: Dict[str, Any]) -> Tuple[bool, Any]:
    try:
        sys.path[:] = context["path"] + [entry for entry in sys.path if entry not in context["path"]]
        if context["main"] is not None:
            _become(context["main"])
        fn, args, kwargs = pickle.loads(context["call"])
        return True, fn(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - every error of the function is its caller's
        return False, (error, traceback.format_exc())


def _become(path: str) -> None:
    """Gives `__main__` the definitions of the program that submits, without running it as one."""
    module = types.ModuleType("__ferrite_main__")
    module.__dict__.update(runpy.run_path(path, run_name="__ferrite_main__"))
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

    worker.main()
