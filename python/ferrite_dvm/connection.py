"""The JSON lines of a DVM (docs/service.md of Ferrite): one thread writes, another reads.

Requests and tasks have numbers of their own here. No more tasks are with the DVM than it takes from one client; the
others wait on this side, in their order.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections import deque
from concurrent.futures import Future
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple, Union

from .bridge import Bridge
from .contact import open_socket
from .errors import DvmGone, RequestRefused
from .task import Task

#: The most tasks that the DVM has of this client.
WINDOW = 4000
SCHEMA = 1

Line = Dict[str, Any]


class Connection:
    """One connection to a DVM: by the path of its socket, or by another program."""

    def __init__(self, way: Union[str, Bridge]) -> None:
        self._bridge = way if isinstance(way, Bridge) else None
        try:
            self._socket: socket.socket = way.socket if isinstance(way, Bridge) else open_socket(way)
        except OSError as error:
            raise DvmGone(f"no DVM listens on {way}: {error.strerror}") from error
        self._lock = threading.Lock()
        self._last = 0
        self._asked: Dict[int, "Future[Line]"] = {}
        self._tasks: Dict[int, Task] = {}
        self._pending: Deque[Tuple[Task, Line]] = deque()
        self._listeners: List[Callable[[Optional[Line]], None]] = []
        self._following = "none"
        self._gone: Optional[DvmGone] = None
        self._outbox: "queue.SimpleQueue[Optional[bytes]]" = queue.SimpleQueue()
        for name, target in (("write", self._write), ("read", self._read)):
            threading.Thread(target=target, name=f"ferrite-dvm-{name}", daemon=True).start()
        # The DVM closes a connection on which nothing is said at first.
        first = self.ask("follow", of="none")
        if self._bridge is not None:
            # A program that has been started need not have found a DVM.
            first.result()

    # What the caller asks.

    def ask(self, kind: str, **fields: Any) -> "Future[Line]":
        """Sends a request; the future has its answer, or the error."""
        future: "Future[Line]" = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            if self._gone is not None:
                raise self._gone
            number = self._number()
            self._asked[number] = future
        self._send(kind, number, fields)
        return future

    def submit(self, task: Task, described: Line) -> None:
        """Submits a task, at once or when others are over."""
        with self._lock:
            if self._gone is not None:
                raise self._gone
            if len(self._tasks) >= WINDOW:
                self._pending.append((task, described))
                return
            number = self._number()
            self._tasks[number] = task
        self._send("submit", number, {"tasks": [described]})

    def withdraw(self, task: Task) -> bool:
        """Takes back a task that the DVM does not have yet."""
        with self._lock:
            for at, (pending, _) in enumerate(self._pending):
                if pending is task:
                    del self._pending[at]
                    return True
        return False

    def follow(self, of: str) -> None:
        """Asks for more to be told; never for less."""
        order = ("none", "own", "all")
        with self._lock:
            if order.index(of) <= order.index(self._following):
                return
            self._following = of
        self.ask("follow", of=of).result()

    def listen(self, listener: Callable[[Optional[Line]], None]) -> Callable[[], None]:
        """Tells a function every line that is no answer, and None at the end; returns how to stop that."""
        with self._lock:
            gone = self._gone
            if gone is None:
                self._listeners.append(listener)
        if gone is not None:
            listener(None)

        def stop() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return stop

    def close(self) -> None:
        """Ends the connection. The DVM ends its tasks that are not over, except detached ones."""
        self._outbox.put(None)
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        if self._bridge is not None:
            self._bridge.finish()

    @property
    def is_open(self) -> bool:
        """True until the DVM is gone or the connection was closed."""
        return self._gone is None

    def _number(self) -> int:
        self._last += 1
        return self._last

    def _send(self, kind: str, number: int, fields: Line) -> None:
        line = {"schema": SCHEMA, "kind": kind, "id": number, **fields}
        self._outbox.put(json.dumps(line, separators=(",", ":")).encode() + b"\n")

    # The threads.

    def _write(self) -> None:
        """Writes lines. A thread of its own: the DVM reads no more while its answers wait, and they are read here."""
        while True:
            line = self._outbox.get()
            lines = [line]
            while lines[-1] is not None and len(lines) < 256 and not self._outbox.empty():
                lines.append(self._outbox.get())
            try:
                self._socket.sendall(b"".join(line for line in lines if line is not None))
            except OSError:
                return
            if lines[-1] is None:
                return

    def _read(self) -> None:
        why = "the DVM has closed the connection"
        try:
            with self._socket.makefile("rb", buffering=1 << 16) as lines:
                for line in lines:
                    self._take(json.loads(line))
        except OSError as error:
            why = f"the connection to the DVM broke: {error.strerror}"
        except ValueError as error:
            why = f"the DVM said what is no JSON: {error}"
        if self._bridge is not None:
            self._socket.close()
            self._bridge.finish()
            why = self._bridge.complaint() or why
        self._end(DvmGone(why))

    def _take(self, line: Line) -> None:
        kind, number = line["kind"], line.get("id")
        task = self._tasks.get(number) if number is not None else None
        if number is not None and task is not None:
            self._on_task(number, task, kind, line)
        elif number in self._asked:
            with self._lock:
                future = self._asked.pop(number)
            if kind == "error":
                future.set_exception(RequestRefused(line["reason"], line["error"]))
            else:
                future.set_result(line)
            return
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(line)

    def _on_task(self, number: int, task: Task, kind: str, line: Line) -> None:
        if kind == "output":
            task._on_output(line)
        elif kind == "notice":
            task._on_notice(line)
        elif kind == "submitted":
            place = line["jobs"][0]
            if place["error"] is not None:
                self._forget(number)
                task._fail(RequestRefused("refused", place["error"]))
            elif task._on_submitted(place):
                self._forget(number)
        elif kind == "started":
            task._on_started(line)
        elif kind == "ended":
            self._forget(number)
            task._on_ended(line)
        elif kind == "error":
            self._forget(number)
            task._fail(RequestRefused(line["reason"], line["error"]))

    def _forget(self, number: int) -> None:
        """Makes room for a task that waits on this side."""
        following = None
        with self._lock:
            del self._tasks[number]
            if self._pending:
                task, described = self._pending.popleft()
                following = (self._number(), described)
                self._tasks[following[0]] = task
        if following is not None:
            self._send("submit", following[0], {"tasks": [following[1]]})

    def _end(self, why: DvmGone) -> None:
        with self._lock:
            self._gone = why
            asked, self._asked = self._asked, {}
            tasks = list(self._tasks.values()) + [task for task, _ in self._pending]
            self._tasks, listeners = {}, list(self._listeners)
            self._pending.clear()
        self._outbox.put(None)
        self._socket.close()
        for future in asked.values():
            future.set_exception(why)
        for task in tasks:
            task._fail(why)
        for listener in listeners:
            listener(None)
