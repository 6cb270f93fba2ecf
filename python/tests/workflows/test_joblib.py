"""The joblib backend with the real joblib and a real DVM of this machine. `prte` is in PATH."""

import multiprocessing
import os
import sys
import time
import unittest

from joblib import Parallel, delayed, parallel_config

from ferrite_dvm import Dvm, NoDvm, TaskFailed
from ferrite_dvm.joblib import FerriteBackend

PATIENCE = 60


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dvm = Dvm.start(hosts="localhost:4")

    @classmethod
    def tearDownClass(cls):
        cls.dvm.close()

    def test_calls_run_in_processes_of_the_dvm_that_are_kept(self):
        with parallel_config(backend="ferrite", dvm=self.dvm):
            squares = Parallel(n_jobs=-1)(delayed(lambda number: number**2)(number) for number in range(2000))
            self.assertEqual(squares, [number**2 for number in range(2000)])
            before = self.dvm.metrics()["jobs_submitted"]
            pids = Parallel(n_jobs=-1)(delayed(os.getpid)() for _ in range(20))
            self.assertNotIn(os.getpid(), pids)
            self.assertEqual(self.dvm.metrics()["jobs_submitted"], before, "processes of the first are used")
            self.assertEqual(list(Parallel(n_jobs=2, return_as="generator")(delayed(abs)(n) for n in (-1, 2))), [1, 2])

    def test_errors_are_raised_and_end_the_rest(self):
        def fail(number):
            if number == 3:
                raise ValueError("so it is")
            time.sleep(1000)

        with parallel_config(backend="ferrite", dvm=self.dvm):
            with self.assertRaisesRegex(ValueError, "so it is"):
                Parallel(n_jobs=-1, batch_size=1)(delayed(fail)(number) for number in range(8))
            with self.assertRaises(TaskFailed):
                Parallel(n_jobs=2)(delayed(os._exit)(4) for _ in range(2))
            with self.assertRaises(multiprocessing.TimeoutError):
                Parallel(n_jobs=2, timeout=0.5)(delayed(time.sleep)(1000) for _ in range(2))
        deadline = time.monotonic() + PATIENCE
        while self.dvm.status()["slots_in_use"]:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_numbers_of_jobs_and_of_threads(self):
        backend = FerriteBackend(self.dvm.socket)
        self.assertEqual([backend.effective_n_jobs(n) for n in (-1, -2, -9, 1, 7, None)], [4, 3, 1, 1, 7, 1])
        with self.assertRaisesRegex(ValueError, "n_jobs is 0"):
            backend.effective_n_jobs(0)
        with parallel_config(backend="ferrite", dvm=self.dvm, inner_max_num_threads=3, env={"A": "a"}):
            values = Parallel(n_jobs=2)(delayed(os.getenv)(name) for name in ("OMP_NUM_THREADS", "A"))
            self.assertEqual(values, ["3", "a"])
            self.assertEqual(Parallel(n_jobs=1)(delayed(os.getpid)() for _ in range(2)), 2 * [os.getpid()])
        with self.assertRaises(NoDvm):
            FerriteBackend("no-such-dvm")


if __name__ == "__main__":
    sys.exit(unittest.main())
