"""The Parsl executor with the real Parsl and a real DVM of this machine. `prte` and `prun` are in PATH."""

import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import parsl
from parsl import File, bash_app, python_app
from parsl.app.errors import AppTimeout, BadStdStreamFile, BashExitFailure, MissingOutputs
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.executors.errors import InvalidResourceSpecification
from parsl.providers import LocalProvider

from ferrite_dvm import Dvm, NoDvm, TaskFailed, find_socket
from ferrite_dvm.parsl import FerriteExecutor, PrunLauncher

PATIENCE = 60


@python_app
def square(number):
    return number * number


@python_app
def add(one, other):
    return one + other


@python_app
def fail(text):
    raise ValueError(text)


@python_app
def leave(code):
    import os

    os._exit(code)


@python_app
def rank(fails_at=-1, parsl_resource_specification={}):
    import os

    mine = int(os.environ["PMIX_RANK"])
    if mine == fails_at:
        raise ValueError(f"rank {mine}")
    return mine, os.environ["PMIX_NAMESPACE"]


@bash_app
def line(text, **_):
    return text


class Apps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.before = os.getcwd()
        os.chdir(cls.directory.name)
        # Small tasks pass a large one for a second.
        start = {"hosts": ["n0:2", "n1:2"], "parameters": {"plm": "local", "ferrite_backfill": "1"}}
        cls.executor = FerriteExecutor(start_dvm=start, env={"A": "a"})
        parsl.load(Config(executors=[cls.executor], retries=0))
        cls.dvm = cls.executor._dvm

    @classmethod
    def tearDownClass(cls):
        name = cls.dvm.status()["dvm"]
        parsl.dfk().cleanup()
        parsl.clear()
        os.chdir(cls.before)
        cls.directory.cleanup()
        try:
            find_socket(name)
        except NoDvm:
            return
        raise AssertionError("the DVM has outlived its executor")

    def processes(self):
        """The number of processes for Python apps so far."""
        return sum("ferrite_dvm.worker" in str(job) for job in self.dvm.jobs())

    def test_python_apps_wait_for_each_other_and_share_processes(self):
        before = self.processes()
        squares = [square(number) for number in range(100)]
        total = squares[0]
        for one in squares[1:]:
            total = add(total, one)
        self.assertEqual(total.result(PATIENCE), sum(number * number for number in range(100)))
        self.assertLess(self.processes() - before, 50)

    def test_errors_of_python_apps_are_raised(self):
        with self.assertRaisesRegex(ValueError, "so it is"):
            fail("so it is").result(PATIENCE)
        with self.assertRaisesRegex(TaskFailed, "with code 4"):
            leave(4).result(PATIENCE)
        self.assertEqual(square(3).result(PATIENCE), 9)

    def test_bash_apps_write_files_and_have_an_environment(self):
        self.assertEqual(line('echo "$A $PWD"; echo err >&2', stdout="deep/out", stderr="err").result(PATIENCE), 0)
        self.assertEqual(pathlib.Path("deep/out").read_text(), f"a {os.getcwd()}\n")
        self.assertEqual(pathlib.Path("err").read_text(), "err\n")
        for mode, expected in (("a", "1\n2\n"), ("w", "2\n")):
            for number in (1, 2):
                line(f"echo {number}", stdout=(f"mode.{mode}", mode)).result(PATIENCE)
            self.assertEqual(pathlib.Path(f"mode.{mode}").read_text(), expected)
        line("true", stdout="empty").result(PATIENCE)
        self.assertEqual(pathlib.Path("empty").read_text(), "")
        made = line("echo data > made", outputs=[File("made")])
        self.assertEqual(made.outputs[0].result(PATIENCE).filepath, "made")

    def test_failures_of_bash_apps_are_those_of_parsl(self):
        with self.assertRaises(BashExitFailure) as raised:
            line("exit 7").result(PATIENCE)
        self.assertEqual((raised.exception.app_name, raised.exception.exitcode), ("line", 7))
        with self.assertRaises(AppTimeout):
            line("sleep 1000", walltime=0.5).result(PATIENCE)
        with self.assertRaises(MissingOutputs):
            line("true", outputs=[File("not-made")]).result(PATIENCE)
        with self.assertRaises(BadStdStreamFile):
            line("echo x", stdout="/proc/no/such/file").result(PATIENCE)
        with self.assertRaisesRegex(ValueError, "as a text"):
            line(None).result(PATIENCE)

    def test_an_mpi_program_has_the_ranks_and_nodes_that_were_asked_for(self):
        def ranks(name, text="echo $PMIX_RANK $PMIX_HOSTNAME", **specification):
            line(text, stdout=name, parsl_resource_specification=specification).result(PATIENCE)
            return sorted(pathlib.Path(name).read_text().splitlines())

        self.assertEqual([one.split()[0] for one in ranks("r3", num_ranks=3)], ["0", "1", "2"])
        self.assertEqual(len(ranks("r4", "$PARSL_MPI_PREFIX echo x", num_nodes=2, ranks_per_node=2)), 4)
        self.assertEqual(len(ranks("r2", num_nodes="2", num_ranks="2")), 2)
        self.assertEqual(len(ranks("rp", ranks_per_node=2)), 2)
        self.assertEqual(len(ranks("ro", num_ranks=2, launcher_options="--host n1")), 2)
        nodes = set()
        watch = line("sleep 1000", parsl_resource_specification={"num_nodes": 2, "ranks_per_node": 1})
        deadline = time.monotonic() + PATIENCE
        while len(nodes) < 2 and time.monotonic() < deadline:
            jobs = [job["job"] for job in self.dvm.jobs() if job["ending"] is None and job["processes"] == 2]
            for job in jobs:
                nodes = {process["node"] for process in self.dvm.job(job)["process_list"]}
        self.assertEqual(nodes, {"n0", "n1"})
        self.dvm.cancel(jobs[0])
        with self.assertRaises(BashExitFailure):
            watch.result(PATIENCE)

    def test_a_python_app_is_called_in_each_rank(self):
        mine, _ = rank(parsl_resource_specification={"num_ranks": 3}).result(PATIENCE)
        self.assertEqual(mine, 0)
        with self.assertRaises((ValueError, TaskFailed)):
            rank(0, parsl_resource_specification={"num_ranks": 2}).result(PATIENCE)
        with self.assertRaises(TaskFailed) as raised:
            rank(1, parsl_resource_specification={"num_ranks": 2}).result(PATIENCE)
        self.assertIn(b"rank 1", raised.exception.result.stderr)

    def test_wrong_specifications_are_refused_by_name(self):
        for specification, text in (
            ({"cores": 2}, "cores"),
            ({"num_ranks": 0}, "num_ranks"),
            ({"num_ranks": "x"}, "num_ranks"),
            ({"num_ranks": 3, "num_nodes": 2}, "3 ranks"),
            ({"num_nodes": 3}, "has 2 nodes"),
            ({"num_ranks": 5, "num_nodes": 2, "ranks_per_node": 2}, "5 ranks"),
        ):
            with self.assertRaisesRegex(InvalidResourceSpecification, text):
                line("true", parsl_resource_specification=specification).result(PATIENCE)
        with self.assertRaisesRegex(ValueError, "give it a parsl_resource_specification"):
            line("$PARSL_MPI_PREFIX true").result(PATIENCE)
        with self.assertRaisesRegex(ValueError, "in the middle"):
            line("cd /; $PARSL_MPI_PREFIX true", parsl_resource_specification={"num_ranks": 1}).result(PATIENCE)

    def test_a_large_mpi_program_gets_its_slots_among_many_python_apps(self):
        many = [square(number) for number in range(100)]
        wide = line("true", parsl_resource_specification={"num_ranks": 4})
        many += [square(number) for number in range(100)]
        self.assertEqual(wide.result(PATIENCE), 0)
        self.assertEqual(sum(one.result(PATIENCE) for one in many), 2 * sum(number * number for number in range(100)))


class Lives(unittest.TestCase):
    def test_a_dvm_that_was_there_goes_on(self):
        with tempfile.TemporaryDirectory() as directory, Dvm.start(hosts="localhost:2") as dvm:
            executor = FerriteExecutor(dvm=dvm.socket, max_workers=1)
            with parsl.load(Config(executors=[executor], run_dir=directory)):
                self.assertEqual(square(4).result(PATIENCE), 16)
                running = line("sleep 1000")
                executor.shutdown()
                with self.assertRaises(BaseException):
                    running.result(PATIENCE)
                with self.assertRaisesRegex(RuntimeError, "shut down"):
                    square(4).result(PATIENCE)
            parsl.clear()
            self.assertEqual(dvm.submit(["echo", "on"]).result(PATIENCE).text, "on\n")
            self.assertEqual(dvm.status()["slots_in_use"], 0)

    def test_wrong_arguments_are_refused(self):
        with self.assertRaisesRegex(ValueError, "dvm or start_dvm"):
            FerriteExecutor(dvm="a", start_dvm={})
        with self.assertRaisesRegex(ValueError, "max_workers is 0"):
            FerriteExecutor(max_workers=0)

    def test_a_program_that_is_killed_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory) / "program.py"
            program.write_text(
                textwrap.dedent(
                    """
                    import os, sys, parsl
                    from parsl import bash_app
                    from parsl.config import Config
                    from ferrite_dvm.parsl import FerriteExecutor
                    parsl.load(Config(executors=[FerriteExecutor(start_dvm={"hosts": "localhost:2"})]))
                    @bash_app
                    def wait():
                        return "echo $$ > pid; exec sleep 1000"
                    app = wait()
                    while not (os.path.exists("pid") and open("pid").read()): pass
                    os.kill(os.getpid(), 9)
                    """
                )
            )
            # A directory of its own for sessions: it is empty at the end.
            sessions = tempfile.mkdtemp(dir=directory)
            died = subprocess.run(
                [sys.executable, program], cwd=directory, env={**os.environ, "TMPDIR": sessions}, timeout=PATIENCE
            )
            self.assertEqual(died.returncode, -signal.SIGKILL)
            pid = int((pathlib.Path(directory) / "pid").read_text())
            deadline = time.monotonic() + PATIENCE
            while os.path.exists(f"/proc/{pid}") or os.listdir(sessions):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)

    def test_worker_pools_of_parsls_own_executor_are_started_by_prun(self):
        # Its workers know no module of ours.
        gcd = python_app(math.gcd)
        hosts = ["n0:2", "n1:2"]
        with tempfile.TemporaryDirectory() as directory, Dvm.start(hosts=hosts, parameters={"plm": "local"}) as dvm:
            launcher = PrunLauncher(["--namespace", dvm.status()["dvm"], "-x", f"TMPDIR={directory}"])
            provider = LocalProvider(launcher=launcher, nodes_per_block=2, init_blocks=1, max_blocks=1)
            htex = HighThroughputExecutor(address="127.0.0.1", max_workers_per_node=1, provider=provider)
            with parsl.load(Config(executors=[htex], run_dir=directory, strategy="none")):
                self.assertEqual([gcd(n, 12).result(PATIENCE) for n in range(5)], [12, 1, 2, 3, 4])
                self.assertEqual(dvm.status()["slots_in_use"], 2)
            parsl.clear()
            deadline = time.monotonic() + PATIENCE
            while dvm.status()["slots_in_use"]:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(unittest.main())
