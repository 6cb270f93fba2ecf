"""Generations of an elastic job of mpi4py: each one starts the next, calls MPI_Finalize, and lives until the last one has
begun or could not be started. A generation starts the next when the one before it has finalized.

    generations.py DIR LAST [NUMBER]
"""

import os
import sys
import time

import mpi4py

mpi4py.rc.finalize = False

from mpi4py import MPI  # noqa: E402


def touch(path):
    with open(path, "w", encoding="utf-8"):
        pass


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)


def main(directory, last, number=0):
    def mark(name):
        return os.path.join(directory, name)

    comm, parent = MPI.COMM_WORLD, MPI.Comm.Get_parent()
    rank, size = comm.rank, comm.size
    if parent != MPI.COMM_NULL:
        parent.Disconnect()
        for other in range(size):
            wait_for(mark(f"{number - 1}.{other}"))
    comm.Barrier()
    if rank == 0:
        print(f"generation {number}", flush=True)
    if number < last:
        arguments = [__file__, directory, str(last), str(number + 1)]
        try:
            comm.Spawn(sys.executable, arguments, maxprocs=size).Disconnect()
        except MPI.Exception:
            touch(mark(f"{last}.0"))
            raise
    MPI.Finalize()
    touch(mark(f"{number}.{rank}"))
    wait_for(mark(f"{last}.0"))


main(sys.argv[1], *map(int, sys.argv[2:]))
