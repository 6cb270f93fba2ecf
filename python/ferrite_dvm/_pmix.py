"""The calls of a PMIx library that an elastic job needs: its own name, events, and answers to them.

The structures and numbers are those of the PMIx standard. The library is the one that MPI has loaded, because a process
must not have two of them.
"""

import ctypes
import threading
import time
from ctypes import POINTER, Structure, Union, c_bool, c_char, c_char_p, c_int, c_size_t, c_uint16, c_uint32, c_void_p
from dataclasses import dataclass

SUCCESS = 0
EVENT_ACTION_COMPLETE = -334
TIMEOUT_WARNING = -194
"""Event: processes are to end (`PMIX_ALLOC_TIMEOUT_WARNING`)."""
NODES_STAY = -3001
"""Event of Ferrite: they go on after all (docs/spec/elastic.md, E53)."""
GROWTH_OFFERED = -3002
"""Event of Ferrite: there are slots for more processes (E54)."""
WITHDRAWAL_REFUSE = b"ferrite.withdrawal.refuse"
WITHDRAWAL_DEFER = b"ferrite.withdrawal.defer"
GROWTH_REFUSE = b"ferrite.growth.refuse"

_BOOL, _STRING, _UINT32, _DATA_ARRAY = 1, 3, 14, 39
_SECONDS, _AFFECTED = b"pmix.time.remaining", b"pmix.evaffected"
_SLOTS, _REQUEST = b"pmix.num.slots", b"pmix.alloc.reqid"


class _Proc(Structure):
    _fields_ = [("nspace", c_char * 256), ("rank", c_uint32)]


class _DataArray(Structure):
    _fields_ = [("type", c_uint16), ("size", c_size_t), ("array", c_void_p)]


class _Data(Union):
    _fields_ = [
        ("flag", c_bool),
        ("string", c_char_p),
        ("uint32", c_uint32),
        ("darray", POINTER(_DataArray)),
        # The size of the largest member, a `pmix_envar_t`.
        ("space", c_char * 24),
    ]


class _Value(Structure):
    _fields_ = [("type", c_uint16), ("data", _Data)]


class _Info(Structure):
    _fields_ = [("key", c_char * 512), ("flags", c_uint32), ("value", _Value)]


_DONE = ctypes.CFUNCTYPE(None, c_int, POINTER(_Info), c_size_t, c_void_p, c_void_p, c_void_p)
_HANDLER = ctypes.CFUNCTYPE(
    None,
    c_size_t,
    c_int,
    POINTER(_Proc),
    POINTER(_Info),
    c_size_t,
    POINTER(_Info),
    c_size_t,
    c_void_p,
    c_void_p,
)


@dataclass(frozen=True)
class Event:
    """What the DVM has told this process."""

    code: int
    request: str
    seconds: int
    slots: int
    until: float
    """The end of that time, by `time.monotonic`."""
    affected: frozenset
    """The processes concerned, as (namespace, rank)."""


def _library() -> str:
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if path.startswith("/") and "/libpmix.so" in path:
                return path
    return "libpmix.so.2"


def _event(code: int, infos, count: int) -> Event:
    request, seconds, slots = "", 0, 0
    affected: set = set()
    for info in (infos[i] for i in range(count)):
        kind, data = info.value.type, info.value.data
        if kind == _STRING and info.key == _REQUEST:
            request = (data.string or b"").decode(errors="replace")
        elif kind == _UINT32 and info.key == _SECONDS:
            seconds = data.uint32
        elif kind == _UINT32 and info.key == _SLOTS:
            slots = data.uint32
        elif kind == _DATA_ARRAY and info.key == _AFFECTED and data.darray:
            array = data.darray.contents
            procs = ctypes.cast(array.array, POINTER(_Proc))
            affected.update((procs[i].nspace.decode(), procs[i].rank) for i in range(array.size))
    return Event(code, request, seconds, slots, time.monotonic() + seconds, frozenset(affected))


class Client:
    """A PMIx client that keeps the events about the size of its job until they are taken.

    Raises:
        OSError: There is no PMIx library, or no server for this process.
    """

    def __init__(self) -> None:
        self._pmix = ctypes.CDLL(_library())
        self._lock = threading.Lock()
        self._events: list = []
        self._handler = _HANDLER(self._on_event)
        self._registered = -1
        me = _Proc()
        self._check("PMIx_Init", self._pmix.PMIx_Init(ctypes.byref(me), None, c_size_t(0)))
        self.me = (me.nspace.decode(), me.rank)
        codes = (c_int * 3)(TIMEOUT_WARNING, NODES_STAY, GROWTH_OFFERED)
        # Without a callback the call waits, and gives the number of the handler or an error.
        register = self._pmix.PMIx_Register_event_handler
        self._registered = register(codes, c_size_t(3), None, c_size_t(0), self._handler, None, None)
        if self._registered < 0:
            self._check("PMIx_Register_event_handler", self._registered)

    def _check(self, what: str, status: int) -> None:
        if status != SUCCESS:
            self._pmix.PMIx_Error_string.restype = c_char_p
            name = self._pmix.PMIx_Error_string(status)
            raise OSError(f"{what}: {(name or b'?').decode()} ({status})")

    def _on_event(self, _id, code, _source, infos, count, _results, _nresults, done, data) -> None:
        event = _event(code, infos, count)
        with self._lock:
            self._events.append(event)
        if done:
            _DONE(done)(EVENT_ACTION_COMPLETE, None, 0, None, None, data)

    def take(self) -> list:
        """Returns the events that have come since the last call."""
        if not self._events:
            return []
        with self._lock:
            taken, self._events = self._events, []
        return taken

    def answer(self, directive: bytes, value) -> None:
        """Answers for the whole job.

        Raises:
            OSError: The answer is not accepted, with the status of PMIx.
        """
        info = _Info(key=directive)
        if value is True:
            info.value.type, info.value.data.flag = _BOOL, True
        else:
            info.value.type, info.value.data.uint32 = _UINT32, value
        results, count = POINTER(_Info)(), c_size_t(0)
        outputs = ctypes.byref(results), ctypes.byref(count)
        control = self._pmix.PMIx_Job_control
        self._check("PMIx_Job_control", control(None, c_size_t(0), ctypes.byref(info), c_size_t(1), *outputs))

    def meet(self, procs) -> None:
        """Waits until each of these processes, as (namespace, rank), has called this.

        Raises:
            OSError: One of them has ended instead, or there is no server any more.
        """
        names = sorted(procs)
        array = (_Proc * len(names))(*(_Proc(nspace.encode(), rank) for nspace, rank in names))
        self._check("PMIx_Fence", self._pmix.PMIx_Fence(array, c_size_t(len(names)), None, c_size_t(0)))

    def close(self, for_good: bool = False) -> None:
        """Ends the client: no event comes any more.

        Args:
            for_good: End PMIx in this process, also if MPI still uses it.
        """
        if self._registered < 0:
            return
        self._pmix.PMIx_Deregister_event_handler(c_size_t(self._registered), None, None)
        self._registered = -1
        self._pmix.PMIx_Finalize(None, c_size_t(0))
        while for_good and self._pmix.PMIx_Initialized():
            if self._pmix.PMIx_Finalize(None, c_size_t(0)) != SUCCESS:
                return
