"""A task of a DVM, and its result."""

from __future__ import annotations

import asyncio
import base64
import queue
import threading
from collections import deque
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Generator, Iterator, List, Optional, Tuple

from .errors import DvmError, TaskFailed

if TYPE_CHECKING:
    from .connection import Connection

#: The longest piece of standard input that goes to the DVM at once (bytes).
PIECE = 1 << 20


@dataclass(frozen=True)
class TaskResult:
    """How a task has ended."""

    job: Optional[int]
    exit_code: int
    #: `done`, `failed`, `killed`, `refused`, `not_run` or `lost ranks`; None when the DVM itself has ended.
    ending: Optional[str]
    #: The signal that has ended the process which failed first.
    signal: Optional[int]
    #: Why it has failed, for people.
    cause: Optional[str]
    #: Standard output and standard error of all its processes, unless they were not kept.
    stdout: bytes
    stderr: bytes
    #: The first node of its processes.
    first_node: Optional[str]
    #: Seconds since the start of the DVM.
    submitted_s: Optional[float]
    running_s: Optional[float]
    ended_s: Optional[float]
    #: Ranks that went with their nodes.
    lost_ranks: List[int] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True for exit code 0."""
        return self.exit_code == 0

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.stdout.decode(errors="replace")

    def check(self) -> "TaskResult":
        """Raises TaskFailed unless the task has ended well."""
        if not self.ok:
            raise TaskFailed(self)
        return self


class TaskFuture(Future):
    """A future whose cancellation ends what it stands for."""

    def __init__(self, task: "Task") -> None:
        super().__init__()
        self._task = task
        self._told = threading.Lock()

    def cancel(self) -> bool:
        """Ends the task, if it is not over."""
        if not super().cancel():
            return False
        # Those who wait for several futures at once hear of it; once only.
        if self._told.acquire(blocking=False):
            self.set_running_or_notify_cancel()
            self._task._end_it()
        return True

    def running(self) -> bool:
        """True between the submission of the task and its end."""
        return self._task.job is not None and not self.done()


class Task:
    """A task: `result()` waits for its end, `await task` as well, and `output()` yields what it writes."""

    def __init__(
        self,
        connection: "Connection",
        name: str,
        keep: bool = True,
        detached: bool = False,
        on_output: Optional[Callable[[str, bytes], None]] = None,
    ) -> None:
        self._connection = connection
        #: The name by which the DVM knows it as well.
        self.name = name
        #: The number of its job, once the DVM has taken it.
        self.job: Optional[int] = None
        #: The namespace of its job.
        self.namespace: Optional[str] = None
        self.detached = detached
        self.future: "Future[Any]" = TaskFuture(self)
        self._keep = keep
        self._kept: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        self._notices: List[str] = []
        self._on_piece = on_output
        # Standard input that the DVM has not taken, in pieces: the last of a `feed` has its future.
        self._input: "Deque[Tuple[bytes, bool, Optional[Future[None]]]]" = deque()
        self._is_fed = False
        self._stream: "Optional[queue.SimpleQueue[Optional[Tuple[str, bytes]]]]" = None
        self._lock = threading.Lock()
        self._submitted = threading.Event()
        self._started = threading.Event()

    def result(self, timeout: Optional[float] = None) -> TaskResult:
        """Waits for the end. Raises what the DVM said when it has refused the task."""
        return self.future.result(timeout)

    def done(self) -> bool:
        """True when it is over."""
        return self.future.done()

    def cancel(self) -> bool:
        """Ends the task; false when it was over before."""
        return self.future.cancel()

    def signal(self, signal: "int | str") -> None:
        """Sends a signal to its processes."""
        self._connection.ask("signal", job=self.wait_submitted(), signal=signal).result()

    def feed(self, data: bytes, *, end: bool = False) -> "Future[None]":
        """Gives more standard input to a task that was submitted with `feed=True`; `end` is the end of its input.

        The future is done when the DVM has taken it. It raises RequestRefused when the task reads no more.
        """
        taken: "Future[None]" = Future()
        taken.set_running_or_notify_cancel()
        pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)] or [b""]
        with self._lock:
            self._input.extend((piece, False, None) for piece in pieces[:-1])
            self._input.append((pieces[-1], end, taken))
        self._feed_on()
        return taken

    def wait_submitted(self, timeout: Optional[float] = None) -> int:
        """Waits until the DVM has taken the task; returns the number of its job."""
        self._submitted.wait(timeout)
        if self.job is None:
            if self.future.done():
                self.future.result()
            raise TimeoutError(f"the DVM has not taken the task {self.name} yet")
        return self.job

    def wait_started(self, timeout: Optional[float] = None) -> bool:
        """Waits until its processes run, or it is over. Needs `Dvm.follow()`."""
        return self._started.wait(timeout)

    def output(self) -> Iterator[Tuple[str, bytes]]:
        """Yields pairs of `stdout` or `stderr` and bytes, from the beginning to the end of the task."""
        with self._lock:
            stream = self._stream = queue.SimpleQueue()
            for name, pieces in self._kept.items():
                for data in pieces:
                    stream.put((name, data))
            if self.future.done():
                stream.put(None)
        while True:
            piece = stream.get()
            if piece is None:
                return
            yield piece

    def __await__(self) -> Generator[Any, None, TaskResult]:
        return asyncio.wrap_future(self.future).__await__()

    def __repr__(self) -> str:
        return f"<Task {self.name} job={self.job} done={self.done()}>"

    # What the DVM says.

    def _on_submitted(self, place: Dict[str, Any]) -> bool:
        self.job, self.namespace = place["job"], place["namespace"]
        self._submitted.set()
        # It was cancelled before it had a number.
        if self.future.cancelled():
            self._connection.ask("cancel", job=self.job)
        self._feed_on()
        return self.detached

    def _on_started(self, _line: Dict[str, Any]) -> None:
        self._started.set()

    def _on_output(self, line: Dict[str, Any]) -> None:
        data = base64.b64decode(line["data"]) if line["encoding"] == "base64" else line["data"].encode()
        with self._lock:
            if self._keep:
                self._kept[line["stream"]].append(data)
            if self._stream is not None:
                self._stream.put((line["stream"], data))
        if self._on_piece is not None:
            self._on_piece(line["stream"], data)

    def _on_notice(self, line: Dict[str, Any]) -> None:
        self._notices.append(line["text"])

    def _on_ended(self, line: Dict[str, Any]) -> None:
        get = line.get
        self._finish(
            TaskResult(
                job=self.job,
                exit_code=line["exit_code"],
                ending=get("ending"),
                signal=get("signal"),
                cause=get("cause") or "\n".join(self._notices) or None,
                stdout=b"".join(self._kept["stdout"]),
                stderr=b"".join(self._kept["stderr"]),
                first_node=get("first_node"),
                submitted_s=get("submitted_s"),
                running_s=get("running_s"),
                ended_s=get("ended_s"),
                lost_ranks=get("lost_ranks") or [],
            )
        )

    def _finish(self, result: TaskResult) -> None:
        try:
            self.future.set_result(result)
        except InvalidStateError:
            # It was cancelled, and its future said so at once.
            pass
        self._over()

    def _fail(self, error: Exception) -> None:
        try:
            self.future.set_exception(error)
        except InvalidStateError:
            pass
        self._over()

    def _over(self) -> None:
        self._submitted.set()
        self._started.set()
        with self._lock:
            if self._stream is not None:
                self._stream.put(None)
        self._feed_on()

    def _feed_on(self) -> None:
        """Gives the next piece of input to the DVM, one at a time."""
        with self._lock:
            job = self.job
            if self._is_fed or not self._input or (job is None and not self.future.done()):
                return
            self._is_fed = True
            piece, end, _ = self._input[0]
        if job is None:
            self._refuse_input(DvmError(f"the task {self.name} is over, and has taken no input"))
            return
        try:
            fields = {"data": base64.b64encode(piece).decode(), "encoding": "base64", **({"end": True} if end else {})}
            self._connection.ask("feed", job=job, **fields).add_done_callback(self._on_fed)
        except DvmError as error:
            self._refuse_input(error)

    def _on_fed(self, asked: "Future[Any]") -> None:
        error = asked.exception()
        if error is not None:
            self._refuse_input(error)
            return
        with self._lock:
            _, _, taken = self._input.popleft()
            self._is_fed = False
        if taken is not None:
            taken.set_result(None)
        self._feed_on()

    def _refuse_input(self, error: BaseException) -> None:
        with self._lock:
            refused, self._is_fed = list(self._input), False
            self._input.clear()
        for _, _, taken in refused:
            if taken is not None:
                taken.set_exception(error)

    def _end_it(self) -> None:
        """Ends the job; its number may not be known yet."""
        if self._connection.withdraw(self):
            self._over()
        elif self.job is not None and self._connection.is_open:
            self._connection.ask("cancel", job=self.job)
