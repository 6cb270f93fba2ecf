"""joblib over a DVM: importing this module gives joblib the backend `ferrite`.

    with parallel_config(backend="ferrite", dvm=dvm):
        Parallel(n_jobs=-1)(delayed(function)(number) for number in range(1000))
"""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import Future
from typing import Any, Callable, Dict, Mapping, Optional, Union

try:
    from cloudpickle import dumps
    from joblib import register_parallel_backend
    from joblib.parallel import AutoBatchingMixin, FallbackToBackend, ParallelBackendBase, SequentialBackend
except ImportError as error:
    raise ImportError("ferrite_dvm.joblib needs joblib 1.6: pip install 'ferrite-dvm[joblib]'") from error

from .dvm import Dvm
from .pool import WorkerPool


class FerriteBackend(AutoBatchingMixin, ParallelBackendBase):
    """Calls functions in processes of a DVM that are kept, one in each slot; -1 jobs are as many as it has slots.

    `dvm` is a `Dvm`, or names one that runs (see `find_socket`). A process that has had nothing to do for `idle_s`
    seconds leaves its slot. `env` has variables for them, and further options are those of `Dvm.submit`.
    """

    supports_retrieve_callback = True
    supports_inner_max_num_threads = True
    default_n_jobs = -1

    def __init__(
        self,
        dvm: Union[None, str, Dvm] = None,
        *,
        python: str = sys.executable,
        idle_s: float = 5.0,
        env: Optional[Mapping[str, str]] = None,
        nesting_level: Optional[int] = None,
        inner_max_num_threads: Optional[int] = None,
        **options: Any,
    ) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self._dvm = dvm if isinstance(dvm, Dvm) else Dvm.connect(dvm)
        self._options = {"python": python, "idle_s": idle_s, **options}
        self._env = dict(env or {})
        self._pool: Optional[WorkerPool] = None
        self._most = 0

    def effective_n_jobs(self, n_jobs: Optional[int]) -> int:
        """The number of processes: -1 stands for all slots, -2 for all but one."""
        if n_jobs == 0:
            raise ValueError("n_jobs is 0: it is 1 or more, or -1 for all slots of the DVM")
        if n_jobs is None:
            return 1
        if n_jobs > 0:
            return n_jobs
        slots = sum(node["slots"] for node in self._dvm.nodes() if node["daemon"] is not None)
        return max(1, slots + 1 + n_jobs)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **unknown: Any) -> int:
        """Prepares for a `Parallel`. Processes of an earlier one are kept."""
        processes = self.effective_n_jobs(n_jobs)
        if processes == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        if self._pool is None or processes != self._most:
            self._end_pool()
            self._most = processes
            self._pool = WorkerPool(self._dvm, most=processes, env=self._threads(), **self._options)
        return processes

    def submit(self, func: Callable[[], Any], callback: "Optional[Callable[[Future[Any]], None]]" = None) -> Any:
        """Makes a call."""
        if self._pool is None:
            raise RuntimeError("the backend was not configured")
        future = self._pool.submit(pickle.dumps((sys.path, None, dumps((func, (), {})))))
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: "Future[Any]") -> Any:
        """Returns the value of a call, or raises its error."""
        return out.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Ends the calls that run or wait."""
        self._end_pool()
        if ensure_ready:
            self.configure(n_jobs=self._most, parallel=self.parallel)

    def _threads(self) -> Dict[str, str]:
        # joblib sets the number of threads after it has made the backend.
        names = () if self.inner_max_num_threads is None else self.MAX_NUM_THREADS_VARS
        return {**{name: str(self.inner_max_num_threads) for name in names}, **self._env}

    def _end_pool(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()


register_parallel_backend("ferrite", FerriteBackend)
