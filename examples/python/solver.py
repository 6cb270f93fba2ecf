"""An elastic solver: heat in a rod. Its result does not depend on how many processes there are, and when.

    prun --elastic 2:8 --grace 30 -n 2 python3 examples/python/solver.py [STEPS [RESULT]]
    pdvm resize JOB +2          # in another terminal
    pdvm resize JOB -2

It needs mpi4py. RESULT is a file for the last temperatures.
"""

import sys
from array import array

# Before mpi4py.
from ferrite_dvm.elastic import Job

from mpi4py import MPI

POINTS = 4000


def load(comm):
    """The first state: this process's piece of the rod, and the number of the step."""
    whole = array("d", ((i * 7919) % 1000 / 10 for i in range(POINTS)))
    size, rank = comm.size, comm.rank
    begin = rank * (POINTS // size) + min(rank, POINTS % size)
    return whole[begin : begin + POINTS // size + (rank < POINTS % size)], 0


def step(comm, x):
    """Each point becomes the mean of itself and its neighbours; the ends stay."""
    left, right = array("d", [x[0]]), array("d", [x[-1]])
    before = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    after = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
    comm.Sendrecv(array("d", [x[-1]]), after, recvbuf=left, source=before)
    comm.Sendrecv(array("d", [x[0]]), before, recvbuf=right, source=after)
    around = left + x + right
    return array("d", ((around[i] + around[i + 1] + around[i + 2]) / 3 for i in range(len(x))))


def main(steps=1000, result=None):
    job = Job(min=1)
    x, done = job.begin(load)
    while done < steps:
        x, done = step(job.comm, x), done + 1
        if change := job.poll():
            with change as c:
                x, done = c.redistribute(x, done)
            if job.retired:
                break
            if job.comm.rank == 0:
                print(f"step {done}: {job.comm.size} processes", flush=True)
    if not job.retired:
        pieces = job.comm.gather(x)
        if job.comm.rank == 0:
            whole = b"".join(piece.tobytes() for piece in pieces)
            print(f"done: {len(whole) // 8} points", flush=True)
            if result:
                with open(result, "wb") as file:
                    file.write(whole)
    job.close()


main(*[int(word) for word in sys.argv[1:2]], *sys.argv[2:3])
