"""Python processes of a DVM that are kept: each makes one call after the other.

Each process is a job of one slot. The DVM carries the calls to it as its standard input, and the values back as its
output, so there is no other connection, and the jobs end with the connection to the DVM. One thread has all the state;
whatever happens is an event in its queue.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Tuple, Union

from .dvm import Dvm
from .errors import DvmError, TaskFailed
from .task import Task, TaskResult
from .worker import END, LENGTH, unpacked

#: Processes that may be on their way to be ready at once: so many, and one for each `STARTED` that are ready.
STARTING = 4
STARTED = 8
#: A process that has run for so long (seconds) leaves its slot to other tasks of the program if these wait for one.
TURN = 2.0
#: What is kept of the standard error of a process, for the message about its end (bytes).
SAID = 8192

_Call = Tuple[bytes, "Future[Any]"]


@dataclass
class _Worker:
    """One process."""

    task: Task
    since: float
    is_ready: bool = False
    call: "Optional[Future[Any]]" = None
    #: Since when it has nothing to do.
    idle_since: float = 0.0
    #: True when its input has ended, so that it takes no more calls.
    is_leaving: bool = False
    heard: bytearray = field(default_factory=bytearray)
    said: bytes = b""


class WorkerPool:
    """Makes calls in Python processes of a DVM, which it starts while calls wait and ends when they are idle.

    `most` is the largest number of processes; without it there are as many as the DVM has slots for. A process that has
    had nothing to do for `idle_s` seconds ends. `waiting` says whether the program has other tasks that wait for slots:
    processes leave theirs then, idle ones at once and others between two calls. `options` are those of `Dvm.submit`.
    """

    def __init__(
        self,
        dvm: Dvm,
        *,
        python: str = sys.executable,
        most: Optional[int] = None,
        idle_s: float = 5.0,
        waiting: Callable[[], bool] = lambda: False,
        **options: Any,
    ) -> None:
        if most is not None and most < 1:
            raise ValueError(f"most is {most}: a pool needs at least one process")
        if options.get("np", 1) != 1:
            raise ValueError(f"np is {options['np']}: processes that are kept make their calls alone")
        self._dvm = dvm
        self._command = [python, "-m", "ferrite_dvm.worker", "--calls"]
        self._most = most
        self._idle_s = idle_s
        self._waiting = waiting
        self._options = {**options, "env": environment(options.get("env"))}
        self._calls: "Deque[_Call]" = deque()
        self._workers: Dict[int, _Worker] = {}
        self._last = 0
        self._is_shut = False
        self._lock = threading.Lock()
        self._events: "queue.SimpleQueue[Optional[Callable[[], None]]]" = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="ferrite-dvm-pool", daemon=True)
        self._thread.start()

    def submit(self, call: bytes) -> "Future[Any]":
        """Makes a call that `worker.py` understands: a pickled tuple of a path, a program or None, and a pickled tuple
        of a function, its arguments and its keywords. The future has the value, or the error of the function. It is
        TaskFailed when the process has died meanwhile. A call that has begun cannot be cancelled."""
        future: "Future[Any]" = Future()
        with self._lock:
            if self._is_shut:
                raise RuntimeError("the pool takes no more calls: shutdown() was called")
            self._events.put(lambda: self._calls.append((call, future)))
        return future

    def look(self) -> None:
        """Has the pool ask `waiting` again."""
        self._events.put(lambda: None)

    def shutdown(self) -> None:
        """Cancels the calls that have not begun, and ends the processes; returns when they have ended."""
        with self._lock:
            if not self._is_shut:
                self._is_shut = True
                self._events.put(None)
        self._thread.join()

    # The thread.

    def _run(self) -> None:
        while True:
            try:
                event = self._events.get(timeout=self._patience())
            except queue.Empty:
                pass
            else:
                if event is None:
                    break
                event()
            # One look for all that has happened.
            if self._events.empty():
                self._assign()
                self._leave()
                self._start()
        self._end()

    def _end(self) -> None:
        for _, future in self._calls:
            future.cancel()
        self._calls.clear()
        for worker in self._workers.values():
            worker.task.cancel()
        jobs = [worker.task.job for worker in self._workers.values() if worker.task.job is not None]
        for worker in self._workers.values():
            if worker.call is not None:
                worker.call.set_exception(DvmError("the pool was shut down during the call"))
        self._workers.clear()
        try:
            if jobs:
                self._dvm.wait(jobs, timeout=60)
        except (DvmError, TimeoutError):
            # The DVM is gone, and its jobs with it; or it is busy, and ends them soon.
            pass

    def _patience(self) -> Optional[float]:
        """Seconds until a process has been idle for too long; None when none is."""
        idle = [worker.idle_since for worker in self._workers.values() if _is_idle(worker)]
        return max(0.0, min(idle) + self._idle_s - time.monotonic()) if idle else None

    def _assign(self) -> None:
        """Gives calls to idle processes, the one that worked last first, so that others can leave."""
        idle = sorted((worker for worker in self._workers.values() if _is_idle(worker)), key=lambda w: w.idle_since)
        # Somebody else's turn.
        is_other = self._waiting()
        while idle and self._calls:
            worker = idle.pop()
            if is_other and time.monotonic() - worker.since > TURN:
                self._dismiss(worker)
                continue
            call, future = self._calls.popleft()
            if future.set_running_or_notify_cancel():
                worker.call = future
                worker.task.feed(LENGTH.pack(len(call)) + call)
            else:
                idle.append(worker)

    def _leave(self) -> None:
        """Lets processes go that nobody needs."""
        if not self._calls:
            now, is_other = time.monotonic(), self._waiting()
            for worker in self._workers.values():
                if _is_idle(worker) and (is_other or now - worker.idle_since >= self._idle_s):
                    self._dismiss(worker)

    def _dismiss(self, worker: _Worker) -> None:
        worker.is_leaving = True
        worker.task.feed(b"", end=True)

    def _start(self) -> None:
        """Starts processes for the calls that wait; cancels those that have come to wait for nothing."""
        while self._has_room():
            self._start_one()
        if not self._calls:
            for at in [at for at, worker in self._workers.items() if not worker.is_ready]:
                self._workers.pop(at).task.cancel()

    def _has_room(self) -> bool:
        starting = sum(not worker.is_ready for worker in self._workers.values())
        staying = sum(not worker.is_leaving for worker in self._workers.values())
        is_enough = starting >= min(len(self._calls), STARTING + (len(self._workers) - starting) // STARTED)
        return not is_enough and (self._most is None or staying < self._most)

    def _start_one(self) -> None:
        self._last += 1
        at = self._last
        try:
            task = self._dvm.submit(
                self._command,
                feed=True,
                keep_output=False,
                on_output=lambda stream, data: self._events.put(lambda: self._on_output(at, stream, data)),
                **self._options,
            )
        except DvmError as error:
            self._fail_first(error)
            return
        self._workers[at] = _Worker(task, time.monotonic())
        task.future.add_done_callback(lambda done: self._events.put(lambda: self._on_end(at, done)))

    def _on_output(self, at: int, stream: str, data: bytes) -> None:
        worker = self._workers.get(at)
        if worker is None:
            return
        if stream != "stdout":
            worker.said = (worker.said + data)[-SAID:]
            return
        worker.heard += data
        while len(worker.heard) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(worker.heard)[0] + len(END)
            if len(worker.heard) < end:
                return
            value = bytes(worker.heard[LENGTH.size : end - len(END)])
            del worker.heard[:end]
            self._on_value(worker, value)

    def _on_value(self, worker: _Worker, value: bytes) -> None:
        worker.idle_since = time.monotonic()
        if not worker.is_ready:
            worker.is_ready = True
            worker.since = worker.idle_since
            return
        future, worker.call = worker.call, None
        if future is not None:
            try:
                future.set_result(unpacked(value))
            except Exception as error:  # noqa: BLE001 - whatever it is belongs to whoever waits for the value
                future.set_exception(error)

    def _on_end(self, at: int, done: "Future[TaskResult]") -> None:
        worker = self._workers.pop(at, None)
        if worker is None or done.cancelled():
            return
        error = done.exception()
        if error is None:
            error = TaskFailed(replace(done.result(), stderr=worker.said))
        if worker.call is not None:
            worker.call.set_exception(error)
        elif not worker.is_ready:
            self._fail_first(error)

    def _fail_first(self, error: BaseException) -> None:
        """Fails a call for a process that could not start, so that a place where none starts is no endless loop."""
        while self._calls:
            _, future = self._calls.popleft()
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
                return


def _is_idle(worker: _Worker) -> bool:
    return worker.is_ready and worker.call is None and not worker.is_leaving


def environment(given: Optional[Mapping[str, str]]) -> Dict[str, str]:
    """Returns the variables of a Python process that makes calls.

    This package may not be installed where it runs: its place in our path comes along.
    """
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return {"PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")])), **(given or {})}
