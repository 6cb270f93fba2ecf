"""Errors of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .task import TaskResult


class DvmError(Exception):
    """Any error about a DVM."""


class DvmGone(DvmError):
    """The connection to the DVM is over."""


class RequestRefused(DvmError):
    """The DVM has not carried out a request; `reason` is one of `usage`, `refused`, `failed` and `fault`."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class TaskFailed(DvmError):
    """A task has not ended well; `result` says how it has ended."""

    def __init__(self, result: "TaskResult") -> None:
        cause = result.cause or f"exit code {result.exit_code}"
        super().__init__(f"job {result.job} ({result.ending}): {cause}")
        self.result = result
