"""The package with a real DVM of this machine. `prte` is in PATH."""

import asyncio
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import CancelledError, as_completed

from ferrite_dvm import AsyncDvm, Dvm, DvmError, DvmGone, Executor, NoDvm, RequestRefused, TaskFailed, find_socket
from ferrite_dvm.pool import WorkerPool

PATIENCE = 60


def square(number):
    return number * number


def fail(text):
    raise ValueError(text)


def fail_in_process_1():
    if os.environ["PMIX_RANK"] == "1":
        raise ValueError("process 1")


def chatter_of(_):
    return chatter()


def chatter():
    print("this is no value")
    return os.getpid()


class WithDvm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dvm = Dvm.start(hosts="localhost:8")

    @classmethod
    def tearDownClass(cls):
        cls.dvm.close()


class Tasks(WithDvm):
    def test_a_task_has_a_result_with_its_output(self):
        result = self.dvm.submit(["sh", "-c", "echo out; echo err >&2; exit 3"], np=2).result(PATIENCE)
        self.assertEqual((result.exit_code, result.ending), (3, "failed"))
        self.assertIn(b"out", result.stdout)
        self.assertIn(b"err", result.stderr)
        with self.assertRaises(TaskFailed):
            result.check()
        killed = self.dvm.submit("kill -9 $$").result(PATIENCE)
        self.assertEqual((killed.exit_code, killed.signal), (137, 9))

    def test_environment_directory_and_input_are_those_that_were_given(self):
        task = self.dvm.submit('echo "$A $PWD"; cat', env={"A": "b c"}, cwd="/usr", stdin="text\n")
        self.assertEqual(task.result(PATIENCE).text, "b c /usr\ntext\n")
        self.assertEqual(self.dvm.submit("pwd -P").result(PATIENCE).text.strip(), os.path.realpath(os.getcwd()))

    def test_output_that_is_no_text_comes_unchanged(self):
        result = self.dvm.submit(["printf", r"\377\000\n"]).result(PATIENCE)
        self.assertEqual(result.stdout, b"\xff\x00\n")

    def test_a_task_is_fed_while_it_runs(self):
        pieces = []
        task = self.dvm.submit(["cat"], stdin="0 ", feed=True, on_output=lambda *piece: pieces.append(piece))
        large = bytes(range(256)) * 20_000
        task.feed(large).result(PATIENCE)
        task.feed(b"end", end=True).result(PATIENCE)
        result = task.result(PATIENCE)
        self.assertEqual(result.stdout, b"0 " + large + b"end")
        self.assertEqual(b"".join(data for _, data in pieces), result.stdout)
        with self.assertRaises(RequestRefused):
            task.feed(b"too late").result(PATIENCE)
        both = self.dvm.submit(["cat"], np=2, stdin="x", options=["--stdin", "all"])
        self.assertEqual(both.result(PATIENCE).text, "xx")

    def test_input_for_a_task_that_never_was_is_refused(self):
        task = self.dvm.submit(["cat"], feed=True, options=["--nonsense"])
        with self.assertRaises(DvmError):
            task.feed(b"x").result(PATIENCE)

    def test_output_is_streamed(self):
        task = self.dvm.submit("echo one; sleep 0.2; echo two", keep_output=False)
        self.assertEqual(b"".join(data for _, data in task.output()), b"one\ntwo\n")
        self.assertEqual(task.result(PATIENCE).stdout, b"")

    def test_what_is_wrong_is_refused_with_a_reason(self):
        with self.assertRaisesRegex(RequestRefused, "--nonsense"):
            self.dvm.submit(["true"], options=["--nonsense"]).result(PATIENCE)
        with self.assertRaises(RequestRefused):
            self.dvm.signal("USR1", job=4_000_000)
        with self.assertRaises(NoDvm):
            find_socket("no-such-dvm")

    def test_a_task_begins_after_others(self):
        first = self.dvm.submit(["cat"], feed=True)
        bad = self.dvm.submit("exit 3")
        after = self.dvm.submit(["echo", "after"], after=[first], after_any=[bad, bad.wait_submitted(PATIENCE)])
        never = self.dvm.submit(["true"], after=[after.name, bad])
        self.assertEqual(never.result(PATIENCE).ending, "not_run")
        self.assertIn("job", self.dvm.job(after.wait_submitted(PATIENCE))["waiting_for"])
        first.feed("", end=True)
        self.assertEqual(after.result(PATIENCE).text, "after\n")
        with self.assertRaisesRegex(RequestRefused, "nobody"):
            self.dvm.submit(["true"], after=["nobody"]).result(PATIENCE)

    def test_a_task_has_a_priority(self):
        task = self.dvm.submit(["sleep", "1000"], priority=-7)
        self.assertEqual(self.dvm.job(task.wait_submitted(PATIENCE))["priority"], -7)
        task.cancel()
        with self.assertRaisesRegex(RequestRefused, "from -1000 to 1000"):
            self.dvm.submit(["true"], priority=1001).result(PATIENCE)

    def test_a_cancelled_task_is_ended(self):
        task = self.dvm.submit(["sleep", "1000"])
        job = task.wait_submitted(PATIENCE)
        self.assertTrue(task.cancel())
        with self.assertRaises(CancelledError):
            task.result(PATIENCE)
        self.assertEqual(self.dvm.wait(jobs=[job], timeout=PATIENCE)[0]["ending"], "killed")
        self.assertFalse(self.dvm.cancel(job=job), "it is over, which is no error")

    def test_a_signal_reaches_a_task_that_has_started(self):
        self.dvm.follow()
        task = self.dvm.submit("trap 'exit 5' USR1; echo up; while :; do sleep 0.05; done")
        self.assertTrue(task.wait_started(PATIENCE))
        for _ in task.output():
            break
        task.signal("USR1")
        self.assertEqual(task.result(PATIENCE).exit_code, 5)

    def test_a_detached_task_is_found_by_its_name_from_another_connection(self):
        socket = self.dvm.socket
        one = Dvm(socket)
        name = f"detached.{time.time()}"
        one.submit("sleep 0.5; exit 7", name=name, detach=True).wait_submitted(PATIENCE)
        one.close()
        self.assertEqual(self.dvm.wait(names=[name], timeout=PATIENCE)[0]["exit_code"], 7)

    def test_tasks_of_a_connection_that_ends_are_ended(self):
        one = Dvm(self.dvm.socket)
        job = one.submit(["sleep", "1000"]).wait_submitted(PATIENCE)
        one.close()
        self.assertEqual(self.dvm.wait(jobs=[job], timeout=PATIENCE)[0]["ending"], "killed")

    def test_status_nodes_jobs_and_sessions(self):
        self.dvm.submit(["true"]).result(PATIENCE)
        self.assertEqual(self.dvm.status()["state"], "VM_READY")
        self.assertEqual([node["slots"] for node in self.dvm.nodes()], [8])
        self.assertTrue(any(job["name"] == "true" for job in self.dvm.jobs()))
        self.assertEqual(self.dvm.sessions(), [])
        self.assertGreater(self.dvm.metrics()["jobs_submitted"], 0)

    def test_events_tell_the_steps_of_every_job(self):
        events = self.dvm.events()
        other = Dvm(self.dvm.socket)
        states = []
        # The first event is asked for before the job is there.

        def run():
            time.sleep(0.2)
            other.submit(["true"]).result(PATIENCE)

        threading.Thread(target=run).start()
        for event in events:
            states.append(event.get("state"))
            if "NOTIFY_COMPLETED" in states:
                break
        other.close()
        self.assertIn("RUNNING", states)

    def test_a_task_and_events_can_be_awaited(self):
        async def main():
            dvm = AsyncDvm(self.dvm)
            results = await asyncio.gather(*(dvm.submit(["echo", str(n)]) for n in range(20)))
            self.assertEqual([int(result.text) for result in results], list(range(20)))
            self.assertEqual((await dvm.status())["state"], "VM_READY")

        asyncio.run(asyncio.wait_for(main(), PATIENCE))


class Executors(WithDvm):
    def test_commands_and_functions_are_futures(self):
        with Executor(self.dvm) as executor:
            command = executor.submit(["echo", "a"], np=2)
            function = executor.submit(square, 7)
            self.assertEqual(command.result(PATIENCE).text, "a\na\n")
            self.assertEqual(function.result(PATIENCE), 49)
            self.assertIsInstance(executor.submit(chatter).result(PATIENCE), int)

    def test_map_keeps_the_order_with_and_without_chunks(self):
        with Executor(self.dvm) as executor:
            self.assertEqual(list(executor.map(square, range(6))), [n * n for n in range(6)])
            self.assertEqual(list(executor.map(square, range(50), chunksize=20)), [n * n for n in range(50)])
            texts = [result.text for result in executor.map_commands([["echo", str(n)] for n in range(30)])]
            self.assertEqual(texts, [f"{n}\n" for n in range(30)])

    def test_the_error_of_a_function_is_raised_with_its_traceback(self):
        with Executor(self.dvm) as executor:
            with self.assertRaisesRegex(ValueError, "so it is") as raised:
                executor.submit(fail, "so it is").result(PATIENCE)
            self.assertIn("in fail", str(raised.exception.__cause__))
            with self.assertRaises(TaskFailed):
                executor.submit(os._exit, 4).result(PATIENCE)

    def test_futures_can_be_cancelled_and_the_rest_goes_on(self):
        with Executor(self.dvm) as executor:
            long = [executor.submit(["sleep", "1000"]) for _ in range(12)]
            self.assertTrue(all(future.cancel() for future in long))
            self.assertEqual(executor.submit(["echo", "on"]).result(PATIENCE).text, "on\n")
        with self.assertRaises(RuntimeError):
            executor.submit(["true"])

    def test_kept_processes_make_many_calls_each(self):
        with Executor(self.dvm, keep_processes=True) as executor:
            pids = set(executor.map(chatter_of, range(200)))
            self.assertLessEqual(len(pids), 8)
            with self.assertRaisesRegex(ValueError, "so it is") as raised:
                executor.submit(fail, "so it is").result(PATIENCE)
            self.assertIn("in fail", str(raised.exception.__cause__))
            with self.assertRaisesRegex(TaskFailed, "with code 4"):
                executor.submit(os._exit, 4).result(PATIENCE)
            self.assertEqual(len(executor.submit(bytes, 9_000_000).result(PATIENCE)), 9_000_000)
            self.assertEqual(executor.submit(square, 7).result(PATIENCE), 49)
        self.assertEqual(self.dvm.status()["jobs_running"], 0)

    def test_kept_processes_leave_their_slots_to_others_and_when_they_are_idle(self):
        def call(number):
            return pickle.dumps((sys.path, None, pickle.dumps((square, (number,), {}))))

        waits = threading.Event()
        pool = WorkerPool(self.dvm, idle_s=1000, waiting=waits.is_set)
        calls = [pool.submit(call(number)) for number in range(40)]
        self.assertEqual([future.result(PATIENCE) for future in calls], [n * n for n in range(40)])
        waits.set()
        pool.look()
        self.assertTrue(self.dvm.submit(["true"], np=8).result(PATIENCE).ok)
        pool.shutdown()
        with self.assertRaises(RuntimeError):
            pool.submit(b"")
        brief = WorkerPool(self.dvm, idle_s=0, most=1)
        self.assertEqual(brief.submit(call(3)).result(PATIENCE), 9)
        self.assertTrue(self.dvm.submit(["true"], np=8).result(PATIENCE).ok)
        brief.shutdown()

    def test_calls_end_with_the_dvm(self):
        with Dvm.start(hosts="localhost:2") as dvm:
            executor = Executor(dvm, keep_processes=True)
            futures = [executor.submit(time.sleep, 1000) for _ in range(100)]
            while not any(future.running() for future in futures):
                time.sleep(0.01)
            dvm.terminate()
            for future in futures:
                self.assertIsInstance(future.exception(PATIENCE), DvmError)
            self.assertIsInstance(executor.submit(square, 2).exception(PATIENCE), DvmError)
            executor.shutdown()
        with self.assertRaisesRegex(ValueError, "np is 2"):
            Executor(self.dvm, keep_processes=True, np=2)

    def test_a_process_that_cannot_start_fails_a_call_and_ends_no_loop(self):
        with Executor(self.dvm, keep_processes=True, python="/no/such/python") as executor:
            for future in [executor.submit(square, number) for number in range(10)]:
                with self.assertRaisesRegex(TaskFailed, "/no/such/python"):
                    future.result(PATIENCE)

    def test_more_tasks_than_the_dvm_takes_from_a_client_wait_on_this_side(self):
        with Executor(self.dvm) as executor:
            futures = [executor.submit(["true"], keep_output=False) for _ in range(5000)]
            self.assertTrue(all(future.result(10 * PATIENCE).ok for future in as_completed(futures)))


    def test_a_function_is_called_in_each_of_several_processes(self):
        with Executor(self.dvm, np=3) as executor:
            self.assertEqual(executor.submit(os.getenv, "PMIX_RANK").result(PATIENCE), "0")
            with self.assertRaises(TaskFailed):
                executor.submit(fail_in_process_1).result(PATIENCE)


class Lifetimes(unittest.TestCase):
    def test_a_tied_dvm_ends_with_its_program_however_that_ends(self):
        with tempfile.TemporaryDirectory() as directory:
            text = (
                "import os\nfrom ferrite_dvm import Dvm\ndvm = Dvm.start(hosts='localhost:1', tied=True)\n"
                "dvm.submit(['sleep', '1000']).wait_submitted(30)\nos.kill(os.getpid(), 9)\n"
            )
            environment = {**os.environ, "TMPDIR": directory}
            subprocess.run([sys.executable, "-c", text], env=environment, timeout=PATIENCE, check=False)
            deadline = time.monotonic() + PATIENCE
            while os.listdir(directory):
                self.assertLess(time.monotonic(), deadline, os.listdir(directory))
                time.sleep(0.01)

    def test_a_dvm_is_found_by_its_file_and_by_its_directory_and_ended(self):
        with Dvm.start(hosts="localhost:2") as dvm:
            name = dvm.status()["dvm"]
            with Dvm.connect(name) as other:
                self.assertEqual(other.submit("echo a").result(PATIENCE).text, "a\n")
            pending = dvm.submit(["sleep", "1000"])
            pending.wait_submitted(PATIENCE)
        with self.assertRaises(Exception):
            pending.result(PATIENCE).check()
        with self.assertRaises(NoDvm):
            find_socket(name)

    def test_a_dvm_elsewhere_is_reached_by_pdvm_service(self):
        with Dvm.start(hosts="localhost:2", options=["--listen", "127.0.0.1:0"]) as dvm, tempfile.TemporaryDirectory() as here:
            session = os.path.dirname(dvm.socket)
            uri, wrong = os.path.join(here, "uri"), os.path.join(here, "wrong")
            with open(os.path.join(session, "contact"), encoding="utf-8") as contact, open(uri, "w") as elsewhere:
                # The contact of a DVM of another host has neither a key nor a socket here.
                for line in contact:
                    word = line.split(" ")[0]
                    elsewhere.write("host another\n" if word == "host" else "" if word == "key" else line)
            with open(os.open(wrong, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write("07" * 32)
            with self.assertRaisesRegex(DvmGone, "does not have the key"):
                Dvm.connect(uri=f"file:{uri}", key=wrong)
            with Dvm.connect(uri=f"file:{uri}", key=os.path.join(session, "key")) as far:
                self.assertEqual(far.submit("echo a; echo b >&2; exit 3").result(PATIENCE).stdout, b"a\n")
                large = far.submit(["seq", "100000"]).result(PATIENCE)
                self.assertEqual(large.text, "".join(f"{number}\n" for number in range(1, 100_001)))
                job = far.submit(["sleep", "1000"]).wait_submitted(PATIENCE)
                program = far._connection._bridge._process
            self.assertEqual(program.returncode, 0)
            self.assertEqual(dvm.wait(jobs=[job], timeout=PATIENCE)[0]["ending"], "killed")
            last = Dvm.connect(uri=f"file:{uri}", key=os.path.join(session, "key"))
            lost = last.submit(["sleep", "1000"])
            lost.wait_submitted(PATIENCE)
            dvm.terminate()
            with self.assertRaises(Exception):
                lost.result(PATIENCE).check()
            last.close()

    def test_a_command_is_a_way_to_a_dvm(self):
        with Dvm.start(hosts="localhost:2") as dvm:
            name = dvm.status()["dvm"]
            with Dvm.connect(command=["pdvm", "service", "--namespace", name]) as other:
                self.assertEqual(other.submit("echo a").result(PATIENCE).text, "a\n")

            async def main():
                async with await AsyncDvm.connect(command=["pdvm", "service", "--namespace", name]) as other:
                    self.assertEqual((await other.status())["dvm"], name)

            asyncio.run(asyncio.wait_for(main(), PATIENCE))
        with self.assertRaisesRegex(DvmGone, name):
            Dvm.connect(command=["pdvm", "service", "--namespace", name])
        with self.assertRaisesRegex(DvmGone, "no-such-program"):
            Dvm.connect(command=["no-such-program"])
        for terms in ({"key": "k"}, {"uri": "u", "command": ["c"]}, {"dvm": "d", "uri": "u"}):
            with self.assertRaises(ValueError):
                Dvm.connect(**terms)

    def test_a_connection_may_be_silent(self):
        with Dvm.start(hosts="localhost:1") as dvm:
            # The DVM waits ten seconds for the first words of a client.
            time.sleep(10.5)
            self.assertTrue(dvm.submit(["true"]).result(PATIENCE).ok)

    def test_the_daemons_of_a_dvm_are_the_same_dvm(self):
        with Dvm.start(hosts="n0:2,n1:2", parameters={"plm": "local"}) as dvm:
            name = dvm.status()["dvm"]
            with Dvm.connect(name) as other:
                self.assertEqual(other.status()["dvm"], name)

    def test_an_elastic_job_gets_another_size(self):
        with Dvm.start(hosts="n0:4,n1:4", parameters={"plm": "local"}) as dvm:
            task = dvm.submit(["sleep", "1000"], np=3, options=["--elastic", "1:4"])
            job = task.wait_submitted(PATIENCE)
            offered = dvm.resize(job, "+1", wait=False, grace=1)
            self.assertEqual((offered["change"], offered["outcome"], offered["processes"]), ("more", "begun", 1))
            with self.assertRaises(RequestRefused):
                dvm.resize(job, "=9")
            task.cancel()


if __name__ == "__main__":
    sys.exit(unittest.main())
