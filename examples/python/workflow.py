"""A small workflow with asyncio: simulations side by side, an analysis after each, and a summary of all.

    python3 examples/python/workflow.py [HOST[:SLOTS] ...]
"""

import asyncio
import sys

from ferrite_dvm import AsyncDvm


async def branch(dvm: AsyncDvm, number: int) -> int:
    """One simulation of two processes, and the analysis of what it has printed."""
    simulated = (await dvm.submit(f"echo $((PMIX_RANK + {number}))", np=2)).check()
    analysed = await dvm.submit(["awk", "{sum += $1} END {print sum}"], stdin=simulated.text)
    return int(analysed.check().text)


async def main() -> None:
    async with await AsyncDvm.start(hosts=sys.argv[1:] or ["localhost:4"]) as dvm:
        sums = await asyncio.gather(*(branch(dvm, number) for number in range(6)))
        print("sums:", sums)
        # A task that fails says why.
        failed = await dvm.submit("echo no data >&2; exit 3")
        print("failed:", failed.exit_code, failed.stderr.decode().strip())


asyncio.run(main())
