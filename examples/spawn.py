"""A program that starts two more processes while it runs, and talks to them.

    prterun --host localhost:3 -n 1 python3 spawn.py

The parent asks each child a question and prints the answer.
"""

import sys

from mpi4py import MPI


def be_a_child(parents):
    question = parents.recv(source=0)
    parents.send(question**2, dest=0)
    print(f"child {MPI.COMM_WORLD.rank}: I was asked for the square of {question}", flush=True)
    parents.Disconnect()


def be_the_parent():
    children = MPI.COMM_SELF.Spawn(sys.executable, args=[__file__], maxprocs=2)
    for child in range(2):
        question = child + 7
        children.send(question, dest=child)
        answer = children.recv(source=child)
        print(f"parent: the square of {question} is {answer}, says child {child}", flush=True)
    children.Disconnect()


parents = MPI.Comm.Get_parent()
if parents == MPI.COMM_NULL:
    be_the_parent()
else:
    be_a_child(parents)
