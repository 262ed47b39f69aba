"""`jobrelay simulate`: a fleet on virtual time in which things go wrong, and what became of the relay's promises."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.output import output_option, print_data

if TYPE_CHECKING:
    from jobrelay.simulation import Schedule

_BROKEN = 1


@click.command(short_help="Run a fleet on virtual time with faults, and check the relay's promises.")
@click.option(
    "--seeds", metavar="NUMBER", type=click.IntRange(1), default=100, show_default=True, help="How many runs."
)
@click.option("--seed", "first", metavar="SEED", type=int, help="Run this seed alone, and tell what happened.")
@click.option("--from", "start", metavar="SEED", type=int, default=0, show_default=True, help="The first seed.")
@click.option(
    "--incident", "incidents", metavar="KIND", multiple=True,
    help="Draw incidents of this kind; may be repeated. `all` means every kind.  [default: those without *]",
)  # fmt: skip
@click.option("--part", metavar="PART", help="With --seed: only these Jobs and incidents, as a story names them.")
@click.option("--incidents", "listed", is_flag=True, help="List the kinds of incidents, and do nothing else.")
@output_option("text", "json")
def simulate(
    seeds: int, first: int | None, start: int, incidents: tuple[str, ...], part: str | None, listed: bool, output: str
) -> None:
    """Run the production code of a fleet on virtual time: a management cluster, workers, and two relays.

    Each seed stands for one schedule of Jobs and incidents. At every change it is checked that no workload runs twice
    (one-run), that no mirror is created without an assignment (commit-first), that no status goes back (legal-status)
    and that no foreign Job is touched (own-only); at the end that every Job has finished (nothing-lost) and that no
    mirror is left (no-leftovers). A run that breaks a promise is shrunk to the incidents that it needs and told as a
    story, with the command that replays it. The exit code is 1 then.

    `jobrelay simulate --incidents` lists the kinds of incidents. Those with a * are drawn only if asked for: the relay
    does not keep every promise under them yet.

    \b
    jobrelay simulate --seeds 1000
    jobrelay simulate --seed 85 --incident all
    jobrelay simulate --incident wipe --incident cut
    """
    from jobrelay.simulation import DEFAULT, INCIDENTS

    if listed:
        _list_incidents(output)
        return
    _fix_hashes()
    kinds = tuple(INCIDENTS) if "all" in incidents else incidents or DEFAULT
    if unknown := sorted(set(kinds) - set(INCIDENTS)):
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(INCIDENTS)}.", param_hint="--incident")
    if part is not None and first is None:
        raise click.UsageError("--part is a part of the schedule of one --seed.")
    chosen = range(start, start + seeds) if first is None else range(first, first + 1)
    replay = " ".join(f"--incident {kind}" for kind in incidents)
    told = []
    for number, seed in enumerate(chosen):
        if number and number % 100 == 0:
            click.echo(f"{number} of {len(chosen)} runs", err=True)
        told.append(_run(seed, kinds, part, replay, tell=first is not None, quiet=output == "json"))
    broken = [each for each in told if each["broken"]]
    if output == "json":
        print_data({"runs": len(told), "broken": broken}, output)
    else:
        click.echo(f"{len(told)} runs, {len(broken)} of them broke a promise")
    sys.exit(_BROKEN if broken else 0)


def _list_incidents(output: str) -> None:
    from jobrelay.simulation import DEFAULT, INCIDENTS

    if output == "json":
        rows = [{"kind": kind, "text": text, "default": kind in DEFAULT} for kind, text in INCIDENTS.items()]
        print_data({"incidents": rows}, output)
        return
    for kind, text in INCIDENTS.items():
        click.echo(f"{kind + ('' if kind in DEFAULT else '*'):20}{text}")


def _fix_hashes() -> None:
    """Start again with fixed hashes of texts, on which the order of sets depends: a seed means the same everywhere."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {"PYTHONHASHSEED": "0"})  # noqa: S606


def _run(
    seed: int, kinds: tuple[str, ...], part: str | None, replay: str, *, tell: bool, quiet: bool
) -> dict[str, Any]:
    from jobrelay.cli.logging_setup import configure_logging
    from jobrelay.simulation import draw, name_part, play, shrink

    configure_logging("critical", "text")
    whole = draw(seed, kinds)
    schedule = _part(whole, part) if part is not None else whole
    outcome = play(schedule)
    if outcome.broken and not tell:
        schedule, outcome = shrink(schedule, outcome)
    command = f"jobrelay simulate --seed {seed} --part {name_part(whole, schedule)} {replay}".rstrip()
    if (outcome.broken or tell) and not quiet:
        click.echo("\n".join([f"seed {seed}:", *outcome.story, f"replay: {command}", ""]))
    return {
        "seed": seed,
        "broken": outcome.broken,
        "story": outcome.story,
        "replay": command,
        "digest": outcome.digest,
    }


def _part(whole: Schedule, name: str) -> Schedule:
    from jobrelay.simulation import take_part

    try:
        return take_part(whole, name)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--part") from None
