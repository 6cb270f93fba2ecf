"""Measures small tasks of Parsl and Dask over a DVM beside their own executors, in turns, on this machine.

    python3 python/benchmarks/workflows.py [TASKS [TURNS]]

Each has two workers, which have run a task before. A figure is the median of the turns; compare only those of one run.
"""

import logging
import statistics
import sys
import tempfile
import time

import parsl
from distributed import Client, LocalCluster, wait
from parsl import bash_app, python_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor, ThreadPoolExecutor
from parsl.providers import LocalProvider

from ferrite_dvm.dask import FerriteCluster
from ferrite_dvm.parsl import FerriteExecutor

WORKERS = 2
HOSTS = [f"localhost:{WORKERS}"]


def increase(number):
    return number + 1


def line():
    return "true"


def seconds(what):
    start = time.perf_counter()
    what()
    return time.perf_counter() - start


def in_turns(rows, turns):
    """Measures each row in each turn; prints tasks and medians."""
    taken = {name: [] for name in rows}
    for _ in range(turns):
        for name, what in rows.items():
            taken[name].append(seconds(what))
    for name, times in taken.items():
        each = ", ".join(f"{one:.2f}" for one in times)
        print(f"{name:40} {statistics.median(times):6.2f} s   ({each})", flush=True)


def of_parsl(tasks, turns):
    htex = HighThroughputExecutor(
        label="htex",
        address="127.0.0.1",
        max_workers_per_node=WORKERS,
        provider=LocalProvider(init_blocks=1, max_blocks=1),
    )
    executors = [
        FerriteExecutor(start_dvm={"hosts": HOSTS}, idle_s=600, max_workers=WORKERS),
        htex,
        ThreadPoolExecutor(max_threads=WORKERS),
    ]
    with tempfile.TemporaryDirectory() as directory:
        config = Config(executors=executors, run_dir=directory, strategy="none", initialize_logging=False)
        with parsl.load(config):
            functions, texts = {}, {}
            for executor in executors:
                call = python_app(increase, executors=[executor.label])
                run = bash_app(line, executors=[executor.label])

                def calls(call=call):
                    return [future.result() for future in [call(number) for number in range(tasks)]]

                def lines(run=run):
                    return [future.result() for future in [run() for _ in range(tasks)]]

                first = seconds(lambda call=call: call(1).result())
                print(f"Parsl, {executor.label}: first result after {first:.2f} s", flush=True)
                calls()
                functions[f"Parsl, {executor.label}, {tasks} functions"] = calls
                texts[f"Parsl, {executor.label}, {tasks} lines"] = lines
            in_turns(functions, turns)
            # Processes for functions leave their slots to these.
            in_turns(texts, turns)
        parsl.clear()


def of_dask(tasks, turns):
    local = {"n_workers": WORKERS, "threads_per_worker": 1, "dashboard_address": ":0"}
    clusters = {
        "ferrite": lambda: FerriteCluster(HOSTS, n_workers=WORKERS, host="127.0.0.1"),
        "LocalCluster": lambda: LocalCluster(**local),
    }
    rows, opened = {}, []
    for name, make in clusters.items():
        start = time.perf_counter()
        cluster = make()
        client = Client(cluster)
        client.wait_for_workers(WORKERS, 60)
        print(f"Dask, {name}: {WORKERS} workers after {time.perf_counter() - start:.2f} s", flush=True)
        opened += [client, cluster]

        def calls(client=client):
            futures = client.map(increase, range(tasks), pure=False)
            wait(futures)
            return client.gather(futures)

        calls()
        rows[f"Dask, {name}, {tasks} functions"] = calls
    in_turns(rows, turns)
    for one in opened:
        one.close()


def main(tasks=1000, turns=3):
    logging.getLogger("distributed").setLevel(logging.ERROR)
    of_parsl(tasks, turns)
    of_dask(tasks, turns)


if __name__ == "__main__":
    main(*[int(word) for word in sys.argv[1:]])
