"""Runs tasks, MPI programs and Python functions in a Ferrite DVM.

`Dvm` is a DVM: `Dvm.start` starts one, `Dvm.connect` finds one that runs. `Dvm.submit` returns a `Task`, whose
`result()` is a `TaskResult`; a task can be awaited as well. `Executor` is a `concurrent.futures.Executor`.
"""

from .aio import AsyncDvm
from .contact import NoDvm, find_socket
from .dvm import Dvm
from .errors import DvmError, DvmGone, RequestRefused, TaskFailed
from .executor import Executor
from .task import Task, TaskResult

__all__ = [
    "AsyncDvm",
    "Dvm",
    "DvmError",
    "DvmGone",
    "Executor",
    "NoDvm",
    "RequestRefused",
    "Task",
    "TaskFailed",
    "TaskResult",
    "find_socket",
]
