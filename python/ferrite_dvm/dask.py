"""Dask over a DVM: a cluster whose workers are jobs of a DVM that grows and shrinks with them.

    cluster = FerriteCluster(hosts=["n0:4", "n1:4", "n2:4"])        # the DVM begins on the first
    cluster.adapt(minimum=1, maximum=12)
    client = Client(cluster)
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

try:
    from distributed.core import Status
    from distributed.deploy.spec import ProcessInterface, SpecCluster
    from distributed.scheduler import Scheduler
except ImportError as error:
    raise ImportError("ferrite_dvm.dask needs Dask: pip install 'ferrite-dvm[dask]'") from error

from .connection import Line
from .dvm import Dvm
from .errors import DvmError
from .pool import SAID
from .task import Task

logger = logging.getLogger(__name__)

#: Seconds until a host is tried again that could not be added.
REST = 60.0
#: Seconds until a worker ends that finds no scheduler.
LONELY = 60
#: Starts a worker in the directory of the program; its own files are in the directory of its job, which goes with it.
_START = 'scratch=$PWD; cd "$1" && shift && exec "$@" --local-directory "$scratch"'


class FerriteCluster(SpecCluster):
    """A Dask cluster whose scheduler is in this program and whose workers are jobs of a DVM, of one slot each.

    `hosts` are the hosts that it may have, each with `:SLOTS`. The DVM begins on the first of them, and the cluster
    adds others, in their order, when there are more workers than slots. It removes them when no job is left there and
    the workers fit without them. That DVM ends with the cluster, or with the program. Without hosts it has the nodes
    of the batch job, else this machine.

    `dvm` names a DVM that runs (see `find_socket`), or is a `Dvm`. Then `hosts` are those that the cluster may add to
    it, and it goes on when the cluster is closed.

    The `Dvm` is the attribute `dvm`. `n_workers` is the first number of workers. `nthreads` and `memory_limit` are those
    of each worker, and `worker_options` are further options of `dask worker`. `local_directory` is for their files;
    without it these are in the session directory of the DVM, and end with the worker. `env` has variables for the
    workers. `host` or `interface` say where the scheduler listens, and `dashboard_address` where its page is. `agent`,
    `parameters` and `options` are those of `Dvm.start`. Further keywords are those of `SpecCluster`.
    """

    def __init__(
        self,
        hosts: Sequence[str] = (),
        *,
        dvm: Union[None, str, Dvm] = None,
        n_workers: int = 0,
        nthreads: int = 1,
        memory_limit: Union[str, int] = "auto",
        worker_options: Sequence[str] = (),
        local_directory: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        python: str = sys.executable,
        host: Optional[str] = None,
        interface: Optional[str] = None,
        dashboard_address: Optional[str] = None,
        agent: Optional[str] = None,
        parameters: Optional[Mapping[str, str]] = None,
        options: Sequence[str] = (),
        **cluster: Any,
    ) -> None:
        if n_workers < 0 or nthreads < 1:
            raise ValueError(f"n_workers is {n_workers} and nthreads {nthreads}: none or more, and at least one each")
        if isinstance(hosts, str):
            raise ValueError(f"hosts is {hosts!r}: give a list of hosts")
        if dvm is not None and (agent or parameters or options):
            raise ValueError("agent, parameters and options are for a DVM that the cluster starts: remove them, or dvm")
        self._is_ours = dvm is None
        self._offered = list(hosts) if dvm is not None else list(hosts[1:])
        # The hosts that the cluster has added, and when hosts could not be added.
        self._added: List[str] = []
        self._refused: Dict[str, float] = {}
        self._resizing: Optional[asyncio.Lock] = None
        if isinstance(dvm, Dvm):
            self.dvm, self._closes = dvm, False
        elif dvm is not None:
            self.dvm, self._closes = Dvm.connect(dvm), True
        else:
            start: Dict[str, Any] = {"agent": agent, "parameters": parameters, "options": options, "tied": True}
            self.dvm, self._closes = Dvm.start(list(hosts[:1]) or None, **start), True
        words = ["--nthreads", nthreads, "--memory-limit", memory_limit, "--death-timeout", LONELY, *worker_options]
        worker = {
            "dvm": self.dvm,
            "nthreads": nthreads,
            "command": [python, "-m", "distributed.cli.dask_worker", "--no-nanny", "--no-dashboard", *map(str, words)],
            "local_directory": local_directory,
            "env": dict(env or {}),
        }
        # The scheduler has a directory too, which goes with the DVM even if this program is killed.
        scratch = local_directory or _session_directory(self.dvm)
        listen = {"protocol": "tcp://", "host": host, "interface": interface, "port": 0, "local_directory": scratch}
        page = {"dashboard": dashboard_address is not None, "dashboard_address": dashboard_address or ":0"}
        try:
            super().__init__(
                workers={number: {"cls": FerriteWorker, "options": worker} for number in range(n_workers)},
                scheduler={"cls": Scheduler, "options": {**listen, **page}},
                worker={"cls": FerriteWorker, "options": worker},
                **{"silence_logs": logging.WARNING, **cluster},
            )
        except BaseException:
            self._end_dvm()
            raise

    async def _correct_state_internal(self) -> None:
        # SpecCluster calls this when the number of workers shall be another one, also several times at once.
        if self._resizing is None:
            self._resizing = asyncio.Lock()
        async with self._resizing:
            await self._carefully(self._grow)
        await super()._correct_state_internal()
        async with self._resizing:
            await self._carefully(self._shrink)

    async def _close(self) -> None:
        try:
            await super()._close()
        finally:
            await asyncio.get_running_loop().run_in_executor(None, self._end_dvm)

    def _end_dvm(self) -> None:
        if self._closes:
            self._closes = False
            self.dvm.close()

    async def _carefully(self, change: Callable[[], Any]) -> None:
        """A change of the DVM's size that fails is no end of the cluster, whose workers wait for slots or keep them."""
        try:
            await change()
        except DvmError as error:
            logger.warning("the size of the DVM could not be changed: %s", error)

    async def _ask(self, kind: str, **fields: Any) -> Line:
        return await asyncio.wrap_future(self.dvm._connection.ask(kind, **fields))

    async def _nodes(self) -> List[Line]:
        return [node for node in (await self._ask("nodes"))["nodes"] if node["daemon"] is not None]

    def _room(self, nodes: Sequence[Line]) -> int:
        """The slots of nodes that others have not taken."""
        own = {worker.job for worker in self.workers.values()}
        others = (job["processes"] for node in nodes for job in node["jobs"] if job["job"] not in own)
        return sum(node["slots"] for node in nodes) - sum(others)

    async def _grow(self) -> None:
        """Adds hosts until all workers have slots, or there are no more hosts."""
        is_together = True
        while True:
            nodes = await self._nodes()
            there, now = {node["name"] for node in nodes}, time.monotonic()
            missing = len(self.worker_spec) - self._room(nodes)
            hosts: List[str] = []
            for host in self._offered:
                is_resting = now - self._refused.get(host, -REST) < REST
                if missing > 0 and _name(host) not in there and not is_resting and (is_together or not hosts):
                    hosts.append(host)
                    missing -= _slots(host)
            if not hosts:
                return
            try:
                added = (await self._ask("grow", hosts=hosts, wait=True))["nodes"]
                self._added += added
                why = "" if added else "the DVM has it already, by another name"
            except DvmError as error:
                why = str(error)
            if why and len(hosts) == 1:
                self._refused[hosts[0]] = now
                logger.warning("the host %s could not be added: %s", hosts[0], why)
            # One of several is to blame.
            is_together = is_together and not why

    async def _shrink(self) -> None:
        """Removes hosts that were added, have no jobs, and are not needed by workers that wait."""
        if not self._added or (self._is_ours and self.status in (Status.closing, Status.closed)):
            return
        nodes = await self._nodes()
        there = {node["name"]: node for node in nodes}
        self._added = [name for name in self._added if name in there]
        spare = self._room(nodes) - len(self.worker_spec)
        leaving = []
        for name in reversed(self._added):
            if not there[name]["jobs"] and there[name]["slots"] <= spare:
                leaving.append(name)
                spare -= there[name]["slots"]
        if leaving:
            await self._ask("shrink", hosts=leaving, wait=True)
            self._added = [name for name in self._added if name not in leaving]


class FerriteWorker(ProcessInterface):
    """A worker: one job of the DVM."""

    def __init__(
        self,
        scheduler: str,
        *,
        name: Union[str, int],
        dvm: Dvm,
        nthreads: int,
        command: Sequence[str],
        local_directory: Optional[str],
        env: Mapping[str, str],
    ) -> None:
        super().__init__(scheduler=scheduler, name=name)
        self.name = name
        self._dvm = dvm
        self._command = [command[0], *command[1:], "--name", str(name), scheduler]
        # More than one thread has more than one processor.
        self._options = ["--bind-to", "none"] if nthreads > 1 else []
        self._local_directory = local_directory
        self._env = env
        self._task: Optional[Task] = None
        self._said = b""

    @property
    def job(self) -> Optional[int]:
        """The number of its job."""
        return None if self._task is None else self._task.job

    async def start(self) -> None:
        """Submits the job. It waits for a slot."""
        command, options = self._command, list(self._options)
        if self._local_directory is not None:
            command = [*command, "--local-directory", self._local_directory]
        else:
            options.append("--set-cwd-to-session-dir")
            command = ["/bin/sh", "-c", _START, "sh", os.getcwd(), *command]
        self._task = self._dvm.submit(
            command, env=self._env, options=options, keep_output=False, on_output=self._on_output
        )
        loop = asyncio.get_running_loop()
        self._task.future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._on_end))
        await super().start()

    async def close(self) -> None:
        """Ends the job, and returns when it is over."""
        task, self._task = self._task, None
        if task is not None:
            is_over = task.future.done()
            task.cancel()
            if not is_over and task.job is not None:
                try:
                    await asyncio.wrap_future(self._dvm._connection.ask("wait", jobs=[task.job]))
                except DvmError:
                    # The DVM is gone, and the worker with it.
                    pass
        await super().close()

    def _on_output(self, _stream: str, data: bytes) -> None:
        self._said = (self._said + data)[-SAID:]

    def _on_end(self) -> None:
        task = self._task
        if task is None or task.future.cancelled():
            return
        error = task.future.exception()
        result = None if error is not None else task.future.result()
        if result is None or not result.ok:
            why = error or result and result.cause
            logger.error("the worker %s has ended: %s\n%s", self.name, why, self._said.decode(errors="replace"))
        self._task = None
        self.status = Status.closed
        self._event_finished.set()


def _name(host: str) -> str:
    return host.partition(":")[0]


def _session_directory(dvm: Dvm) -> Optional[str]:
    """The session directory of a DVM of this host, by its socket."""
    directory = os.path.dirname(dvm.socket)
    is_session = os.path.basename(directory).startswith(("prte.", "prted."))
    return directory if is_session and os.path.isdir(directory) else None


def _slots(host: str) -> int:
    """The slots that a host says; one when it leaves that to the DVM."""
    slots = host.partition(":")[2]
    return int(slots) if slots.isdigit() else 1
