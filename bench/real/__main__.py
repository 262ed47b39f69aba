"""Measures the relay on real clusters, and embedded clusters beside real ones, in one run of a few minutes.

Prints a table, writes JSON and an SVG plot, and exits with 1 if a figure misses its target. docs/benchmarks.md explains
the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from typing import Any, Final

from bench.process import ROOT
from bench.real.figures import figures
from bench.real.measure import Plan, run
from bench.real.picture import picture
from bench.real.runs import Runs
from bench.report import Figure, table
from tools.kube import assets

_FOLDER: Final = ROOT / "build" / "bench-real"
_MISSED: Final = 1
_NOT_HERE: Final = 2


def main() -> int:
    chosen = _arguments()
    programs = assets.find()
    if programs is None:
        print(f"error: Kubernetes {assets.version()} is not built\nhint: make kube-assets", file=sys.stderr)
        return _NOT_HERE
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that every block is left
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="jobrelay-bench-", dir=chosen.dir) as folder:
        runs = run(Plan(pathlib.Path(folder), programs, chosen.jobs, chosen.rounds))
    found = figures(runs)
    print(table(found))
    _write(chosen.json, json.dumps({"machine": _machine(), "figures": _rows(found), "runs": asdict(runs)}, indent=2))
    _write(chosen.svg, picture(runs, _note(runs)))
    print(f"took {time.monotonic() - begin:.0f} s; wrote {chosen.json} and {chosen.svg}", file=sys.stderr)
    return 0 if all(figure.ok for figure in found) else _MISSED


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.real", description=__doc__)
    parser.add_argument(
        "--json", type=pathlib.Path, default=_FOLDER / "figures.json", help="where all runs are written"
    )
    parser.add_argument("--svg", type=pathlib.Path, default=_FOLDER / "figures.svg", help="where the plot is written")
    parser.add_argument("--jobs", type=int, default=400, help="Jobs per turn")
    parser.add_argument("--rounds", type=int, default=3, help="how often the kinds of clusters take turns")
    parser.add_argument("--dir", default=None, help="where the clusters keep their data (a temporary folder otherwise)")
    return parser.parse_args()


def _machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory": memory,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "kubernetes": assets.version(),
    }


def _note(runs: Runs) -> str:
    jobs, rounds = runs.lives[0].jobs, len(runs.of("relay"))
    return (
        f"{os.cpu_count()} cores for everything, Kubernetes {assets.version()}; one-pod Jobs that end at once, "
        f"{jobs} per run; median of {rounds} runs (dots)"
    )


def _rows(found: list[Figure]) -> list[dict[str, Any]]:
    return [{**asdict(figure), "ok": figure.ok} for figure in found]


def _write(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted; everything has ended", file=sys.stderr)
        sys.exit(130)
