"""Jobs that change their size while they run: `prun --elastic MIN:MAX`, over mpi4py and PMIx.

    job = Job()
    x, steps = job.begin(load)              # newcomers get their part from the others
    while steps < 1000:
        x, steps = step(job.comm, x), steps + 1
        if change := job.poll():            # every process gets the same answer in the same step
            with change as c:
                x, steps = c.redistribute(x, steps)
            if job.retired:
                break                       # this process ends now
    job.close()

`pdvm resize` offers more processes or lets some end, and `pdvm shrink` takes nodes away; both wait for the job's next
`poll`. Rank 0 of `comm` answers for the job. Without a DVM, or with a job that is not elastic, nothing ever changes.
A process of a DVM that has no PMIx library gets an OSError.
"""

import atexit
import os
import signal
import sys
import threading
import time
import warnings
from collections import deque
from dataclasses import replace
from typing import Any, Callable, Optional

# Open MPI 5 ends a program when a process that it has talked to goes away, unless it tolerates failures. MPI_Init, which
# the import calls, reads this.
_is_late = "mpi4py.MPI" in sys.modules and "OMPI_MCA_mpi_ft_enable" not in os.environ
os.environ.setdefault("OMPI_MCA_mpi_ft_enable", "true")

from mpi4py import MPI  # noqa: E402

from . import _pmix  # noqa: E402

if _is_late and MPI.Get_library_version().startswith("Open MPI"):
    raise ImportError("import ferrite_dvm.elastic before mpi4py.MPI: it prepares Open MPI for processes that leave")

__all__ = ["Change", "Job"]

_NOTHING, _GROW, _SHRINK = 0, 1, 2


class Job:
    """The elastic job that this process belongs to.

    Args:
        min: Fewest processes; what would leave fewer is refused, unless it is forced.
        max: Most processes; of a larger offer only a part is taken.
        command: Program and arguments of a newcomer; by default those of this process, with its `PYTHONPATH`.
    """

    def __init__(self, min: int = 1, max: Optional[int] = None, command: Optional[list] = None) -> None:
        self.min, self.max = min, max
        self.command = list(command or _own_command())
        self.comm: MPI.Intracomm = MPI.COMM_WORLD.Dup()
        """All processes of the job, in an order that changes keep."""
        self.retired = False
        """True when this process is no longer part of the job and should end."""
        self._client: Optional[_pmix.Client] = None
        self._pending: list = []
        # Offers that the job has answered. Later ones do not need the early ones.
        self._taken: deque = deque(maxlen=64)
        self._word, self._request = bytearray(1), None
        self._members: frozenset = frozenset()
        self._joins: Optional[Change] = None
        self._has_changed = self._is_closed = False
        try:
            self._client = _pmix.Client()
        except OSError:
            if "PMIX_NAMESPACE" in os.environ:
                raise
            # No DVM: the size stays what it is.
        # Slurm sends SIGTERM to all processes of a job that it preempts. Here they hear of it as of other changes, and
        # the DVM ends those that stay for too long.
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and "SLURM_JOB_ID" in os.environ and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            # Not SIG_IGN, which the programs that this one starts would have as well.
            signal.signal(signal.SIGTERM, lambda *_: None)
        atexit.register(self._at_exit)
        parent = MPI.Comm.Get_parent()
        if parent != MPI.COMM_NULL:
            everybody = parent.Merge(high=True)
            parent.Disconnect()
            # The change ends in `begin`.
            self._joins = Change(self, _GROW, None, everybody, everybody)
        else:
            self._know_members()

    def begin(self, load: Callable[[MPI.Intracomm], Any]) -> Any:
        """Returns what `load(comm)` makes in the processes that begin the job. A newcomer gets what the others have
        given to `redistribute`, in one call or in several: one value, or a tuple of them."""
        if self._joins is None:
            return load(self.comm)
        change, self._joins = self._joins, None
        parts: list = []
        with change:
            while (more := change._receive()) is not None:
                parts.extend(more)
        return parts[0] if len(parts) == 1 else tuple(parts)

    def poll(self) -> "Optional[Change]":
        """Returns the change that the job makes now, or None. All processes of `comm` call it equally often; rank 0
        decides, and its word travels from one call to the next, so that a call costs microseconds."""
        if self.retired:
            return None
        word = _NOTHING
        if self._request is not None:
            self._request.Wait()
            word = self._word[0]
        if word == _NOTHING:
            if self.comm.rank == 0:
                self._word[0] = self._decide()
            self._request = self.comm.Ibcast([self._word, MPI.BYTE], root=0)
            return None
        self._request = None
        event = self.comm.bcast(self._pending.pop(0) if self.comm.rank == 0 else None)
        if event.code == _pmix.GROWTH_OFFERED:
            self._taken.append(event.request)
        return Change(self, word, event, self.comm, None)

    def close(self) -> None:
        """Ends the connection to the DVM, as the last call of every process. After a change it ends MPI as well, and
        the exit code of the process is then 0; it is 1 without this call, and after an exception. All processes of
        `comm` wait for each other here, so that none goes away while another is still in a call of MPI with it: Open
        MPI 5 fails such a call, also a barrier."""
        self._is_closed = True
        self._hear_out()
        if self._client is not None and self._has_changed and not self.retired and not _has_failed():
            self._client.meet(self._members)
        self._end()

    def _hear_out(self) -> None:
        if self._request is not None and not _has_failed():
            self._request.Wait()
        self._request = None

    def _end(self) -> None:
        if self._client is not None:
            self._client.close(for_good=self._has_changed)
            self._client = None

    def _at_exit(self) -> None:
        is_orderly = self._is_closed and not _has_failed()
        self._hear_out()
        self._end()
        if self._has_changed:
            # MPI_Finalize would wait for those of MPI_COMM_WORLD who have left, or who stay.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0 if is_orderly else 1)

    def _know_members(self) -> None:
        me = self._client.me if self._client else ("", self.comm.rank)
        self._members = frozenset(self.comm.allgather(me))

    def _hear(self) -> bool:
        """Takes the events that have come. True when there are new ones."""
        has_come = False
        for event in self._client.take() if self._client else ():
            if event.code == _pmix.NODES_STAY:
                left = (replace(p, affected=p.affected - event.affected) for p in self._pending)
                self._pending = [p for p in left if p.affected or p.code == _pmix.GROWTH_OFFERED]
            elif event.code == _pmix.TIMEOUT_WARNING and self._pending and self._pending[-1].code == event.code:
                both = self._pending[-1].affected | event.affected
                self._pending[-1] = replace(self._pending[-1], affected=both)
                has_come = True
            else:
                self._pending.append(event)
                has_come = True
        return has_come

    @property
    def _teller(self) -> _pmix.Client:
        """The client by which a change was told."""
        assert self._client is not None
        return self._client

    def _is_open(self, event: Any) -> bool:
        """True for an event that is still to be answered."""
        if event.code == _pmix.GROWTH_OFFERED:
            # Another process may have answered this one, when it was rank 0.
            return event.request not in self._taken and time.monotonic() < event.until
        return bool(event.affected & self._members)

    def _decide(self) -> int:
        """Reads the events in rank 0; returns the word for all."""
        if self._hear():
            # One request that concerns several worlds has an event for each; they come together.
            return _NOTHING
        while self._pending:
            event = self._pending[0]
            if self._is_open(event):
                if event.code == _pmix.GROWTH_OFFERED:
                    if self.max is None or self.max > self.comm.size:
                        return _GROW
                    self._refuse(_pmix.GROWTH_REFUSE)
                else:
                    stays = self.comm.size - len(event.affected & self._members)
                    if stays >= self.min or not self._refuse(_pmix.WITHDRAWAL_REFUSE):
                        return _SHRINK
            del self._pending[0]
        return _NOTHING

    def _refuse(self, directive: bytes) -> bool:
        """False when the DVM takes no refusal."""
        try:
            self._teller.answer(directive, True)
        except OSError:
            return False
        return True

    def _become(self, comm: MPI.Intracomm) -> None:
        self.comm, self._request = comm, None
        self._know_members()
        # Any process may be rank 0 one day, and keeps what is not answered.
        self._hear()
        self._pending = [event for event in self._pending if self._is_open(event)]


class Change:
    """One change of the job's size. Within `with`, `redistribute` moves the data; afterwards `job.comm` has the new
    processes. When the change fails, everything stays as it was, and rank 0 warns."""

    def __init__(self, job: Job, kind: int, event: Any, old: MPI.Intracomm, wide: Optional[MPI.Intracomm]) -> None:
        self._job, self._kind, self._event, self._old = job, kind, event, old
        # All who take part in the move of data, and those of them who stay; None before that is known.
        self._wide: Any = wide
        self._new: Any = None

    @property
    def grows(self) -> bool:
        """True when there are to be more processes."""
        return self._kind == _GROW

    @property
    def seconds(self) -> int:
        """The time that the job had for this change when it was told."""
        return self._event.seconds if self._event else 0

    def refuse(self) -> bool:
        """Refuses the change instead of making it; every process calls it. False when it cannot be refused."""
        return self._answer(_pmix.GROWTH_REFUSE if self.grows else _pmix.WITHDRAWAL_REFUSE, True)

    def defer(self, seconds: int) -> bool:
        """Asks for more time before processes end, instead of making the change; every process calls it. The next
        `poll` but one gives the change again. False when there is no more time."""
        deferred = self._answer(_pmix.WITHDRAWAL_DEFER, seconds)
        if deferred and self._old.rank == 0:
            self._job._pending.append(self._event)
        return deferred

    def _answer(self, directive: bytes, value: Any) -> bool:
        accepted = None
        if self._old.rank == 0:
            try:
                self._job._teller.answer(directive, value)
                accepted = True
            except OSError:
                accepted = False
        return self._old.bcast(accepted)

    def __enter__(self) -> "Change":
        job, old = self._job, self._old
        if self._wide is not None:
            self._new = self._wide
        elif self._kind == _GROW:
            self._spawn()
        else:
            self._wide = old
            job.retired = job._client is not None and job._client.me in self._event.affected
            self._new = old.Split(1 if job.retired else 0, old.rank)
            if job.retired:
                self._new.Free()
        return self

    def _spawn(self) -> None:
        job, old = self._job, self._old
        count = self._event.slots if job.max is None else min(self._event.slots, job.max - old.size)
        try:
            program, *arguments = job.command
            children = old.Spawn(program, arguments, maxprocs=count, root=0)
            self._wide = self._new = children.Merge(high=False)
            children.Disconnect()
        except MPI.Exception as error:
            if old.rank == 0:
                # Who has made the offer hears of it now, not at the end of its time.
                job._refuse(_pmix.GROWTH_REFUSE)
                warnings.warn(f"{count} more processes were offered, and could not be started: {error}", stacklevel=3)

    def redistribute(self, *parts: Any) -> Any:
        """Moves data to the processes after the change; returns it as it was given, one value or a tuple.

        A buffer (numpy array, `array.array`, `bytearray`) is a piece of a larger one that lies in the order of the
        ranks, and is dealt out anew along its first axis, as evenly as possible. Anything else is the same everywhere:
        rank 0's value goes to all."""
        if self._new is not None:
            parts = self._exchange(parts) or ()
        return parts[0] if len(parts) == 1 else parts

    def _receive(self) -> Optional[tuple]:
        return self._exchange(None)

    def _exchange(self, parts: Optional[tuple]) -> Optional[tuple]:
        heads = None
        if self._wide.rank == 0 and parts is not None:
            heads = [_head(part) for part in parts]
        heads = self._wide.bcast(heads)
        if heads is None:
            return None
        given = parts if parts is not None else (None,) * len(heads)
        return tuple(
            self._deal(part, head) if head is not None else self._wide.bcast(part)
            for part, head in zip(given, heads)
        )

    def _deal(self, part: Any, head: tuple) -> Any:
        wide = self._wide
        mine = 0 if part is None else len(part)
        counts = wide.allgather((mine, not self._job.retired))
        total, stay = sum(rows for rows, _ in counts), sum(stays for _, stays in counts)
        first = sum(rows for rows, _ in counts[: wide.rank])
        # The new piece of each process: rows [begin, end) of the whole.
        pieces, begin, place = [], 0, 0
        for _, stays in counts:
            length = (total // stay + (place < total % stay)) if stays else 0
            place += stays
            pieces.append((begin, begin + length))
            begin += length
        lower, upper = pieces[wide.rank]
        result = _empty(head, upper - lower)
        row = MPI.BYTE.Create_contiguous(head[1]).Commit()
        starts = [sum(rows for rows, _ in counts[:rank]) for rank in range(wide.size)]
        send = [_overlap((first, first + mine), piece) for piece in pieces]
        owned = [(start, start + rows) for start, (rows, _) in zip(starts, counts)]
        receive = [_overlap((lower, upper), owner) for owner in owned]
        out = _bytes_of(part) if mine else bytearray(0)
        into = _bytes_of(result) if upper > lower else bytearray(0)
        wide.Alltoallv(
            [out, [n for _, n in send], [at for at, _ in send], row],
            [into, [n for _, n in receive], [at for at, _ in receive], row],
        )
        row.Free()
        return result

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        job = self._job
        if error is not None or self._new is None:
            return
        if self._kind == _GROW:
            # The newcomers wait for more parts until this word.
            if self._event is not None:
                self._wide.bcast(None)
            job._taken = self._wide.bcast(job._taken if self._wide.rank == 0 else None)
        job._has_changed = True
        if self._event is None:
            job.comm.Free()
        else:
            self._old.Free()
        if self._kind == _SHRINK:
            # Nobody leaves while others are still in a call of MPI with it; see `Job.close`.
            job._teller.meet(job._members)
        if not job.retired:
            job._become(self._new)
        else:
            job.comm = MPI.COMM_NULL


def _has_failed() -> bool:
    """True when an exception has ended the program; others then wait in vain for this process."""
    return hasattr(sys, "last_value")


def _own_command() -> list:
    # A spawned process gets the environment of its daemon, not of its parent.
    path = os.environ.get("PYTHONPATH")
    arguments = getattr(sys, "orig_argv", ["", *sys.argv])[1:]
    return [*(["env", f"PYTHONPATH={path}"] if path else []), sys.executable, *arguments]


def _overlap(own: tuple, other: tuple) -> tuple:
    """Where the common rows begin in `own`, and how many they are."""
    begin, end = max(own[0], other[0]), min(own[1], other[1])
    return (begin - own[0], end - begin) if end > begin else (0, 0)


def _head(part: Any) -> Optional[tuple]:
    """What a newcomer needs to make a piece of its own; None for what is the same everywhere."""
    if type(part).__module__ == "numpy" and getattr(part, "shape", None):
        row = part.dtype.itemsize
        for length in part.shape[1:]:
            row *= length
        if part.dtype.hasobject:
            raise TypeError("an array of Python objects cannot be dealt out: use one of numbers")
        return ("numpy", row, part.dtype, part.shape[1:])
    if type(part).__name__ == "array" and hasattr(part, "typecode"):
        return ("array", part.itemsize, part.typecode)
    if isinstance(part, bytearray):
        return ("bytearray", 1)
    return None


def _bytes_of(part: Any) -> memoryview:
    """The bytes of a piece, row by row. An array of numpy may lie in memory in any way, and have any type."""
    if type(part).__module__ == "numpy":
        import numpy

        part = numpy.ascontiguousarray(part).reshape(-1).view(numpy.uint8)
    return memoryview(part).cast("B")


def _empty(head: tuple, rows: int) -> Any:
    if head[0] == "numpy":
        import numpy

        return numpy.empty((rows, *head[3]), head[2])
    if head[0] == "array":
        from array import array

        return array(head[2], bytes(rows * head[1]))
    return bytearray(rows)
