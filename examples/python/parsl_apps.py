"""Parsl: Python functions, lines of the shell and MPI programs in one DVM, each after those whose results it needs.

    python3 examples/python/parsl_apps.py PROGRAM [HOST[:SLOTS] ...]

PROGRAM is an MPI program for four processes. It needs Parsl: pip install './python[parsl]'.
"""

import sys

import parsl
from parsl import File, bash_app, python_app
from parsl.config import Config

from ferrite_dvm.parsl import FerriteExecutor


@python_app
def digits(number):
    import math

    return len(str(math.factorial(number)))


@bash_app
def simulate(program, *sizes, stdout, outputs, parsl_resource_specification):
    return f"{program} {sum(sizes)}"


@python_app
def lines(inputs):
    with open(inputs[0].filepath) as file:
        return sorted(file.read().splitlines())


def main(program, *hosts):
    executor = FerriteExecutor(start_dvm={"hosts": hosts or ["localhost:4"]})
    with parsl.load(Config(executors=[executor])):
        # An app waits for the futures among its arguments.
        sizes = [digits(number) for number in (10, 100, 500)]
        simulated = simulate(
            program,
            *sizes,
            stdout=("simulated", "w"),
            outputs=[File("simulated")],
            parsl_resource_specification={"num_ranks": 4, "num_nodes": 2 if len(hosts) > 1 else 1},
        )
        print("\n".join(lines(inputs=[simulated.outputs[0]]).result()))
        print("digits:", [size.result() for size in sizes])


if __name__ == "__main__":
    main(*sys.argv[1:])
