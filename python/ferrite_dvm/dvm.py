"""A DVM: started here, or found."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import tempfile
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from .bridge import Bridge, pdvm_service
from .connection import Connection, Line
from .contact import find_socket
from .errors import DvmError
from .task import Task

Command = Union[str, Sequence[str]]

_names = iter(range(1 << 62))


class Dvm:
    """A connection to a DVM. As a context manager it ends the DVM at the end if it has started it.

    `socket` is the path of the control socket; it is empty for a DVM that another program connects with.
    """

    def __init__(self, socket: str, *, is_ours: bool = False, bridge: Optional[Bridge] = None) -> None:
        self._connection = Connection(socket if bridge is None else bridge)
        self._is_ours = is_ours
        self._leash: Optional[_Leash] = None
        self.socket = socket

    # Beginning and end.

    @classmethod
    def start(
        cls,
        hosts: Union[str, Iterable[str], None] = None,
        *,
        agent: Optional[str] = None,
        hostfile: Optional[str] = None,
        parameters: Optional[Mapping[str, str]] = None,
        options: Sequence[str] = (),
        prte: Optional[str] = None,
        tied: bool = False,
        timeout: float = 120,
    ) -> "Dvm":
        """Starts a DVM and returns when it is ready.

        `hosts` are names, each with `:SLOTS` if wanted; without them and a hostfile, the nodes are those of the batch
        job, else this machine. `agent` is the command that reaches other hosts (ssh). `parameters` are those of
        `prte --prtemca`, `options` further options of `prte`. A `tied` DVM ends with this program, however that ends.
        """
        program = prte or shutil.which("prte")
        if program is None:
            raise DvmError("there is no prte in PATH: Dvm.start(prte='/path/to/prte')")
        with tempfile.TemporaryDirectory(prefix="ferrite-dvm.") as directory:
            uri = os.path.join(directory, "uri")
            command = [program, "--daemonize", "--report-uri", uri]
            if hosts is not None:
                command += ["--host", hosts if isinstance(hosts, str) else ",".join(hosts)]
            if hostfile is not None:
                command += ["--hostfile", hostfile]
            for name, value in {**({"plm_ssh_agent": agent} if agent else {}), **(parameters or {})}.items():
                command += ["--prtemca", name, value]
            leash = _Leash() if tied else None
            if leash is not None:
                command += ["--keepalive", str(leash.far)]
            environment = dict(os.environ)
            with open(os.path.join(directory, "err"), "w+b") as errors:
                # Standard error of the DVM stays open behind it, so a pipe would never end.
                code = subprocess.run(
                    command + list(options), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                    env=environment, timeout=timeout, check=False, pass_fds=[] if leash is None else [leash.far],
                ).returncode
                errors.seek(0)
                text = errors.read().decode(errors="replace").strip()
            if code != 0:
                raise DvmError(f"prte has ended with exit code {code}: {text}")
            dvm = cls(find_socket(f"file:{uri}"), is_ours=True)
            if leash is not None:
                leash.let_far_go()
                dvm._leash = leash
            return dvm

    @classmethod
    def connect(
        cls,
        dvm: Optional[str] = None,
        *,
        uri: Optional[str] = None,
        key: Union[str, "os.PathLike[str]", None] = None,
        command: Optional[Sequence[str]] = None,
    ) -> "Dvm":
        """Connects to a DVM that is running; see `find_socket` for how it is named.

        A DVM of another host is reached by `pdvm service`, which is in PATH: `uri` is what `pdvm --dvm-uri` takes, such
        as `file:PATH` with a copy of the file of `prte --listen 0 --report-uri PATH`, and `key` is a copy of its key
        file. Or by a `command` whose standard input and output are the service of the DVM:
        `["ssh", "login", "pdvm", "service"]`. Its program ends with the connection, and with this one.

        It raises DvmGone when the DVM cannot be reached that way; the text is what the program says.
        """
        if sum(way is not None for way in (dvm, uri, command)) > 1:
            raise ValueError("give one of dvm, uri and command")
        if key is not None and uri is None:
            raise ValueError("key is for the DVM of uri; give uri as well")
        if uri is not None:
            command = pdvm_service(uri, None if key is None else os.fspath(key))
        if command is not None:
            return cls("", bridge=Bridge(command))
        return cls(find_socket(dvm))

    def close(self) -> None:
        """Ends the connection, and the DVM if this object has started it."""
        if self._is_ours and self._connection.is_open:
            self.terminate()
        self._connection.close()
        self._leash = None

    def terminate(self) -> None:
        """Ends the DVM with all its jobs; returns when it is gone."""
        gone = threading.Event()
        self._connection.listen(lambda line: gone.set() if line is None else None)
        self._ask("terminate")
        gone.wait(60)

    def __enter__(self) -> "Dvm":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Tasks.

    def submit(
        self,
        command: Command,
        *,
        np: Optional[int] = None,
        host: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        options: Sequence[str] = (),
        stdin: Optional[str] = None,
        feed: bool = False,
        time_limit: Optional[int] = None,
        priority: Optional[int] = None,
        after: Iterable[Union[Task, int, str]] = (),
        after_any: Iterable[Union[Task, int, str]] = (),
        name: Optional[str] = None,
        detach: bool = False,
        keep_output: bool = True,
        on_output: Optional[Callable[[str, bytes], None]] = None,
    ) -> Task:
        """Submits a task: a line for the shell, or a program and its arguments, in `np` processes.

        `options` are further options of prun. Tasks wait for slots: those of a higher `priority` (-1000 to 1000) come
        first, and programs take turns. It begins when the tasks or jobs of `after` have ended with code 0 and those of
        `after_any` have ended; when one of `after` ends otherwise, the task is never run (ending `not_run`). A detached
        task outlives this connection; `wait(names=[...])` finds it.
        Its future is done when the DVM has taken it, and has no result. With `feed=True` its input goes on behind
        `stdin`, by `Task.feed`. With `keep_output=False` only `output()` has what it writes. `on_output` is called with
        `stdout` or `stderr` and each piece, by the thread that reads what the DVM says, so it must not wait for a task.
        """
        label = name or f"{os.getpid()}.{next(_names)}"
        described: Line = {"task": label}
        described.update({"cmd": command} if isinstance(command, str) else {"argv": [str(word) for word in command]})
        given: Dict[str, Any] = {"np": np, "host": host, "stdin": stdin, "timeout": time_limit, "priority": priority}
        if cwd is not None or "--set-cwd-to-session-dir" not in options:
            given["cwd"] = os.getcwd() if cwd is None else cwd
        described.update({key: value for key, value in given.items() if value is not None})
        for key, others in {"after": after, "after_any": after_any}.items():
            named = [other if isinstance(other, (int, str)) else other.job or other.name for other in others]
            described.update({key: named} if named else {})
        if env:
            described["env"] = dict(env)
        if options:
            described["options"] = list(options)
        if feed:
            described["feed"] = True
        if detach:
            described["detach"] = True
        task = Task(self._connection, label, keep=keep_output, detached=detach, on_output=on_output)
        self._connection.submit(task, described)
        return task

    def wait(self, jobs: Iterable[int] = (), names: Iterable[str] = (), timeout: Optional[float] = None) -> List[Line]:
        """Waits until jobs are over, also those of other clients; returns what `docs/service.md` calls `waited`."""
        return self._ask("wait", timeout, jobs=list(jobs), tasks=list(names))["jobs"]

    def cancel(self, job: Optional[int] = None, name: Optional[str] = None, tree: bool = False) -> bool:
        """Ends a job, with `tree` all that descend from it too; false when it was over before."""
        return not self._ask("cancel", **({"tree": True} if tree else {}), **_one(job, name))["over"]

    def signal(self, signal: Union[int, str], job: Optional[int] = None, name: Optional[str] = None) -> None:
        """Sends a signal to the processes of a job."""
        self._ask("signal", signal=signal, **_one(job, name))

    # What there is.

    def status(self) -> Line:
        """The state of the DVM (`pdvm status --json`)."""
        return self._ask("status")

    def nodes(self) -> List[Line]:
        """Its nodes."""
        return self._ask("nodes")["nodes"]

    def jobs(self) -> List[Line]:
        """Its jobs, with the latest that are over."""
        return self._ask("jobs")["jobs"]

    def job(self, job: Optional[int] = None, name: Optional[str] = None) -> Line:
        """Everything about a job."""
        return self._ask("job", **_one(job, name))

    def sessions(self) -> List[Line]:
        """Its sessions."""
        return self._ask("sessions")["sessions"]

    def metrics(self) -> Line:
        """Its counters."""
        return self._ask("metrics")

    # Its size.

    def grow(
        self, hosts: Sequence[str] = (), *, wait: bool = True, timeout: Optional[float] = None, **terms: Any
    ) -> Line:
        """Adds nodes: by name, or `nodes=N` of the allocation, or `activate=[...]`.

        Further terms are those of `grow` in docs/service.md: `allocation`, `request`, `reserve`, `time_limit_s` and so
        on. The nodes are a session; tasks are submitted to it by `options=["--alloc-id", answer["allocation"]]`.
        """
        return self._ask("grow", timeout, hosts=list(hosts), wait=wait, **terms)

    def shrink(
        self, hosts: Sequence[str] = (), *, wait: bool = True, timeout: Optional[float] = None, **terms: Any
    ) -> Line:
        """Removes nodes: by name, `nodes=N` of them, or those of an `allocation`."""
        return self._ask("shrink", timeout, hosts=list(hosts), wait=wait, **terms)

    def resize(
        self, job: int, size: str, *, wait: bool = True, timeout: Optional[float] = None, **terms: Any
    ) -> Line:
        """Offers more processes to an elastic job (`+2`), lets some end (`-2`), or either (`=4`). With `hosts=[...]` or
        `nodes=N` these nodes come first when too few slots are free, and leave when the job does not take the offer. It
        raises RequestRefused when the job or the DVM refuses."""
        return self._ask("resize", timeout, job=job, size=size, wait=wait, **terms)

    # What happens.

    def follow(self) -> None:
        """Has the DVM tell when tasks of this connection start (`Task.wait_started`)."""
        self._connection.follow("own")

    def events(self) -> Iterator[Line]:
        """Yields each step of jobs and of the DVM's size from now on, until the DVM ends."""
        lines: "queue.SimpleQueue[Optional[Line]]" = queue.SimpleQueue()
        stop = self._connection.listen(lines.put)
        try:
            self._connection.follow("all")
            while True:
                line = lines.get()
                if line is None:
                    return
                if line["kind"] in EVENTS:
                    yield line
        finally:
            stop()

    def _ask(self, kind: str, timeout: Optional[float] = None, **fields: Any) -> Line:
        return self._connection.ask(kind, **fields).result(timeout)


class _Leash:
    """A pipe whose far end a DVM has: it ends when no process has the near end any more."""

    def __init__(self) -> None:
        self.far, self._near = os.pipe()

    def let_far_go(self) -> None:
        """Closes the far end here."""
        os.close(self.far)
        self.far = -1

    def __del__(self) -> None:
        for end in (self.far, self._near):
            if end >= 0:
                os.close(end)


#: The kinds of lines that `Dvm.events` yields.
EVENTS = frozenset(["job_state", "process_state", "campaign", "events_lost"])


def _one(job: Optional[int], name: Optional[str]) -> Dict[str, Any]:
    return {"job": job} if name is None else {"task": name}
