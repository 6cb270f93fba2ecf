"""A `concurrent.futures.Executor` whose calls run in a DVM."""

from __future__ import annotations

import base64
import os
import pickle
import sys
from concurrent.futures import Executor as _Executor
from concurrent.futures import Future, InvalidStateError, wait
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Union

from .dvm import Command, Dvm
from .errors import TaskFailed
from .pool import WorkerPool, environment
from .task import Task, TaskFuture, TaskResult
from .worker import MARK, unpacked

#: What becomes of a module that is run and not imported.
_MAIN = "__main__"


class Executor(_Executor):
    """Runs commands and Python functions in a DVM.

    `submit("a line for the shell")` and `submit(["program", "argument"], np=4)` return futures of a `TaskResult`;
    further keywords are those of `Dvm.submit`. `submit(function, ...)` runs a function in a Python process of its own
    and returns the future of its value. Functions have to be importable, or defined in the program itself, as for
    `ProcessPoolExecutor`. What a function prints is on the standard error of its task.
    """

    def __init__(
        self,
        dvm: Optional[Dvm] = None,
        *,
        python: str = sys.executable,
        keep_processes: bool = False,
        **options: Any,
    ) -> None:
        """Runs in this DVM, else in the one that `Dvm.connect` finds. `options` are those of `Dvm.submit`, for all.

        With `keep_processes` one process calls many functions, one after the other; a call that has begun cannot be
        cancelled then. Processes end when they have had nothing to do for some seconds.
        """
        self._dvm = dvm if dvm is not None else Dvm.connect()
        self._is_ours = dvm is None
        self._python = python
        self._options = options
        self._pool = WorkerPool(self._dvm, python=python, **options) if keep_processes else None
        self._futures: Set["Future[Any]"] = set()
        self._is_shut = False

    def submit(self, fn: Union[Command, Callable[..., Any]], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Submits a command, or the call of a function."""
        if self._is_shut:
            raise RuntimeError("the executor takes no more: shutdown() was called")
        if callable(fn):
            future = self._call(fn, args, kwargs)
        elif args:
            raise TypeError("a command has no further arguments: give a list with all of its words")
        else:
            future = self._dvm.submit(fn, **{**self._options, **kwargs}).future
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def map(
        self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: Optional[float] = None, chunksize: int = 1
    ) -> Iterator[Any]:
        """As `Executor.map`; each process calls the function `chunksize` times."""
        if chunksize < 1:
            raise ValueError("chunksize must be 1 or more")
        if chunksize == 1:
            return super().map(fn, *iterables, timeout=timeout)
        calls = list(zip(*iterables))
        chunks = [calls[at : at + chunksize] for at in range(0, len(calls), chunksize)]
        values = super().map(_Chunk(fn), chunks, timeout=timeout)
        return (value for chunk in values for value in chunk)

    def map_commands(self, commands: Iterable[Command], **options: Any) -> Iterator[TaskResult]:
        """Runs commands; yields their results in the order of the commands."""
        futures: List["Future[TaskResult]"] = [self.submit(command, **options) for command in commands]
        return (future.result() for future in futures)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As `Executor.shutdown`. It closes a connection that it has made itself."""
        self._is_shut = True
        if cancel_futures:
            for future in list(self._futures):
                future.cancel()
        if wait:
            _wait_for(self._futures)
            if self._pool is not None:
                self._pool.shutdown()
            if self._is_ours:
                self._dvm.close()

    def _call(self, fn: Callable[..., Any], args: Any, kwargs: Dict[str, Any]) -> "Future[Any]":
        call = pickle.dumps((fn, args, kwargs))
        main_path = _main_path(fn, call)
        if self._pool is not None:
            return self._pool.submit(pickle.dumps((sys.path, main_path, call)))
        return call_once(self._dvm, self._python, main_path, call, **self._options)


def call_once(dvm: Dvm, python: str, main_path: Optional[str], call: bytes, **options: Any) -> "Future[Any]":
    """Makes a call (`WorkerPool.submit`) in a task of its own. In one of several processes each makes it, and the
    future has the value of process 0; it is TaskFailed when another one has failed. `options` are those of
    `Dvm.submit`."""
    text = base64.b64encode(pickle.dumps({"path": sys.path, "main": main_path, "call": call})).decode()
    options["env"] = environment(options.get("env"))
    options["options"] = ["--stdin", "all", *options.get("options", ())]
    task = dvm.submit([python, "-m", "ferrite_dvm.worker"], stdin=text, **options)
    future: "Future[Any]" = TaskFuture(task)
    task.future.add_done_callback(lambda done: _pass_on(task, done, future))
    return future


class _Chunk:
    """Calls a function several times."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __call__(self, calls: List[Any]) -> List[Any]:
        return [self.fn(*args) for args in calls]


def _main_path(_fn: Callable[..., Any], call: bytes) -> Optional[str]:
    """The file of the program itself, if the call refers to it."""
    path = getattr(sys.modules.get(_MAIN), "__file__", None)
    return os.path.abspath(path) if path and _MAIN.encode() in call else None


def _pass_on(task: Task, done: "Future[TaskResult]", future: "Future[Any]") -> None:
    """Makes the value of a call of the result of its task."""
    try:
        if done.cancelled():
            future.cancel()
            return
        result = done.result()
        at = result.stdout.rfind(MARK)
        if at < 0:
            raise TaskFailed(result)
        value = unpacked(base64.b64decode(result.stdout[at + len(MARK) :]))
        result.check()
    except Exception as error:  # noqa: BLE001 - whatever it is belongs to whoever waits for the value
        _settle(lambda: future.set_exception(error))
    else:
        _settle(lambda: future.set_result(value))


def _settle(how: Callable[[], None]) -> None:
    try:
        how()
    except InvalidStateError:
        # It was cancelled.
        pass


def _wait_for(futures: Set["Future[Any]"]) -> None:
    wait(list(futures))
