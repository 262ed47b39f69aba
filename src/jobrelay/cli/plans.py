"""Plans of `jobrelay simulate`: runs a trace on a fleet under policies, and shows the results."""

from __future__ import annotations

import gc
import pathlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.output import print_data, print_table

if TYPE_CHECKING:
    from jobrelay.planning import FleetDescription, PlanResult, Trace

_EVERY: Final = 10.0
"""Seconds between two lines about the progress."""
_FIRST: Final = 2.0
"""Seconds until the first one."""
_MOST_NAMESPACES: Final = 20


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What the options say about a plan."""

    fleet: pathlib.Path
    trace: pathlib.Path | None
    synthetic: str | None
    policies: Sequence[str]
    lost_timeout: float
    svg: pathlib.Path | None


def run_plans(options: PlanOptions, output: str) -> None:
    """Run the plan of each policy and print the results; Ctrl-C ends it with code 130."""
    from jobrelay.planning import PlanError
    from jobrelay.relay.placement import PolicyError

    gc.set_threshold(200_000, 50, 100)  # with the defaults the collector visits a million Jobs far too often
    try:
        fleet, trace = _read(options)
        results = [_run(fleet, trace, policy, options.lost_timeout) for policy in _policies(options.policies)]
    except PlanError as error:
        raise Failure(str(error), error.hint) from error
    except PolicyError as error:
        raise Failure(str(error), "docs/reference/placement.md lists the policies") from error
    except KeyboardInterrupt:
        click.echo("interrupted; nothing is shown", err=True)
        raise click.exceptions.Exit(130) from None
    if options.svg is not None:
        _write_picture(options.svg, fleet, trace, results)
    _print(results, output)


def _read(options: PlanOptions) -> tuple[FleetDescription, Trace]:
    from jobrelay.planning import SyntheticTrace, parse_synthetic, read_fleet, read_trace

    fleet = read_fleet(options.fleet)
    if options.trace is not None:
        return fleet, read_trace(options.trace)
    return fleet, SyntheticTrace(parse_synthetic(options.synthetic or ""), fleet)


def _policies(given: Sequence[str]) -> list[str]:
    """The policies, all of which are checked before the first one is run."""
    from jobrelay.relay.placement import DEFAULT_POLICY, parse_policy

    policies = list(dict.fromkeys(given)) or [DEFAULT_POLICY]
    for policy in policies:
        parse_policy(policy)
    return policies


def _run(fleet: FleetDescription, trace: Trace, policy: str, lost_timeout: float) -> PlanResult:
    from jobrelay.planning import run_plan

    return run_plan(fleet, trace, policy, lost_timeout=lost_timeout, progress=_progress(policy, len(trace)))


def _progress(policy: str, jobs: int) -> Callable[[int], None]:
    told = time.monotonic() - _EVERY + _FIRST

    def progress(done: int) -> None:
        nonlocal told
        if done % 1000 == 0 and time.monotonic() - told >= _EVERY:
            told = time.monotonic()
            click.echo(f"{policy}: {done:,} of {jobs:,} Jobs", err=True)

    return progress


def _write_picture(path: pathlib.Path, fleet: FleetDescription, trace: Trace, results: Sequence[PlanResult]) -> None:
    from jobrelay.planning.picture import draw_plan

    note = f"{len(trace):,} Jobs on {len(fleet.workers):,} workers"
    try:
        path.write_text(draw_plan(results, note))
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error}") from error
    click.echo(f"wrote {path}", err=True)


def _print(results: Sequence[PlanResult], output: str) -> None:
    if output == "json":
        print_data([_data(result) for result in results], output)
        return
    rows = [_row(result) for result in results]
    print_table(rows, list(rows[0]))
    click.echo()
    spaces = _namespace_rows(results)
    print_table(spaces[:_MOST_NAMESPACES], list(spaces[0]) if spaces else ["namespace"])
    if len(spaces) > _MOST_NAMESPACES:
        click.echo(f"{len(spaces) - _MOST_NAMESPACES} more namespaces are in -o json", err=True)
    for result in results:
        if result.unfinished:
            click.echo(f"note: {result.policy}: {result.unfinished} Jobs have no worker: {result.why}", err=True)


def _row(result: PlanResult) -> dict[str, Any]:
    from jobrelay.planning.picture import duration

    return {
        "policy": result.policy,
        "jobs": result.jobs - result.unfinished,
        "wait mean": duration(result.wait_mean),
        "wait p50": duration(result.wait(0.5)),
        "wait p95": duration(result.wait(0.95)),
        "wait max": duration(result.wait(1.0)),
        "slowdown": f"{result.slowdown:.2f}",
        **{f"{name} use": f"{100 * share:.0f} %" for name, share in result.use.items()},
        "moves": result.moves,
        "repeated": f"{result.repeated:.1f} cpu h",
        "fairness": f"{result.fairness:.3f}",
        "makespan": duration(result.makespan),
    }


def _namespace_rows(results: Sequence[PlanResult]) -> list[dict[str, Any]]:
    """Each namespace, with its mean waiting time and slowdown under each policy."""
    from jobrelay.planning.picture import duration

    rows: dict[str, dict[str, Any]] = {}
    for result in results:
        for one in result.namespaces:
            row = rows.setdefault(one.namespace, {"namespace": one.namespace, "jobs": one.jobs})
            row[result.policy] = f"{duration(one.wait_mean)} (×{one.slowdown:.2f})"
    blank = dict.fromkeys(result.policy for result in results)
    return [{"namespace": name, "jobs": row["jobs"]} | blank | row for name, row in sorted(rows.items())]


def _data(result: PlanResult) -> dict[str, Any]:
    import msgspec

    waits = {
        "mean": result.wait_mean,
        **{f"p{share}": result.wait(share / 100) for share in (50, 90, 95, 99)},
        "max": result.wait(1.0),
    }
    shown: dict[str, Any] = msgspec.to_builtins(result)
    return shown | {"waits": waits}
