"""Compares our API server with a real one, request by request.

python -m tests.oracle.compare --real https://127.0.0.1:26000/TOKEN --ours dev.kubeconfig [--only jobs-*] [-v]
python -m tests.oracle.compare --real ... --record FILE           record the real answers
python -m tests.oracle.compare --replay FILE --ours ... [-v]      compare ours with a record
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import json
import pathlib
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import msgspec

from jobrelay.cluster.controllers.catalog import NAMES
from tools.kube.control_plane import CONTROLLERS

from . import differences, known
from .endpoint import Endpoint
from .model import Scenario
from .runner import Answer, digest, new_run, play
from .scenarios import load

AT_ONCE = 2


class Recorded(msgspec.Struct):
    digest: str
    answers: list[Answer]


Record = dict[str, Recorded]


@dataclass(frozen=True)
class Result:
    scenario: Scenario
    real: list[Answer]
    ours: list[Answer]

    def differing(self) -> list[tuple[int, list[tuple[str, str, str]]]]:
        """(step number, differences) of every step that is not identical."""
        found = [differences.between(r, o) for r, o in zip(self.real, self.ours, strict=True)]
        return [(index, one) for index, one in enumerate(found) if one]


def chosen(pattern: str) -> list[Scenario]:
    patterns = [p if any(c in p for c in "*?[") else f"*{p}*" for p in pattern.split(",")]
    return [s for s in load(slow="manifests" in pattern) if any(fnmatch.fnmatch(s.name, p) for p in patterns)]


async def compare_all(
    scenarios: Sequence[Scenario],
    real: Endpoint | Record,
    ours: Endpoint | None,
    at_once: int = AT_ONCE,
    progress: bool = False,
) -> list[Result]:
    """Plays all scenarios on both sides (a record stands in for the real server); without ours, only the real side."""
    gate = asyncio.Semaphore(at_once)

    async def one(scenario: Scenario) -> Result:
        async with gate:
            run, begin = new_run(), time.monotonic()
            theirs, mine = await asyncio.gather(_real(scenario, real, run), _ours(scenario, ours, run))
            if progress:
                print(f"{time.monotonic() - begin:6.1f} {scenario.name}", file=sys.stderr, flush=True)
            return Result(scenario, theirs, theirs if mine is None else mine)

    return list(await asyncio.gather(*(one(s) for s in scenarios)))


async def _real(scenario: Scenario, real: Endpoint | Record, run: str) -> list[Answer]:
    return await play(scenario, real, run) if isinstance(real, Endpoint) else real[scenario.name].answers


async def _ours(scenario: Scenario, ours: Endpoint | None, run: str) -> list[Answer] | None:
    return None if ours is None else await play(scenario, ours, run)


def share(results: Sequence[Result]) -> tuple[int, int]:
    total = sum(len(r.real) for r in results)
    return total - sum(len(r.differing()) for r in results), total


def as_text(results: Sequence[Result], verbose: bool) -> str:
    lines = []
    for result in sorted(results, key=lambda r: r.scenario.name):
        differing, total = result.differing(), len(result.real)
        lines.append(f"{result.scenario.name}: {total - len(differing)}/{total}")
        for index, found in differing if verbose else ():
            lines.extend(_step_lines(result, index, found))
    same, total = share(results)
    return "\n".join([*lines, f"identical: {same}/{total} ({100 * same / max(total, 1):.1f}%)"])


def _step_lines(result: Result, index: int, found: list[tuple[str, str, str]], most: int = 6) -> list[str]:
    step = result.scenario.steps[index]
    lines = [f"  #{index} {step.method} {step.path}", *([f"     body {_body(step.body)}"] if step.body else [])]
    for path, left, right in found[:most]:
        lines += [f"     {path}", f"       real: {left}", f"       ours: {right}"]
    return lines + ([f"     … {len(found) - most} more"] if len(found) > most else [])


def _body(body: object) -> str:
    text = body if isinstance(body, str) else repr(body) if isinstance(body, bytes) else json.dumps(body)
    return text if len(text) < 500 else text[:500] + "…"


def as_report(results: Sequence[Result]) -> str:
    """Markdown: differences grouped by their likely cause, the most frequent first."""
    groups: dict[str, list[tuple[Result, int, list[tuple[str, str, str]]]]] = defaultdict(list)
    for result in results:
        for index, found in result.differing():
            name = differences.signature(
                result.scenario.steps[index].method, result.real[index], result.ours[index], found
            )
            groups[name].append((result, index, found))
    same, total = share(results)
    lines = [f"# {same}/{total} identical ({100 * same / max(total, 1):.1f}%)", "", "## By scenario", ""]
    lines += [
        line
        for line in as_text(results, False).splitlines()[:-1]
        if line.split(": ")[1].split("/")[0] != line.rsplit("/")[-1]
    ]
    for name, members in sorted(groups.items(), key=lambda item: -len(item[1])):
        where = sorted({r.scenario.name for r, _, _ in members})
        lines += [
            "",
            f"## {len(members)}x {name}",
            f"in {', '.join(where[:12])}{' …' if len(where) > 12 else ''}",
            "```",
        ]
        for result, index, found in members[:4]:
            lines += [result.scenario.name, *_step_lines(result, index, found, 4)]
        lines.append("```")
    return "\n".join(lines) + "\n"


def as_json(results: Sequence[Result]) -> str:
    rows = [
        {
            "scenario": r.scenario.name,
            "step": i,
            "method": r.scenario.steps[i].method,
            "path": r.scenario.steps[i].path,
            "differences": [list(d) for d in found],
        }
        for r in results
        for i, found in r.differing()
    ]
    same, total = share(results)
    return json.dumps({"identical": same, "total": total, "differing": rows}, indent=1)


def read_record(path: pathlib.Path, scenarios: Sequence[Scenario]) -> tuple[Record, list[Scenario]]:
    """A record and the scenarios that it holds unchanged."""
    record = msgspec.json.decode(path.read_bytes(), type=Record) if path.exists() else {}
    return record, [s for s in scenarios if s.name in record and record[s.name].digest == digest(s)]


SAME_CONTROLLERS = ",".join(sorted({*CONTROLLERS} & {*NAMES}))
"""Those that run behind the real server: others would change objects that are compared."""


async def _server(stack: AsyncExitStack, text: str) -> Endpoint:
    """`embedded` is a fresh in-memory cluster of the code at hand, in this process."""
    if text == "embedded":
        from jobrelay.cluster.cluster import Cluster

        cluster = await stack.enter_async_context(Cluster("compared", controllers=SAME_CONTROLLERS))
        text = str(cluster.kubeconfig)
    return await stack.enter_async_context(Endpoint.from_text(text))


async def _main(options: argparse.Namespace) -> int:
    scenarios = chosen(options.only)
    if options.list:
        print("\n".join(f"{s.name} {len(s.steps)}" for s in scenarios), sum(len(s.steps) for s in scenarios), sep="\n")
        return 0
    async with AsyncExitStack() as stack:
        ours = await _server(stack, options.ours) if options.ours else None
        real: Endpoint | Record
        if options.replay:
            real, unchanged = read_record(options.replay, scenarios)
            if stale := len(scenarios) - len(unchanged):
                print(f"{stale} scenarios are not in the record or have changed since", file=sys.stderr)
            scenarios = unchanged
        else:
            real = await stack.enter_async_context(Endpoint.from_text(options.real))
        results = await compare_all(scenarios, real, ours, options.at_once, options.progress)
    if options.record:
        record, _ = read_record(options.record, scenarios)
        record |= {r.scenario.name: Recorded(digest(r.scenario), r.real) for r in results}
        options.record.write_bytes(msgspec.json.encode(record))
    for path, text in ((options.json, as_json), (options.report, as_report)):
        if path:
            path.write_text(text(results), encoding="utf-8", errors="replace")
    print(as_text(results, options.verbose))
    played = {result.scenario.name for result in results}
    problems = known.problems(known.load(), known.differing(results), played) if ours is not None else []
    print("\n".join(problems or ["what differs is on the list"]))
    return 1 if problems else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", help="URL/TOKEN or kubeconfig of the real server")
    parser.add_argument("--ours", help="kubeconfig (or URL/TOKEN) of our server, or 'embedded'")
    parser.add_argument("--only", default="*", help="comma separated patterns or parts of scenario names")
    parser.add_argument("--record", type=pathlib.Path, help="add the real answers to this file")
    parser.add_argument("--replay", type=pathlib.Path, help="take the real answers from this file")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path, help="write differences grouped by likely cause (markdown)")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--progress", action="store_true", help="tell each scenario and its seconds on stderr")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    if not (options.real or options.replay or options.list):
        parser.error("--real or --replay is needed")
    sys.exit(asyncio.run(_main(options)))


if __name__ == "__main__":
    main()
