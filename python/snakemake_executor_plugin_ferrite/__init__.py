"""Snakemake over a DVM: `snakemake --executor ferrite --jobs 100` runs each job of a workflow as a task of a DVM.

A job has as many slots as its rule has threads, all on one node. `runtime` (minutes) is its time limit, its priority is
that of the task, and the resource `ferrite_options` has further options of `prun`. The memory and the disk space that a
rule states are neither counted nor limited.
"""

import asyncio
import os
import secrets
import shlex
import threading
from dataclasses import dataclass, field
from typing import Any, AsyncGenerator, Dict, List, Optional

from ferrite_dvm import Dvm, DvmError, Task
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.logging import LoggerExecutorInterface
from snakemake_interface_executor_plugins.settings import CommonSettings, ExecutorSettingsBase
from snakemake_interface_executor_plugins.workflow import WorkflowExecutorInterface

#: What is kept of the output of a job, for the file about its failure (bytes).
SAID = 1 << 16
#: The longest time for the end of cancelled jobs (seconds).
PATIENCE = 60
#: Process 0 runs the job, as no process of a parallel program. The others hold its slots until it says that it is over.
_RUN = """
[ "$PMIX_RANK" = 0 ] || exec cat > /dev/null
unset "${!PMIX_@}" "${!PMI_@}" "${!OMPI_COMM_WORLD_@}" "${!MPI_LOCAL@}" OMPI_UNIVERSE_SIZE PRTE_LAUNCHED
/bin/bash -c "$2" < /dev/null || exit
echo "$1"
"""


@dataclass
class ExecutorSettings(ExecutorSettingsBase):
    """The options `--ferrite-dvm` and `--ferrite-hosts`."""

    dvm: Optional[str] = field(
        default=None,
        metadata={
            "help": "The DVM: file:PATH, a socket, or a name. Without it, the only one of this user on this host.",
            "env_var": False,
            "required": False,
        },
    )
    hosts: Optional[str] = field(
        default=None,
        metadata={
            "help": "Starts a DVM on these hosts (n0:4,n1:4), which ends with the workflow.",
            "env_var": False,
            "required": False,
        },
    )


common_settings = CommonSettings(
    job_deploy_sources=False,
    non_local_exec=True,
    implies_no_shared_fs=False,
    pass_group_args=True,
)


class Executor(RemoteExecutor):
    """Runs the jobs of a workflow in a DVM."""

    def __init__(self, workflow: WorkflowExecutorInterface, logger: LoggerExecutorInterface) -> None:
        # That a job has ended, or the executor shall end. The thread that waits for it starts below.
        self._news = _News()
        self._is_ending = False
        settings = workflow.executor_settings
        if settings.dvm is not None and settings.hosts is not None:
            raise WorkflowError("give --ferrite-dvm or --ferrite-hosts: the jobs run in a DVM that is there, or in one "
                                "that is started")
        try:
            if settings.hosts is not None:
                self._dvm = Dvm.start(settings.hosts, tied=True)
            else:
                self._dvm = Dvm.connect(settings.dvm)
        except DvmError as error:
            raise WorkflowError(f"there is no DVM for the jobs: {error}") from error
        super().__init__(workflow, logger)

    def run_job(self, job: JobExecutorInterface) -> None:
        """Submits a job."""
        said = _Said(slots=max(1, job.threads))
        info = SubmittedJobInfo(job, aux={"said": said})
        try:
            task = self._dvm.submit(
                ["/bin/bash", "-c", _RUN, "bash", said.mark, self.format_job_exec(job)],
                feed=said.slots > 1,
                keep_output=False,
                on_output=said.add,
                **_placed(job, said.slots),
            )
        except DvmError as error:
            raise WorkflowError(f"the DVM has taken no more jobs: {error}") from error
        said.of(task)
        info.aux["task"] = task
        task.future.add_done_callback(lambda _: self._news.set())
        try:
            info.external_jobid = str(task.wait_submitted(PATIENCE))
        except (DvmError, TimeoutError):
            # It was refused, which is told with the other ends, or waits for its turn to be submitted.
            pass
        self.report_job_submission(info)
        # It may have ended before it was among the active jobs.
        self._news.set()

    async def check_active_jobs(self, active_jobs: List[SubmittedJobInfo]) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Reports the jobs that have ended; yields the others."""
        for info in active_jobs:
            if not info.aux["task"].done():
                yield info
            else:
                self._report(info)

    async def sleep(self) -> None:
        """Waits until there is something to look at, in place of a time."""
        if not self._is_ending:
            await self._news.wait()

    def cancel_jobs(self, active_jobs: List[SubmittedJobInfo]) -> None:
        """Ends jobs; returns when they have ended."""
        tasks: List[Task] = [info.aux["task"] for info in active_jobs]
        for task in tasks:
            task.cancel()
        jobs = [task.job for task in tasks if task.job is not None]
        try:
            if jobs:
                self._dvm.wait(jobs, timeout=PATIENCE)
        except (DvmError, TimeoutError) as error:
            self.logger.warning(f"the end of the jobs was not confirmed: {error}")

    def shutdown(self) -> None:
        """Ends the DVM if the executor has started it."""
        self._is_ending = True
        self._news.set()
        super().shutdown()
        self._dvm.close()

    def _report(self, info: SubmittedJobInfo) -> None:
        task, said = info.aux["task"], info.aux["said"]
        try:
            result = task.result()
            why = None if result.ok else result.cause or f"exit code {result.exit_code}"
        except DvmError as error:
            why = str(error)
        if why is None:
            self.report_job_success(info)
        else:
            logs = said.written(info.job.name, info.external_jobid)
            self.report_job_error(info, msg=f"Ferrite says: {why}\n", aux_logs=logs)


class _News:
    """An event that any thread sets, and for which one of asyncio waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_set = False
        self._waiter: Optional[asyncio.Future[None]] = None

    def set(self) -> None:
        """Ends the wait, or the next one."""
        with self._lock:
            self._is_set = True
            if self._waiter is not None:
                self._waiter.get_loop().call_soon_threadsafe(self._waiter.set_result, None)
                self._waiter = None

    async def wait(self) -> None:
        """Waits until it is set, and unsets it."""
        with self._lock:
            waiter = None if self._is_set else asyncio.get_running_loop().create_future()
            self._waiter = waiter
        if waiter is not None:
            await waiter
        with self._lock:
            self._is_set = False


class _Said:
    """The output of a job: its last part, and the line that says that it is over."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.mark = f"ferrite-job-over-{secrets.token_hex(8)}"
        self._text = b""
        self._task: Optional[Task] = None
        self._is_over = False
        self._lock = threading.Lock()

    def of(self, task: Task) -> None:
        """Says whose output it is, which may have ended by now."""
        with self._lock:
            self._task = task
        self._let_go()

    def add(self, _stream: str, data: bytes) -> None:
        """Adds a piece of output."""
        self._text = (self._text + data)[-SAID:]
        if self.mark.encode() in self._text:
            self._text = self._text.replace(self.mark.encode() + b"\n", b"")
            self._is_over = True
            self._let_go()

    def _let_go(self) -> None:
        """Ends the processes that hold slots."""
        with self._lock:
            task, self._task = (self._task, None) if self._is_over else (None, self._task)
        if task is not None and self.slots > 1:
            task.feed(b"", end=True)

    def written(self, name: str, job: Optional[str]) -> List[str]:
        """Writes the output into a file of the workflow; returns its path, or nothing if there was no output."""
        if not self._text:
            return []
        directory = os.path.abspath(os.path.join(".snakemake", "ferrite_logs"))
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, f"{name}.{job or 'refused'}.log")
        with open(path, "wb") as file:
            file.write(self._text)
        return [path]


def _placed(job: JobExecutorInterface, slots: int) -> Dict[str, Any]:
    """The options of `Dvm.submit` for a job."""
    # The job itself chooses its processors.
    options = ["--bind-to", "none", "--map-by", f"ppr:{slots}:node"]
    if slots > 1:
        options += ["--stdin", "all"]
    options += shlex.split(str(job.resources.get("ferrite_options", "")))
    placed: Dict[str, Any] = {"np": slots, "options": options}
    runtime = job.resources.get("runtime")
    if isinstance(runtime, (int, float)):
        placed["time_limit"] = max(1, int(runtime * 60))
    priority = getattr(job, "priority", 0)
    if isinstance(priority, (int, float)) and priority:
        placed["priority"] = max(-1000, min(1000, int(priority)))
    return placed
