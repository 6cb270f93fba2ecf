"""A pool of mpi4py, whose workers are spawned: prints what they have computed."""

from mpi4py.futures import MPIPoolExecutor


def square(number):
    return number * number


if __name__ == "__main__":
    with MPIPoolExecutor(2) as pool:
        print("squares", *pool.map(square, range(6)))
