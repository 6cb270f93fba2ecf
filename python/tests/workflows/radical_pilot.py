"""A real RADICAL-Pilot runs small tasks and as many MPI tasks of two ranks by its launch method PRTE, which calls our
`prte`, `prun` and `pterm`.

    python3 radical_pilot.py PROGRAM DIRECTORY [TASKS]

PROGRAM is an MPI program that says "rank 1 of 2". All files are in DIRECTORY, which is empty. TASKS is the number of
each kind, 100 without it.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

RESOURCE = {
    "default_schema": "local",
    "schemas": {"local": {"job_manager_endpoint": "fork://localhost", "filesystem_endpoint": "file://localhost"}},
    "default_remote_workdir": "$HOME",
    "resource_manager": "FORK",
    "agent_config": "default",
    "agent_scheduler": "CONTINUOUS",
    "agent_spawner": "POPEN",
    "launch_methods": {"order": ["PRTE"], "PRTE": {}},
    "rp_version": "installed",
    "virtenv_mode": "local",
    "python_dist": "default",
    "cores_per_node": 4,
    "gpus_per_node": 0,
    "mem_per_node": 4096,
    "lfs_path_per_node": "/tmp",
    "lfs_size_per_node": 1024,
    "fake_resources": True,
}


def prepare(directory):
    """Gives RADICAL-Pilot a home of its own, with a resource whose launch method is PRTE."""
    configuration = directory / ".radical/pilot/configs"
    configuration.mkdir(parents=True)
    (configuration / "resource_local.json").write_text(json.dumps({"ferrite": RESOURCE}))
    (directory / "tmp").mkdir()
    # It writes to where PWD says, too.
    os.environ.update(HOME=str(directory), PWD=str(directory), TMPDIR=str(directory / "tmp"), RADICAL_REPORT="FALSE")
    # Its agent is a login shell, which begins with this environment.
    names = ["PATH", "TMPDIR", "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"]
    lines = [f'export {name}="{os.environ[name]}"\n' for name in names if name in os.environ]
    (directory / ".bash_profile").write_text("".join(lines))
    os.chdir(directory)


def run(program, count):
    """Runs the tasks; returns them."""
    import radical.pilot as rp

    def described(executable, ranks):
        # The release 1.103 has a scheduler that names no DVM for a task (its partition), so the slots are given here.
        slots = [rp.Slot(node_name="localhost", node_index=0, cores=[core], gpus=[]) for core in range(ranks)]
        return rp.TaskDescription({"executable": executable, "ranks": ranks, "slots": slots, "partition": 0})

    session = rp.Session()
    try:
        pilots, tasks = rp.PilotManager(session=session), rp.TaskManager(session=session)
        description = {"resource": "local.ferrite", "cores": 4, "runtime": 10, "exit_on_error": False}
        tasks.add_pilots(pilots.submit_pilots(rp.PilotDescription(description)))
        wanted = [described("true", 1)] * count + [described(program, 2)] * count
        submitted = tasks.submit_tasks(wanted)
        tasks.wait_tasks(timeout=max(120, count))
        return submitted
    finally:
        session.close()
        # It leaves its DVM.
        subprocess.run(["pterm"], stderr=subprocess.DEVNULL, check=True, timeout=30)


def main(program, directory, count="100"):
    prepare(pathlib.Path(directory))
    began = time.monotonic()
    tasks = run(program, int(count))
    print("done:", sum(task.state == "DONE" for task in tasks))
    print("both ranks:", sum("rank 1 of 2" in (task.stdout or "") for task in tasks))
    print(f"seconds: {time.monotonic() - began:.0f}", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
