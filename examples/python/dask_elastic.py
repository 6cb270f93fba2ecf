"""Dask: a cluster whose DVM has as many nodes as its workers need.

    python3 examples/python/dask_elastic.py HOST[:SLOTS] ...     # the DVM begins on the first

It needs Dask: pip install './python[dask]'.
"""

import socket
import sys
import time

from distributed import Client

from ferrite_dvm.dask import FerriteCluster


def wait_until(is_so, seconds=60):
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


def where(_):
    time.sleep(0.2)
    return socket.gethostname()


def main(*hosts):
    with FerriteCluster(hosts, n_workers=1) as cluster, Client(cluster) as client:

        def nodes():
            return [node["name"] for node in cluster.dvm.nodes() if node["daemon"] is not None]

        client.wait_for_workers(1, 60)
        print("one worker:", nodes())
        cluster.scale(7)
        client.wait_for_workers(7, 60)
        print("seven workers:", nodes())
        print("ran on:", sorted(set(client.gather(client.map(where, range(28), pure=False)))))
        cluster.scale(1)
        wait_until(lambda: len(nodes()) == 1)
        # Now the cluster looks itself how much there is to do.
        cluster.adapt(minimum=0, maximum=8, interval="200ms", target_duration="1s")
        much = client.map(where, range(100), pure=False)
        wait_until(lambda: len(nodes()) == len(hosts))
        print("adapted to much work:", nodes())
        client.gather(much)
        del much
        wait_until(lambda: len(nodes()) == 1)
        print("adapted to none:", nodes())


if __name__ == "__main__":
    main(*sys.argv[1:])
