"""A DVM that grows while there is much to do, and shrinks again.

    python3 examples/python/elastic.py HOST HOST...     # the DVM begins on the first
"""

import sys
from collections import Counter

from ferrite_dvm import Dvm


def hosts_of(dvm: Dvm, tasks: int) -> Counter:
    """Runs tasks; counts on which hosts they ran."""
    running = [dvm.submit("hostname; sleep 0.2") for _ in range(tasks)]
    return Counter(task.result().check().text.strip() for task in running)


def main(first: str, *others: str) -> None:
    with Dvm.start(hosts=[f"{first}:2"]) as dvm:
        print("one node:", dict(hosts_of(dvm, 4)))
        if others:
            grown = dvm.grow([f"{host}:2" for host in others])
            print("grown by", ", ".join(grown["nodes"]))
            print("more nodes:", dict(hosts_of(dvm, 4 * (1 + len(others)))))
            left = dvm.shrink(allocation=grown["allocation"])
            print("shrunk by", ", ".join(left["nodes"]))
        print("nodes:", [node["name"] for node in dvm.nodes() if node["daemon"] is not None])


main(*(sys.argv[1:] or ["localhost"]))
