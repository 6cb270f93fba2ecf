"""Makes a communicator of a group of processes (MPI_Comm_create_from_group), of the world or, with the word
"session", from an MPI session, and sums the ranks in it. The word after it names a process set: mpi://WORLD,
mpi://SELF or one of the launcher."""

import sys

import mpi4py

mpi4py.rc.initialize = "session" not in sys.argv

from mpi4py import MPI  # noqa: E402 - it initializes MPI, or not

session = None if mpi4py.rc.initialize else MPI.Session.Init()
of = sys.argv[2] if len(sys.argv) > 2 else "mpi://WORLD"
group = session.Create_group(of) if session else MPI.COMM_WORLD.Get_group()
comm = MPI.Intracomm.Create_from_group(group)
total = comm.allreduce(group.rank)
print(f"rank {comm.rank} of {comm.size} has heard {total}", flush=True)
comm.Free()
group.Free()
if session:
    session.Finalize()
