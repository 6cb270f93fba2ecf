"""An elastic job of mpi4py: counts in a vector that is spread over its processes until the file STOP is there, and then
checks what it has counted. It takes four processes at most, and refuses to be fewer than two; with MOST it takes so
many, and may be one. When it runs it writes a line into the file UP.

    malleable.py UP STOP [MOST]
"""

import os
import sys
import time
from array import array

import numpy
from ferrite_dvm.elastic import Job

ROWS = 1003


def load(comm):
    rows = range(comm.rank * ROWS // comm.size, (comm.rank + 1) * ROWS // comm.size)
    # Neither the type nor the order in memory is that of the bytes.
    table = numpy.asfortranarray([[row, 1j * row] for row in rows])
    return array("q", rows), table, 0, [comm.size]


def main(up, stop, most=None):
    job = Job(min=2, max=4) if most is None else Job(min=1, max=int(most))
    x, table, steps, sizes = job.begin(load)
    if steps > 0:
        # A newcomer: the others add this size as well.
        sizes = sizes + [job.comm.size]
    elif job.comm.rank == 0:
        with open(up, "w", encoding="utf-8") as file:
            file.write("up\n")
    while not job.comm.bcast(os.path.exists(stop) if job.comm.rank == 0 else None):
        x, table, steps = array("q", (value + 1 for value in x)), numpy.asfortranarray(table + 1), steps + 1
        # Several processes share a processor, and wait for each other by spinning.
        time.sleep(0.005)
        if change := job.poll():
            with change as c:
                x, table, steps = c.redistribute(x, table, steps)
                sizes = c.redistribute(sizes)
            if job.retired:
                break
            sizes = sizes + [job.comm.size]
    if not job.retired:
        if job.comm.rank == job.comm.size - 1:
            # The others have given their part, and end before this one has.
            time.sleep(0.2)
        pieces = job.comm.gather((x.tolist(), table.tolist(), sizes))
        if job.comm.rank == 0:
            rows = [value for piece, _, _ in pieces for value in piece]
            table = [value for _, piece, _ in pieces for value in piece]
            lengths = [len(piece) for piece, _, _ in pieces]
            right = rows == [row + steps for row in range(ROWS)] and max(lengths) - min(lengths) <= 1
            right = right and table == [[row + steps, 1j * row + steps] for row in range(ROWS)]
            same = all(of_rank == sizes for _, _, of_rank in pieces)
            print("right" if right and same else f"wrong after {steps} steps: {lengths} {rows}", flush=True)
    job.close()


main(*sys.argv[1:])
