"""Measures one contender of `cargo xtask bench tasks` once: how many tasks per second it runs on two slots.

    python3 python/benchmarks/tasks.py CONTENDER TASKS

Each task runs the program `true` once. The workers have run some tasks before, so that neither imports nor the start
of workers are counted. The last line of the output is `tasks/s RATE`. A task that fails, or that is lost, is an error.
`ferrite` runs in the only DVM below TMPDIR.
"""

import logging
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

#: Tasks that run at a time.
WORKERS = 2
TASK = ["/bin/true"]
#: Tasks before the measurement.
WARM_UP = 50
#: A turn that takes longer hangs (seconds). The error lets each contender end its workers.
LIMIT_S = 120


def run_program(_number):
    """Runs one task; returns its exit code."""
    return subprocess.run(TASK, stdin=subprocess.DEVNULL, check=False).returncode


# Each contender yields a function that runs so many tasks and returns their exit codes.


@contextmanager
def threads():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(WORKERS) as pool:
        yield lambda count: list(pool.map(run_program, range(count)))


@contextmanager
def joblib():
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    with Parallel(n_jobs=WORKERS) as parallel:
        yield lambda count: parallel(delayed(run_program)(number) for number in range(count))
    get_reusable_executor().shutdown(wait=True)


@contextmanager
def parsl():
    import parsl
    from parsl import bash_app
    from parsl.config import Config
    from parsl.executors import HighThroughputExecutor
    from parsl.providers import LocalProvider

    # Workers get the function without the names of this module. The path keeps the shell from its own `true`.
    def line():
        return "/bin/true"

    provider = LocalProvider(init_blocks=1, max_blocks=1)
    executor = HighThroughputExecutor(address="127.0.0.1", max_workers_per_node=WORKERS, provider=provider)
    with tempfile.TemporaryDirectory() as directory:
        config = Config(executors=[executor], run_dir=directory, strategy="none", initialize_logging=False)
        with parsl.load(config):
            run = bash_app(line)
            yield lambda count: [future.result() for future in [run() for _ in range(count)]]


@contextmanager
def dask():
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            yield lambda count: client.gather(client.map(run_program, range(count), pure=False))


@contextmanager
def ferrite():
    from ferrite_dvm import Dvm, Executor

    with Dvm.connect() as dvm, Executor(dvm) as executor:
        yield lambda count: [result.exit_code for result in executor.map_commands([TASK] * count)]


CONTENDERS = {one.__name__: one for one in (threads, joblib, parsl, dask, ferrite)}


def out_of_time(_signal, _frame):
    raise TimeoutError(f"the tasks take longer than {LIMIT_S} s")


def checked(codes, count):
    """Raises an error unless each of so many tasks has ended with code 0."""
    good = sum(code == 0 for code in codes)
    if good != count or len(codes) != count:
        raise RuntimeError(f"{count - good} of {count} tasks have failed or are lost")


def main(contender, tasks):
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(LIMIT_S)
    with CONTENDERS[contender]() as run:
        checked(run(WARM_UP), WARM_UP)
        start = time.perf_counter()
        codes = run(tasks)
        taken = time.perf_counter() - start
        checked(codes, tasks)
    print(f"tasks/s {tasks / taken:.1f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
