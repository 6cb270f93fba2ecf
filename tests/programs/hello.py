"""The hello of mpi4py: same line as hello.c, and a sum over all ranks that must be right."""
from mpi4py import MPI

world = MPI.COMM_WORLD
total = world.allreduce(world.rank + 1)
assert total == world.size * (world.size + 1) // 2, total
print(f"hello from rank {world.rank} of {world.size} on {MPI.Get_processor_name()}", flush=True)
