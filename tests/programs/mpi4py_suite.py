"""Runs mpi4py's own test suite: mpi4py_suite.py DIRECTORY RESULTS [options of the suite].

DIRECTORY is the suite (`test` of mpi4py's sources). Each process writes a file into the directory RESULTS: the number
of its tests, and a line for each that was not good. A process that ends before has no file.
"""

import os
import runpy
import sys
import unittest


class Recorder(unittest.TextTestResult):
    """Writes the results when the last test is over."""

    def stopTestRun(self):
        super().stopTestRun()
        bad = [test.id() for test, _ in self.failures + self.errors] + [test.id() for test in self.unexpectedSuccesses]
        path = os.path.join(RESULTS, str(os.getpid()))
        with open(path + ".part", "w") as file:
            file.write("\n".join([str(self.testsRun), *bad]))
        os.rename(path + ".part", path)


SUITE, RESULTS = sys.argv[1:3]
unittest.TextTestRunner.resultclass = Recorder
sys.argv = [os.path.join(SUITE, "main.py"), *sys.argv[3:]]
sys.path.insert(0, SUITE)
runpy.run_path(sys.argv[0], run_name="__main__")
