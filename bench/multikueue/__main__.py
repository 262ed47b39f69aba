"""MultiKueue's own controller against the relay, beside real Kueue on real clusters: Jobs per second, writes, and CPU.

    python -m bench.multikueue --jobs 100 [--rounds 2] [--writes]

All rounds use the same three clusters and the same Jobs (`stage`, `rounds`). Writes are those that the API servers have
noted in their audit logs, also the ones that change nothing. Exits with 1 if a figure misses its target. Needs what the
lane `adopters` needs, and Kubernetes' programs (`make kube-assets`).
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import sys
import tempfile
from collections import Counter
from typing import Final

from bench.multikueue.audit import Write, per_job
from bench.multikueue.figures import figures
from bench.multikueue.rounds import ROUNDS, Result, Round, play
from bench.multikueue.stage import MANAGEMENT, stage
from bench.process import compile_package
from bench.report import Figure, table
from tools.kube import assets

_MISSED: Final = 1
_NOT_HERE: Final = 2


async def compare(folder: pathlib.Path, programs: pathlib.Path, chosen: argparse.Namespace) -> list[Figure]:
    """All rounds in turn, so that all see the same load from other users of the machine."""
    rounds = [one for one in ROUNDS if not chosen.only or any(each in one.name for each in chosen.only)]
    results: dict[Round, list[Result]] = {one: [] for one in rounds}
    async with stage(folder, programs) as it:
        for number in range(chosen.rounds):
            for index, one in enumerate(rounds):
                result = await play(it, one, chosen.jobs, f"r{number}-{index}")
                results[one].append(result)
                print(shown(one, result), file=sys.stderr, flush=True)
                if chosen.writes:
                    print(writes(result), flush=True)
    return figures(results)


def shown(one: Round, result: Result) -> str:
    home = result.writes[MANAGEMENT]
    remote = result.writes.get(one.worker, Counter())
    mine = sum((result.writes[name] for name in result.writes), Counter[Write]())
    dispatcher = sum(number for each, number in mine.items() if each.who in ("jobrelay", "other"))
    cpu = ", ".join(f"{name} {value / result.jobs * 1e3:.0f}" for name, value in sorted(result.cpu.items()))
    return "\n".join(
        [
            f"{one.name:32} {result.rate:8.2f} Jobs/s, {result.jobs / result.cleared:.2f} until all is removed",
            f"{'':32} {per_job(home, result.jobs):8.2f} writes per Job on the management cluster",
            f"{'':32} {per_job(remote, result.jobs):8.2f} on the worker, {dispatcher / result.jobs:.2f} of the relay",
            f"{'':32} {result.reads / result.jobs:8.2f} reads of the relay",
            f"{'':32} {result.cpu_each:8.0f} ms CPU per Job: {cpu}",
        ]
    )


def writes(result: Result) -> str:
    """All kinds of writes, with how many there were for each Job."""
    return "\n".join(
        f"    {number / result.jobs:6.2f}  {cluster:12} {each.who:28} {each.verb:7} {each.resource} {each.error or ''}"
        for cluster, found in result.writes.items()
        for each, number in sorted(found.items())
        if number * 50 >= result.jobs
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--writes", action="store_true", help="show all kinds of writes")
    parser.add_argument("--only", action="append", help="rounds whose name has this text")
    chosen = parser.parse_args()
    programs = assets.find()
    if programs is None:
        print(f"error: Kubernetes {assets.version()} is not built\nhint: make kube-assets", file=sys.stderr)
        return _NOT_HERE
    compile_package()
    with tempfile.TemporaryDirectory(prefix="jobrelay-bench-", ignore_cleanup_errors=True) as folder:
        found = asyncio.run(compare(pathlib.Path(folder), programs, chosen))
    print(table(found))
    return 0 if all(figure.ok for figure in found) else _MISSED


if __name__ == "__main__":
    sys.exit(main())
