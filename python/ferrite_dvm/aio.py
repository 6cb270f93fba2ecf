"""The same for asyncio."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Optional

from .connection import Line
from .dvm import EVENTS, Command, Dvm
from .task import Task


class AsyncDvm:
    """A DVM for asyncio. `submit` returns a task that can be awaited; every other method is a coroutine."""

    def __init__(self, dvm: Dvm) -> None:
        self.dvm = dvm

    @classmethod
    async def start(cls, *args: Any, **options: Any) -> "AsyncDvm":
        """As `Dvm.start`."""
        loop = asyncio.get_running_loop()
        return cls(await loop.run_in_executor(None, lambda: Dvm.start(*args, **options)))

    @classmethod
    async def connect(cls, dvm: Optional[str] = None, **way: Any) -> "AsyncDvm":
        """As `Dvm.connect`."""
        return cls(await asyncio.get_running_loop().run_in_executor(None, lambda: Dvm.connect(dvm, **way)))

    async def close(self) -> None:
        """As `Dvm.close`."""
        await asyncio.get_running_loop().run_in_executor(None, self.dvm.close)

    async def __aenter__(self) -> "AsyncDvm":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def submit(self, command: Command, **options: Any) -> Task:
        """As `Dvm.submit`: `result = await dvm.submit("hostname")`."""
        return self.dvm.submit(command, **options)

    async def ask(self, kind: str, **fields: Any) -> Line:
        """Any request of docs/service.md."""
        return await asyncio.wrap_future(self.dvm._connection.ask(kind, **fields))

    async def status(self) -> Line:
        """As `Dvm.status`."""
        return await self.ask("status")

    async def grow(self, hosts: "list[str] | tuple[str, ...]" = (), *, wait: bool = True, **terms: Any) -> Line:
        """As `Dvm.grow`."""
        return await self.ask("grow", hosts=list(hosts), wait=wait, **terms)

    async def shrink(self, hosts: "list[str] | tuple[str, ...]" = (), *, wait: bool = True, **terms: Any) -> Line:
        """As `Dvm.shrink`."""
        return await self.ask("shrink", hosts=list(hosts), wait=wait, **terms)

    async def resize(self, job: int, size: str, *, wait: bool = True, **terms: Any) -> Line:
        """As `Dvm.resize`."""
        return await self.ask("resize", job=job, size=size, wait=wait, **terms)

    async def events(self) -> AsyncIterator[Line]:
        """As `Dvm.events`."""
        loop = asyncio.get_running_loop()
        lines: "asyncio.Queue[Optional[Line]]" = asyncio.Queue()
        connection = self.dvm._connection

        def take(line: Optional[Line]) -> None:
            loop.call_soon_threadsafe(lines.put_nowait, line)

        stop = connection.listen(take)
        try:
            await loop.run_in_executor(None, connection.follow, "all")
            while True:
                line = await lines.get()
                if line is None:
                    return
                if line["kind"] in EVENTS:
                    yield line
        finally:
            stop()
