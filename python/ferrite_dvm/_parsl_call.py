"""What a process of the DVM does for a Parsl app: it unpacks the call with Parsl's own means, and packs the value.

`ferrite_dvm.parsl` names it; it imports no more of Parsl than that needs.
"""

from __future__ import annotations

import os

from parsl.app.errors import RemoteExceptionWrapper
from parsl.serialize import serialize, unpack_apply_message


def call_packed(packed: bytes) -> bytes:
    """Calls what `parsl.serialize.pack_apply_message` has packed; returns the value as `serialize` packs it."""
    function, args, kwargs = unpack_apply_message(packed)
    value = function(*args, **kwargs)
    if isinstance(value, RemoteExceptionWrapper) and os.environ.get("PMIX_RANK", "0") != "0":
        # Nobody reads the value of this rank, so that its error has to be one.
        value.reraise()
    return serialize(value)
