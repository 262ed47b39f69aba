"""Schedules with faults: runs them, prints the events that led to broken promises, and sums up."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.output import print_data

if TYPE_CHECKING:
    from jobrelay.simulation import Schedule

MIXED = "mixed"
_BROKEN = 1
_PROGRESS = 500
_RUNS_EACH = 10
"""So many runs are made by one process."""


@dataclass(frozen=True, slots=True)
class ScheduleOptions:
    """What to run: some seeds, or one whose events are printed."""

    seeds: range
    seed: int | None
    server: str
    processes: int
    incidents: tuple[str, ...]
    part: str | None


def run_schedules(options: ScheduleOptions, output: str) -> None:
    """Run schedules and exit: with 1 if one of them broke a promise."""
    _fix_hashes()
    from jobrelay.simulation import INCIDENTS

    kinds = options.incidents or tuple(INCIDENTS)
    if unknown := sorted(set(kinds) - set(INCIDENTS)):
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(INCIDENTS)}.", param_hint="--incident")
    if options.part is not None and options.seed is None:
        raise click.UsageError("--part is a part of the schedule of one --seed.")
    chosen = options.seeds if options.seed is None else range(options.seed, options.seed + 1)
    run = functools.partial(_run, options=options, kinds=kinds)
    results = map(run, chosen) if len(chosen) <= _RUNS_EACH else _run_many(run, chosen, options.processes)
    summary = _summarize(_reported(results, len(chosen), quiet=output == "json"))
    if output == "json":
        print_data(summary, output)
    else:
        hours, broken = summary["seconds"] / 3600, len(summary["broken"])
        click.echo(f"{summary['runs']} runs, {hours:.1f} h of their time, {broken} of them broke a promise")
    sys.exit(_BROKEN if summary["broken"] else 0)


def _run_many(run: Callable[[int], dict[str, Any]], seeds: range, processes: int) -> Iterator[dict[str, Any]]:
    """Run seeds in processes of their own. One run comes before, in this one: what it has loaded is there for all."""
    from jobrelay.simulation import leave_runs, run_all

    run(seeds[0])
    return run_all(run, seeds, processes, runs_each=_RUNS_EACH, prepare=leave_runs)


def list_incidents(output: str) -> None:
    """Print the kinds of incidents."""
    from jobrelay.simulation import INCIDENTS

    if output == "json":
        rows = [{"kind": kind, "text": text} for kind, text in INCIDENTS.items()]
        print_data({"incidents": rows}, output)
        return
    for kind, text in INCIDENTS.items():
        click.echo(f"{kind:20}{text}")


def _fix_hashes() -> None:
    """Start again with fixed hashes of texts, on which the order of sets depends: a seed means the same everywhere."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        again = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, again, os.environ | {"PYTHONHASHSEED": "0"})  # noqa: S606


def _reported(results: Iterable[dict[str, Any]], total: int, *, quiet: bool) -> Iterable[dict[str, Any]]:
    """The same results; prints the events of broken promises, and now and then how many runs are done."""
    for number, result in enumerate(results, 1):
        if number % _PROGRESS == 0 and number < total:
            click.echo(f"{number} of {total} runs", err=True)
        if (result["story"] or result["broken"]) and not quiet:
            title, replay = f"seed {result['seed']} ({result['server']}):", f"replay: {result['replay']}"
            click.echo("\n".join([title, *result["story"], replay, ""]))
        yield result


def _summarize(results: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What all runs came to; the digest is equal for equal runs."""
    digest = hashlib.sha256()
    runs, seconds, broken = 0, 0.0, []
    for result in results:
        digest.update(result["digest"].encode())
        runs, seconds = runs + 1, seconds + result["seconds"]
        if result["broken"]:
            broken.append(result)
    return {"runs": runs, "seconds": round(seconds, 3), "digest": digest.hexdigest(), "broken": broken}


def _run(seed: int, *, options: ScheduleOptions, kinds: tuple[str, ...]) -> dict[str, Any]:
    """One run. It has a story if a promise was broken or the story was asked for."""
    from jobrelay.cli.logging_setup import configure_logging
    from jobrelay.simulation import ApiServerKind, draw, name_part, play, shrink

    configure_logging("critical", "text")
    tell = options.seed is not None
    whole = draw(seed, kinds, None if options.server == MIXED else ApiServerKind(options.server))
    schedule = _part(whole, options.part) if options.part is not None else whole
    outcome = play(schedule)
    if outcome.broken and not tell:
        schedule, outcome = shrink(schedule, outcome)
    asked = "".join(f" --incident {kind}" for kind in options.incidents)
    server = "" if options.server == MIXED else f" --server {options.server}"
    return {
        "seed": seed,
        "server": schedule.server.value,
        "seconds": outcome.seconds,
        "broken": outcome.broken,
        "story": outcome.story if outcome.broken or tell else [],
        "replay": f"jobrelay simulate --seed {seed} --part {name_part(whole, schedule)}{asked}{server}",
        "digest": outcome.digest,
    }


def _part(whole: Schedule, name: str) -> Schedule:
    from jobrelay.simulation import take_part

    try:
        return take_part(whole, name)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--part") from None
