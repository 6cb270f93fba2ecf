"""Parsl over a DVM: an executor for its apps, and a launcher for the worker pools of its `HighThroughputExecutor`.

    config = Config(executors=[FerriteExecutor(start_dvm={"hosts": ["n0:4", "n1:4"]})])

Python apps run in Python processes that make many calls each. A bash app's function is called in the program itself;
its line runs in the DVM without a Python around it. An app with a `parsl_resource_specification` is an MPI program.
"""

from __future__ import annotations

import math
import os
import pickle
import re
import shlex
import sys
import threading
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Union

try:
    from parsl.app.bash import remote_side_bash_executor
    from parsl.app.errors import AppTimeout, BadStdStreamFile, BashExitFailure, MissingOutputs
    from parsl.data_provider.files import File
    from parsl.data_provider.staging import Staging
    from parsl.executors.base import ParslExecutor
    from parsl.executors.errors import InvalidResourceSpecification
    from parsl.launchers.base import Launcher
    from parsl.serialize import deserialize, pack_apply_message
    from parsl.utils import RepresentationMixin, get_std_fname_mode
except ImportError as error:
    raise ImportError("ferrite_dvm.parsl needs Parsl: pip install 'ferrite-dvm[parsl]'") from error

from ._parsl_call import call_packed
from .dvm import Dvm
from .errors import DvmError, TaskFailed
from .executor import call_once
from .pool import WorkerPool
from .task import TaskResult

#: The exit code of a task that has run for longer than it may.
TIMED_OUT = 124
#: The longest serialized call or value before Parsl warns (bytes).
LARGE = 128 << 20
#: The launchers of Parsl's MPI mode, before a command that several ranks run.
_PREFIX = re.compile(r"\$\{?PARSL_(?:MPI|MPIEXEC|SRUN|APRUN)_PREFIX\b\}?")


class FerriteExecutor(ParslExecutor, RepresentationMixin):
    """Runs Parsl apps in one DVM.

    `dvm` names a DVM that runs (see `find_socket`); without it, it is the only one of this user on this host.
    `start_dvm` starts one instead, with these keywords of `Dvm.start`: `{"hosts": ["n0:4", "n1:4"]}`, or `{}` for the
    nodes of the batch job, else this machine. That DVM ends with the executor, or with the program.

    `max_workers` is the largest number of processes for Python apps; without it there are as many as the DVM has slots
    for. One that has had nothing to do for `idle_s` seconds leaves its slot, and all leave theirs to bash apps and MPI
    programs that wait for one. `env` has variables for all apps. Apps run in `working_dir`, by default the directory in
    which the executor starts.

    A `parsl_resource_specification` has the keys of Parsl's MPI mode: `num_ranks`, `num_nodes`, `ranks_per_node`, and
    `launcher_options` (options of `prun`). A bash app's line runs in each rank, and a leading `$PARSL_MPI_PREFIX` is
    left out. A Python app's function is called in each rank, and its value is that of rank 0.

    Without `storage_access` files are those of a file system that all nodes share. Parsl's monitoring of tasks is
    refused by Parsl itself (RadioRequiredError).
    """

    def __init__(
        self,
        label: str = "ferrite",
        *,
        dvm: Optional[str] = None,
        start_dvm: Optional[Mapping[str, Any]] = None,
        max_workers: Optional[int] = None,
        idle_s: float = 5.0,
        python: str = sys.executable,
        env: Optional[Mapping[str, str]] = None,
        working_dir: Optional[str] = None,
        storage_access: Optional[List[Staging]] = None,
    ) -> None:
        super().__init__()
        if dvm is not None and start_dvm is not None:
            raise ValueError("give dvm or start_dvm: the executor connects to a DVM or starts one")
        if max_workers is not None and max_workers < 1:
            raise ValueError(f"max_workers is {max_workers}: Python apps need at least one process")
        self.label = label
        self.dvm = dvm
        self.start_dvm = start_dvm
        self.max_workers = max_workers
        self.idle_s = idle_s
        self.python = python
        self.env = env
        self.working_dir = working_dir
        self.storage_access = storage_access
        self._dvm: Optional[Dvm] = None
        self._pool: Optional[WorkerPool] = None
        self._lock = threading.Lock()
        self._last = 0
        # Tasks that are no calls of the pool: those that are not over, and the names of those that wait for slots.
        self._tasks: "Set[Future[Any]]" = set()
        self._waiting: Set[str] = set()
        # How many programs that say how many nodes they need are on each node.
        self._used: "Counter[str]" = Counter()

    def start(self) -> None:
        """Starts the DVM or connects to it."""
        self._dvm = Dvm.connect(self.dvm) if self.start_dvm is None else Dvm.start(**{"tied": True, **self.start_dvm})
        self._dvm._connection.listen(self._on_line)
        self._dvm.follow()
        self._pool = WorkerPool(
            self._dvm,
            python=self.python,
            most=self.max_workers,
            idle_s=self.idle_s,
            waiting=lambda: bool(self._waiting),
            **self._options(),
        )

    def submit(
        self, func: Callable[..., Any], resource_specification: Dict[str, Any], *args: Any, **kwargs: Any
    ) -> "Future[Any]":
        """Runs an app. Raises InvalidResourceSpecification, which names what is wrong."""
        if self._dvm is None or self._pool is None:
            raise RuntimeError(f"the executor {self.label} has not started, or was shut down")
        layout = _layout(resource_specification)
        of_bash = _function_of_bash_app(func)
        if of_bash is not None:
            return self._run_line(self._dvm, of_bash, layout, args, kwargs)
        packed = pack_apply_message(func, args, kwargs, buffer_threshold=LARGE)
        call = pickle.dumps((call_packed, (packed,), {}))
        if layout is not None:
            dvm = self._dvm
            future = self._run(dvm, lambda **options: call_once(dvm, self.python, None, call, **options), layout)
        else:
            future = self._pool.submit(pickle.dumps((sys.path, None, call)))
        return _then(future, deserialize)

    def shutdown(self) -> None:
        """Ends what still runs, and the DVM if the executor has started it."""
        dvm, pool, self._dvm, self._pool = self._dvm, self._pool, None, None
        if dvm is not None and pool is not None:
            for future in list(self._tasks):
                future.cancel()
            pool.shutdown()
            dvm.close()
        super().shutdown()

    def monitor_resources(self) -> bool:
        """False: the processes of a task are not below the one that calls its function."""
        return False

    def _options(self) -> Dict[str, Any]:
        return {"cwd": self.working_dir or os.getcwd(), "env": dict(self.env or {})}

    def _run(self, dvm: Dvm, submit: "Callable[..., Future[Any]]", layout: Optional[_Layout]) -> "Future[Any]":
        """Submits a task; the pool hears that it waits for slots until it has started."""
        placed, nodes = self._place(dvm, layout) if layout is not None else ({}, [])
        with self._lock:
            self._last += 1
            name = f"parsl.{os.getpid()}.{self.label}.{self._last}"
            self._waiting.add(name)
        try:
            future = submit(name=name, **self._options(), **placed)
        except DvmError:
            self._waiting.discard(name)
            raise
        with self._lock:
            self._used.update(nodes)
        self._tasks.add(future)

        def over(done: "Future[Any]") -> None:
            self._waiting.discard(name)
            self._tasks.discard(done)
            with self._lock:
                self._used.subtract(nodes)

        future.add_done_callback(over)
        if self._pool is not None:
            self._pool.look()
        return future

    def _place(self, dvm: Dvm, layout: _Layout) -> Tuple[Dict[str, Any], List[str]]:
        """Returns the options of `Dvm.submit` for a layout, and the nodes if it says how many.

        The DVM would take more nodes than that when a few slots are free on each. So the nodes are chosen here: those
        that have the fewest programs of this executor, and then the fewest slots in use.
        """
        mapping = [] if layout.each is None else ["--map-by", f"ppr:{layout.each}:node"]
        placed = {"np": layout.ranks, "options": mapping + layout.options}
        if layout.nodes is None or layout.each is None:
            return placed, []
        fitting = [node for node in dvm.nodes() if node["daemon"] is not None and node["slots"] >= layout.each]
        if len(fitting) < layout.nodes:
            text = f"The DVM has {len(fitting)} nodes with {layout.each} slots or more, and not {layout.nodes}."
            raise InvalidResourceSpecification({"num_nodes"}, text)
        fitting.sort(key=lambda node: (self._used[node["name"]], node["slots_in_use"]))
        nodes = [node["name"] for node in fitting[: layout.nodes]]
        return {**placed, "host": ",".join(f"{node}:{layout.each}" for node in nodes)}, nodes

    def _on_line(self, line: Optional[Dict[str, Any]]) -> None:
        if line is not None and line["kind"] == "started":
            self._waiting.discard(line["task"])

    def _run_line(
        self, dvm: Dvm, function: Callable[..., Any], layout: Optional[_Layout], args: Any, kwargs: Dict[str, Any]
    ) -> "Future[int]":
        """Runs the line of a bash app. Raises what its function raises."""
        name = getattr(function, "__name__", "bash_app")
        line = function(*args, **kwargs)
        if not isinstance(line, str):
            raise ValueError(f"the bash app {name} returns the line of a command as a text, and not {line!r}")
        line = _without_prefix(line, layout is not None, name)
        walltime, files = kwargs.get("walltime"), _Files(name, kwargs)
        limit = {} if walltime is None else {"time_limit": max(1, math.ceil(walltime))}

        def submit(**options: Any) -> "Future[TaskResult]":
            command = ["/bin/bash", "-c", line]
            return dvm.submit(command, keep_output=False, on_output=files.write, **limit, **options).future

        def judge(result: TaskResult) -> int:
            files.close()
            if result.exit_code == TIMED_OUT and walltime is not None:
                raise AppTimeout(f"the bash app {name} has run for longer than {walltime} s")
            if not result.ok:
                raise BashExitFailure(name, result.exit_code) from TaskFailed(result)
            missing = [file for file in kwargs.get("outputs", []) if not os.path.exists(file.filepath)]
            if missing:
                raise MissingOutputs(f"the bash app {name} has not written all of its outputs", missing)
            return 0

        return _then(self._run(dvm, submit, layout), judge)


class PrunLauncher(Launcher):
    """Starts the worker pools of a `HighThroughputExecutor` by `prun` in a DVM that runs, one in each of a block's
    nodes.

    `options` are further options of `prun`, for example `["--namespace", "NAME"]`. A pool has one slot; how many
    workers it has, the executor says (`max_workers_per_node`).
    """

    def __init__(self, options: Sequence[str] = (), prun: str = "prun", debug: bool = True) -> None:
        super().__init__(debug=debug)
        self.options = options
        self.prun = prun

    def __call__(self, command: str, tasks_per_node: int, nodes_per_block: int, script_dir: str = "") -> str:
        """Returns the line that starts a block."""
        words = [self.prun, "-n", str(tasks_per_node * nodes_per_block), "--map-by", f"ppr:{tasks_per_node}:node"]
        words += ["--wait-for-slots", *self.options, "/bin/bash", "-c", command]
        return " ".join(shlex.quote(word) for word in words)


class _Files:
    """The files of a bash app's output, each opened when there is something to write, or at the end."""

    def __init__(self, name: str, kwargs: Mapping[str, Any]) -> None:
        self._name = name
        self._named = {stream: kwargs[stream] for stream in ("stdout", "stderr") if kwargs.get(stream) is not None}
        self._open: Dict[str, IO[bytes]] = {}
        self._error: Optional[Exception] = None

    def write(self, stream: str, data: bytes) -> None:
        """Writes a piece of output. An error is raised at the end, for it is nobody's here."""
        if stream in self._named and self._error is None:
            try:
                self._file(stream).write(data)
            except (OSError, BadStdStreamFile) as error:
                self._error = error

    def close(self) -> None:
        """Closes the files. Raises BadStdStreamFile when one could not be written."""
        for stream in self._named:
            self.write(stream, b"")
        for file in self._open.values():
            try:
                file.close()
            except OSError as error:
                self._error = self._error or error
        if self._error is not None:
            raise BadStdStreamFile(f"{self._name}: {self._error}") from self._error

    def _file(self, stream: str) -> IO[bytes]:
        if stream not in self._open:
            named = self._named[stream]
            path, mode = (named.filepath, "w") if isinstance(named, File) else get_std_fname_mode(stream, named)
            if os.path.dirname(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
            self._open[stream] = open(path, mode.replace("t", "") + "b", buffering=0)
        return self._open[stream]


def _function_of_bash_app(func: Callable[..., Any]) -> Optional[Callable[..., Any]]:
    """Returns the function of a bash app, which returns a line; None for Python apps."""
    inner = getattr(func, "__wrapped__", None)
    if isinstance(inner, partial) and inner.func is remote_side_bash_executor:
        return inner.args[0]
    return None


def _without_prefix(line: str, is_parallel: bool, name: str) -> str:
    """Leaves out the launcher with which a line of Parsl's MPI mode begins: the line itself runs in each rank."""
    found = _PREFIX.search(line)
    if found is None:
        return line
    if not is_parallel:
        raise ValueError(f"the bash app {name} names {found[0]}: give it a parsl_resource_specification as well")
    rest = line.lstrip()
    rest = rest[len(found[0]) :] if rest.startswith(found[0]) else rest
    if _PREFIX.search(rest):
        raise ValueError(f"the bash app {name} names {found[0]} in the middle of its line, which each rank runs")
    return rest


@dataclass(frozen=True)
class _Layout:
    """The processes of a parallel app."""

    ranks: int
    #: On so many nodes; None = the DVM chooses.
    nodes: Optional[int]
    #: The most on each node.
    each: Optional[int]
    options: List[str]


def _layout(specification: Mapping[str, Any]) -> Optional[_Layout]:
    """Reads a resource specification of Parsl's MPI mode; None: there is none. Raises InvalidResourceSpecification."""
    numbers = ("num_ranks", "num_nodes", "ranks_per_node")
    unknown = set(specification) - {*numbers, "launcher_options"}
    if unknown:
        raise InvalidResourceSpecification(unknown, f"A DVM knows {', '.join(numbers)} and launcher_options.")
    if not specification:
        return None
    given = {key: _positive(key, specification[key]) for key in numbers if specification.get(key) is not None}
    ranks, nodes, each = (given.get(key) for key in numbers)
    if nodes is not None:
        each = each or (1 if ranks is None else ranks // nodes)
        ranks = ranks or nodes * each
        if ranks != nodes * each:
            text = f"{ranks} ranks cannot be on {nodes} nodes with {each} on each."
            raise InvalidResourceSpecification(set(given), text)
    return _Layout(ranks or each or 1, nodes, each, shlex.split(specification.get("launcher_options") or ""))


def _positive(key: str, value: Union[int, str]) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise InvalidResourceSpecification({key}, f"{value!r} is no number from 1 on.")
    return number


def _then(future: "Future[Any]", step: Callable[[Any], Any]) -> "Future[Any]":
    """Returns the future of what `step` makes of a result. To cancel it cancels the first one."""
    following = _Following(future)

    def pass_on(done: "Future[Any]") -> None:
        if done.cancelled():
            following.end_cancelled()
        elif following.set_running_or_notify_cancel():
            try:
                following.set_result(step(done.result()))
            except Exception as error:  # noqa: BLE001 - whatever it is belongs to whoever waits for the value
                following.set_exception(error)

    future.add_done_callback(pass_on)
    return following


class _Following(Future):
    """A future that comes after another one."""

    def __init__(self, first: "Future[Any]") -> None:
        super().__init__()
        self._first = first

    def cancel(self) -> bool:
        """Cancels the first one."""
        return self._first.cancel()

    def end_cancelled(self) -> None:
        """Ends this one as cancelled, after the first."""
        if super().cancel():
            self.set_running_or_notify_cancel()
