"""The Dask cluster with the real Dask and a real DVM of this machine. `prte` is in PATH."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from distributed import Client

from ferrite_dvm import Dvm, DvmError, NoDvm, find_socket
from ferrite_dvm.dask import FerriteCluster

PATIENCE = 60
LOCAL = {"parameters": {"plm": "local"}, "host": "127.0.0.1"}
HOSTS = ["n0:2", "n1:2", "n2:2"]


def nodes(dvm):
    return [node["name"] for node in dvm.nodes() if node["daemon"] is not None]


class Clusters(unittest.TestCase):
    def until(self, what, is_so):
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)

    def test_workers_are_jobs_and_the_dvm_has_as_many_nodes_as_they_need(self):
        with FerriteCluster(HOSTS, n_workers=1, **LOCAL) as cluster, Client(cluster) as client:
            dvm = cluster.dvm
            name = dvm.status()["dvm"]
            client.wait_for_workers(1, PATIENCE)
            self.assertEqual((nodes(dvm), dvm.status()["slots_in_use"]), (["n0"], 1))
            self.assertEqual(client.submit(pow, 2, 10).result(PATIENCE), 1024)
            self.assertEqual(client.submit(os.getcwd).result(PATIENCE), os.getcwd())
            cluster.scale(5)
            client.wait_for_workers(5, PATIENCE)
            self.assertEqual((nodes(dvm), dvm.status()["slots_in_use"]), (["n0", "n1", "n2"], 5))
            self.assertEqual(client.gather(client.map(pow, range(100), [2] * 100)), [n * n for n in range(100)])
            cluster.scale(3)
            self.until("a node leaves", lambda: nodes(dvm) == ["n0", "n1"])
            cluster.scale(0)
            self.until("all nodes leave but the first", lambda: nodes(dvm) == ["n0"])
            self.assertEqual(dvm.status()["slots_in_use"], 0)
        with self.assertRaises(NoDvm):
            find_socket(name)

    def test_an_adaptive_cluster_grows_with_its_tasks_and_shrinks_after_them(self):
        with FerriteCluster(HOSTS, **LOCAL) as cluster, Client(cluster) as client:
            cluster.adapt(minimum=0, maximum=6, interval="100ms", wait_count=3, target_duration="1s")
            tasks = client.map(time.sleep, [0.5 + number / 1000 for number in range(40)], pure=False)
            self.until("it grows", lambda: len(nodes(cluster.dvm)) == 3)
            client.gather(tasks)
            del tasks
            self.until("it shrinks", lambda: nodes(cluster.dvm) == ["n0"])

    def test_a_dvm_that_was_there_keeps_its_nodes_and_loses_those_that_were_added(self):
        with Dvm.start("n0:2", parameters={"plm": "local"}) as dvm:
            other = dvm.submit(["sleep", "1000"])
            other.wait_submitted(PATIENCE)
            with FerriteCluster(HOSTS[1:], dvm=dvm, n_workers=2, host="127.0.0.1") as cluster:
                with Client(cluster) as client:
                    client.wait_for_workers(2, PATIENCE)
                    self.assertEqual(nodes(dvm), ["n0", "n1"], "a slot is taken by another program")
            self.assertEqual((nodes(dvm), dvm.status()["slots_in_use"]), (["n0"], 1))
            with FerriteCluster(dvm=dvm.socket, n_workers=1, nthreads=2, host="127.0.0.1") as cluster:
                with Client(cluster) as client:
                    client.wait_for_workers(1, PATIENCE)
                    self.assertEqual(list(client.nthreads().values()), [2])
            self.assertFalse(other.done())

    def test_a_host_that_cannot_be_added_does_not_hold_up_the_others(self):
        # The agent reaches no host. The last one is this machine, as is the first.
        hosts = ["localhost:1", "no.such.host:1", "127.0.0.1:2"]
        with self.assertLogs("ferrite_dvm.dask", "WARNING") as logs:
            with FerriteCluster(hosts, agent="sh -c false", host="127.0.0.1") as cluster:
                cluster.scale(3)
                self.until("they were tried", lambda: len(logs.output) >= 2)
                with Client(cluster) as client:
                    client.wait_for_workers(1, PATIENCE)
                    self.assertEqual(client.submit(pow, 2, 3).result(PATIENCE), 8)
        self.assertIn("no.such.host:1 could not be added: The daemon", logs.output[0])
        self.assertIn("127.0.0.1:2 could not be added: the DVM has it already", logs.output[1])

    def test_a_worker_that_cannot_start_is_told(self):
        with self.assertLogs("ferrite_dvm.dask", "ERROR") as logs:
            with FerriteCluster(["n0:1"], n_workers=1, python="/no/such/python", **LOCAL) as cluster:
                self.until("it is told", lambda: logs.output)
                self.assertEqual(cluster.dvm.status()["slots_in_use"], 0)
        self.assertIn("/no/such/python", logs.output[0])

    def test_a_worker_that_died_is_replaced_when_the_cluster_is_scaled_again(self):
        import dask

        with dask.config.set({"distributed.deploy.lost-worker-timeout": "100ms"}):
            with FerriteCluster(["n0:1"], n_workers=1, **LOCAL) as cluster, Client(cluster) as client:
                client.wait_for_workers(1, PATIENCE)
                worker = cluster.workers[0]
                with self.assertLogs("ferrite_dvm.dask", "ERROR"):
                    cluster.dvm.signal("KILL", job=worker.job)
                    self.until("it is gone", lambda: not cluster.workers)
                cluster.scale(1)
                client.wait_for_workers(1, PATIENCE)
                self.assertEqual(client.submit(pow, 2, 2).result(PATIENCE), 4)

    def test_it_is_for_asyncio_too(self):
        async def main():
            async with FerriteCluster(["n0:2"], n_workers=2, asynchronous=True, **LOCAL) as cluster:
                async with Client(cluster, asynchronous=True) as client:
                    self.assertEqual(await client.submit(pow, 2, 3), 8)

        asyncio.run(asyncio.wait_for(main(), PATIENCE))

    def test_wrong_arguments_are_refused(self):
        for text, arguments in (
            ("n_workers is -1", {"n_workers": -1}),
            ("nthreads 0", {"nthreads": 0}),
            ("a list of hosts", {"hosts": "n0,n1"}),
            ("remove them", {"dvm": "x", "agent": "ssh"}),
        ):
            with self.assertRaisesRegex(ValueError, text):
                FerriteCluster(**arguments)
        with self.assertRaises(NoDvm):
            FerriteCluster(dvm="no-such-dvm")
        with self.assertRaises(DvmError):
            FerriteCluster(options=["--nonsense"])

    def test_a_program_that_is_killed_leaves_nothing(self):
        text = (
            "import os\nfrom distributed import Client\nfrom ferrite_dvm.dask import FerriteCluster\n"
            "cluster = FerriteCluster(['n0:1', 'n1:1'], n_workers=2, parameters={'plm': 'local'}, host='127.0.0.1')\n"
            "client = Client(cluster)\nclient.wait_for_workers(2, 60)\n"
            "print(*client.run(os.getpid).values(), flush=True)\nos.kill(os.getpid(), 9)\n"
        )
        with tempfile.TemporaryDirectory() as directory:
            environment = {**os.environ, "TMPDIR": directory}
            died = subprocess.run(
                [sys.executable, "-c", text], env=environment, stdout=subprocess.PIPE, timeout=PATIENCE, check=False
            )
            self.assertEqual(died.returncode, -signal.SIGKILL)
            pids = died.stdout.split()
            self.assertEqual(len(pids), 2)
            processes = [f"/proc/{pid.decode()}" for pid in pids]
            self.until("nothing is left", lambda: not any(map(os.path.exists, processes)) and not os.listdir(directory))


if __name__ == "__main__":
    sys.exit(unittest.main())
