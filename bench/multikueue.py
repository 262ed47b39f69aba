"""MultiKueue's own controller against the relay, beside real Kueue: Jobs per second, and writes per Job.

    python -m bench.multikueue --jobs 100

Each round has a management cluster with Kueue, and one worker. Jobs of one pod that ends at once are submitted
together; it is over when Kueue has finished the last Workload. Writes are counted by the resourceVersions of the
management cluster, an embedded one that numbers all of them: Kueue's, the relay's, statuses and Events included. Needs
what the lane `adopters` needs.
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass

from jobrelay.kube.resource import JOBS, NAMESPACES
from jobrelay.relay.multikueue.views import WORKLOADS
from tests.adopters.kueues import Installation, installation, is_true, queued_job

_CPU = "100000"


@dataclass(frozen=True)
class Round:
    """Who dispatches, and to what worker."""

    name: str
    relay: bool
    plain: bool


ROUNDS = (
    Round("MultiKueue, worker with Kueue", relay=False, plain=False),
    Round("relay, worker with Kueue", relay=True, plain=False),
    Round("relay, plain worker", relay=True, plain=True),
)


@dataclass(frozen=True)
class Figures:
    jobs_per_second: float
    writes_per_job: float


async def measure(one: Round, jobs: int, folder: pathlib.Path) -> Figures:
    """Play one round."""
    workers = (["worker"], []) if one.plain else ([], ["worker"])
    async with AsyncExitStack() as stack:
        it = await stack.enter_async_context(installation(folder, *workers, cpu=_CPU))
        await stack.enter_async_context(it.kueue(multikueue=not one.relay))
        await it.configure(cpu=_CPU)
        if one.relay:
            await stack.enter_async_context(it.relay(keep_finished=600.0))
        await it.submit("first", seconds=0, cpu="1m")
        await it.finished("first")
        before, began = await _version(it), time.monotonic()
        for number in range(jobs):
            await it.home.create(JOBS, queued_job(f"job-{number}", seconds=0, cpu="1m"))
        await it.until(lambda: _all_finished(it, jobs + 1), 600.0)
        took = time.monotonic() - began
        return Figures(jobs / took, (await _version(it) - before) / jobs)


async def _version(it: Installation) -> int:
    return int((await it.home.list(NAMESPACES)).resource_version)


async def _all_finished(it: Installation, number: int) -> bool:
    found = (await it.home.list(WORKLOADS, "default")).items
    return sum(bool(is_true(each.decode().get("status", {}), "Finished")) for each in found) >= number


async def compare(jobs: int) -> dict[str, Figures]:
    """All rounds, one after the other."""
    found = {}
    for one in ROUNDS:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            found[one.name] = await measure(one, jobs, pathlib.Path(folder))
            print(f"{one.name:32} {found[one.name].jobs_per_second:8.2f} Jobs/s", flush=True)
            print(f"{'':32} {found[one.name].writes_per_job:8.2f} writes per Job", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100)
    asyncio.run(compare(parser.parse_args().jobs))


if __name__ == "__main__":
    main()
