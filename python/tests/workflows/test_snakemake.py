"""The Snakemake plugin with the real Snakemake and a real DVM of this machine. `prte` and `snakemake` are in PATH."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from ferrite_dvm import Dvm, NoDvm, find_socket

PATIENCE = 60

THREE_RULES = """
rule all:
    input: "sum"

rule number:
    output: "number.{n}"
    shell: "echo {wildcards.n} > {output}; echo ${{PMIX_RANK-none}} > rank.{wildcards.n}"

rule double:
    input: "number.{n}"
    output: "double.{n}"
    run:
        with open(output[0], "w") as file:
            print(2 * int(open(input[0]).read()), file=file)

rule sum:
    input: expand("double.{n}", n=range(4))
    output: "sum"
    threads: 3
    shell: "cat {input} | awk '{{sum += $1}} END {{print sum, {threads}}}' > {output}"
"""


class Workflows(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        # Snakemake leaves temporary files of processes that are ended.
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        # A Snakemake that hangs says where when it gets SIGABRT.
        environment = unittest.mock.patch.dict(os.environ, TMPDIR=temporary.name, PYTHONFAULTHANDLER="1")
        environment.start()
        self.addCleanup(environment.stop)

    def start(self, workflow, *options):
        (self.directory / "Snakefile").write_text(workflow)
        command = ["snakemake", "--executor", "ferrite", "--jobs", "10", "--cores", "10", *options]
        return subprocess.Popen(
            command,
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            # What a shell starts in the background ignores SIGINT, and so does all that it starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def run_workflow(self, workflow, *options):
        running = self.start(workflow, *options)
        _, told = running.communicate(timeout=2 * PATIENCE)
        return running.returncode, told

    def ended(self, running):
        """Waits for the end of Snakemake."""
        try:
            running.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGABRT)
            self.fail(f"Snakemake does not end:\n{running.communicate()[1]}")

    def until(self, what, is_so):
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)

    def text(self, name):
        path = self.directory / name
        return path.read_text() if path.exists() else ""

    def test_each_job_of_a_workflow_is_a_task_of_the_dvm(self):
        with Dvm.start(hosts="n0:4,n1:4", parameters={"plm": "local"}) as dvm:
            code, told = self.run_workflow(THREE_RULES, "--ferrite-dvm", dvm.socket)
            self.assertEqual((code, self.text("sum")), (0, "12 3\n"), told)
            self.assertEqual(self.text("rank.1"), "none\n", "a job is no process of a parallel program")
            jobs = dvm.jobs()
            self.assertEqual(sorted(job["processes"] for job in jobs), [1] * 8 + [3])
            self.assertEqual({job["ending"] for job in jobs}, {"done"})

    def test_a_dvm_of_its_own_ends_with_the_workflow(self):
        workflow = 'rule one:\n    output: "one"\n    shell: "pdvm status --json > {output}"\n'
        code, told = self.run_workflow(workflow, "--ferrite-hosts", "localhost:2")
        self.assertEqual(code, 0, told)
        self.assertIn("VM_READY", self.text("one"))
        with self.assertRaises(NoDvm):
            find_socket()

    def test_a_failure_says_why_and_where_the_output_is(self):
        workflow = (
            'rule all:\n    input: "good", "bad"\n'
            'rule good:\n    output: "good"\n    shell: "touch {output}"\n'
            'rule bad:\n    output: "bad"\n    threads: 2\n    shell: "echo the cause >&2; exit 7"\n'
            'rule slow:\n    output: "slow"\n    resources: runtime=1/60\n    shell: "sleep 1000"\n'
            'rule wide:\n    output: "wide"\n    threads: 5\n    shell: "touch {output}"\n'
            'rule wrong:\n    output: "wrong"\n    resources: ferrite_options="--no"\n    shell: "touch {output}"\n'
        )
        with Dvm.start(hosts="localhost:4") as dvm:
            code, told = self.run_workflow(workflow, "--ferrite-dvm", dvm.socket, "--keep-going")
            self.assertEqual(code, 1, told)
            self.assertIn("Ferrite says:", told)
            logs = list((self.directory / ".snakemake/ferrite_logs").iterdir())
            self.assertEqual(len(logs), 1)
            self.assertIn("the cause", logs[0].read_text())
            self.assertTrue((self.directory / "good").exists())
            for target, text in (("wide", "slots"), ("wrong", "--no")):
                code, told = self.run_workflow(workflow, "--ferrite-dvm", dvm.socket, target)
                self.assertEqual(code, 1, told)
                self.assertIn(text, told)
            self.assertEqual(dvm.status()["slots_in_use"], 0)

    def test_a_workflow_without_a_dvm_or_with_two_is_refused(self):
        workflow = 'rule one:\n    output: "one"\n    shell: "touch {output}"\n'
        code, told = self.run_workflow(workflow, "--ferrite-dvm", "no-such-dvm")
        self.assertIn("there is no DVM for the jobs", told)
        self.assertEqual(code, 1)
        code, told = self.run_workflow(workflow, "--ferrite-dvm", "x", "--ferrite-hosts", "localhost")
        self.assertIn("give --ferrite-dvm or --ferrite-hosts", told)
        self.assertEqual(code, 1)

    def test_the_jobs_of_a_workflow_that_is_interrupted_or_killed_end(self):
        workflow = 'rule one:\n    output: "one"\n    threads: 2\n    shell: "echo $$ > pid; exec sleep 1000"\n'
        with Dvm.start(hosts="localhost:4") as dvm:
            for number in (signal.SIGINT, signal.SIGKILL):
                running = self.start(workflow, "--ferrite-dvm", dvm.socket, "--nolock", "--rerun-incomplete")
                self.until("the job runs", lambda: self.text("pid"))
                running.send_signal(number)
                self.ended(running)
                self.assertNotEqual(running.returncode, 0)
                self.until("the slots are free", lambda: dvm.status()["slots_in_use"] == 0)
                process = pathlib.Path("/proc", self.text("pid").strip())
                self.until("the process has ended", lambda: not process.exists())
                (self.directory / "pid").unlink()


if __name__ == "__main__":
    sys.exit(unittest.main())
