"""Futures: commands, MPI programs and Python functions in a DVM, with concurrent.futures.

    python3 examples/python/futures.py [HOST[:SLOTS] ...]
"""

import sys
from concurrent.futures import as_completed

from ferrite_dvm import Dvm, Executor


def digits(number: int) -> int:
    """Counts the digits of a factorial."""
    import math

    return len(str(math.factorial(number)))


def main() -> None:
    with Dvm.start(hosts=sys.argv[1:] or ["localhost:4"]) as dvm, Executor(dvm) as executor:
        lines = [executor.submit(f"echo task {number}") for number in range(8)]
        print("commands:", sorted(future.result().check().text.strip() for future in as_completed(lines)))
        # Any number of processes: an MPI program is started like this.
        together = executor.submit(["sh", "-c", "echo rank $PMIX_RANK"], np=3)
        print("one program, three processes:", sorted(together.result().check().text.split("\n")[:-1]))
        print("functions:", list(executor.map(digits, [10, 100, 500, 1000], chunksize=2)))


if __name__ == "__main__":
    main()
