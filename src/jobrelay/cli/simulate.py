"""`jobrelay simulate`: a fleet on virtual time in which things go wrong, and what became of the relay's promises."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterable
from typing import Any

import click

from jobrelay.cli.output import output_option, print_data

_BROKEN = 1
_PROGRESS = 500
_MIXED = "mixed"


def _seeds(context: click.Context, parameter: click.Parameter, value: str) -> range:
    """The seeds that a number of them, or the first and the last one, stand for."""
    first, dash, last = value.partition("-")
    try:
        found = range(int(first), int(last) + 1) if dash else range(int(first))
    except ValueError:
        found = range(0)
    if not found:
        raise click.BadParameter(f"{value!r} is neither a number of seeds nor two of them, as in 100-199.")
    return found


@click.command(short_help="Run a fleet on virtual time with faults, and check the relay's promises.")
@click.option(
    "--seeds",
    metavar="NUMBER|A-B",
    callback=_seeds,
    default="100",
    show_default=True,
    help="How many runs, from seed 0 on, or the first and the last seed.",
)
@click.option("--seed", metavar="SEED", type=click.IntRange(0), help="Run this seed alone, and tell what happened.")
@click.option(
    "--server",
    type=click.Choice([_MIXED, "model", "embedded"]),
    default=_MIXED,
    show_default=True,
    help="The API server of the clusters: the embedded cluster's, a faster model of it, or the model except for every "
    "tenth seed.",
)
@click.option(
    "--processes", metavar="NUMBER", type=click.IntRange(1), default=lambda: os.cpu_count() or 1,
    show_default="one per processor", help="How many processes run schedules.",
)  # fmt: skip
@click.option(
    "--incident", "incidents", metavar="KIND", multiple=True,
    help="Draw incidents of this kind; may be repeated. `all` means every kind.  [default: those below without *]",
)  # fmt: skip
@output_option("text", "json")
def simulate(
    seeds: range, seed: int | None, server: str, processes: int, incidents: tuple[str, ...], output: str
) -> None:
    """Run the production code of a fleet on virtual time: a management cluster, workers, and two relays.

    Each seed stands for one schedule of Jobs and incidents. After every step it is checked that no workload runs twice
    (one-run), and at the end that every Job has finished (nothing-lost) and that no mirror is left (no-leftovers). A
    run that breaks a promise is shrunk to the incidents that it needs and told as a story. The exit code is 1 then.

    \b
    Kinds of incidents:
      cut, isolate, disturb, pause, crash, drain, lost,
      clock*, delete-mirror*, forget-assignment*, restore*
    Those with a * are drawn only if asked for: the relay does not keep every promise under them yet.

    \b
    jobrelay simulate --seeds 2000
    jobrelay simulate --seeds 5000-5999 --server embedded
    jobrelay simulate --seed 85 --incident all
    """
    _fix_hashes()
    from jobrelay.simulation import DEFAULT, INCIDENTS, run_all

    kinds = tuple(INCIDENTS) if "all" in incidents else incidents or DEFAULT
    if unknown := sorted(set(kinds) - set(INCIDENTS)):
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(INCIDENTS)}.", param_hint="--incident")
    chosen = seeds if seed is None else range(seed, seed + 1)
    run = functools.partial(_run, kinds=kinds, server=server, tell=seed is not None)
    summary = _summarize(_reported(run_all(run, chosen, processes), len(chosen), quiet=output == "json"))
    if output == "json":
        print_data(summary, output)
    else:
        hours, broken = summary["seconds"] / 3600, len(summary["broken"])
        click.echo(f"{summary['runs']} runs, {hours:.1f} h of their time, {broken} of them broke a promise")
    sys.exit(_BROKEN if summary["broken"] else 0)


def _reported(results: Iterable[dict[str, Any]], total: int, *, quiet: bool) -> Iterable[dict[str, Any]]:
    """The same results; stories of broken promises are told, and now and then how many runs are done."""
    for number, result in enumerate(results, 1):
        if number % _PROGRESS == 0 and number < total:
            click.echo(f"{number} of {total} runs", err=True)
        if result["story"] and not quiet:
            click.echo("\n".join([f"seed {result['seed']} ({result['server']}):", *result["story"], ""]))
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


def _fix_hashes() -> None:
    """Start again with fixed hashes of texts, on which the order of sets depends: a seed means the same everywhere."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {"PYTHONHASHSEED": "0"})  # noqa: S606


def _run(seed: int, *, kinds: tuple[str, ...], server: str, tell: bool) -> dict[str, Any]:
    """One run. It has a story if a promise was broken or the story was asked for."""
    from jobrelay.cli.logging_setup import configure_logging
    from jobrelay.simulation import ApiServerKind, draw, play, shrink

    configure_logging("critical", "text")
    schedule = draw(seed, kinds, None if server == _MIXED else ApiServerKind(server))
    outcome = play(schedule)
    if outcome.broken and not tell:
        schedule, outcome = shrink(schedule, outcome)
    return {
        "seed": seed,
        "server": schedule.server.value,
        "seconds": outcome.seconds,
        "broken": outcome.broken,
        "story": outcome.story if outcome.broken or tell else [],
        "digest": outcome.digest,
    }
