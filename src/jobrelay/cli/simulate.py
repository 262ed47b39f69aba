"""`jobrelay simulate`: a fleet on virtual time.

Without a fleet file, schedules in which things go wrong, to check the relay's promises. With one, plans: what becomes
of a trace of Jobs. With `--record`, a trace of a living relay. Options of two of these together are refused.
"""

from __future__ import annotations

import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from jobrelay.cli.errors import Failure
from jobrelay.cli.management import CONTEXT, KUBECONFIG, Management
from jobrelay.cli.options import SectionedCommand, duration_seconds
from jobrelay.cli.output import print_data

if TYPE_CHECKING:
    from jobrelay.simulation import Schedule

_BROKEN = 1
_SCHEDULES, _PLANS, _RECORDINGS = "Schedules with faults", "Plans from traces", "Recordings"
_SECTIONS: Final = {
    _SCHEDULES: ("seeds", "first", "start", "incidents", "part", "listed"),
    _PLANS: ("fleet", "trace", "synthetic", "policies", "lost_timeout", "svg"),
    _RECORDINGS: ("record", "kubeconfig", "context", "namespace"),
}
_FORMATS: Final = {_SCHEDULES: ("text", "json"), _PLANS: ("table", "json"), _RECORDINGS: ()}
_FILE: Final = click.Path(path_type=pathlib.Path, dir_okay=False)


def _complete_policy(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of policies, after the last comma of what is written."""
    from jobrelay.relay.placement.plugins import PolicyPlugins
    from jobrelay.relay.placement.scores import SCORES

    before, comma, begun = incomplete.rpartition(",")
    names = sorted({"fit", "overflow", *SCORES, *PolicyPlugins().names})
    return [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(begun)]


@click.command(
    cls=SectionedCommand, sections=_SECTIONS, short_help="Run a fleet on virtual time: with faults, or for a plan."
)
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
@click.option("--fleet", type=_FILE, metavar="FILE", help="The workers of a plan, as YAML.")
@click.option("--trace", type=_FILE, metavar="FILE", help="The Jobs of a plan, as CSV.")
@click.option(
    "--synthetic", metavar="SPEC",
    help="Draw the Jobs instead: jobs=N, seed=N, load=SHARE or rate=JOBS_PER_SECOND, duration=TIME, templates=N, "
    "namespaces=N, with commas.",
)  # fmt: skip
@click.option(
    "--policy", "policies", metavar="NAME", multiple=True, shell_complete=_complete_policy,
    help="A placement policy; may be repeated to compare some.  [default: that of the relay]",
)  # fmt: skip
@click.option(
    "--worker-lost-timeout", "lost_timeout", metavar="DURATION", default="15m", show_default=True,
    callback=duration_seconds, help="When the Jobs of a worker that is out of reach start elsewhere.",
)  # fmt: skip
@click.option("--svg", type=_FILE, metavar="FILE", help="Write a picture: waiting times, and the use of workers.")
@click.option(
    "--record", type=_FILE, metavar="FILE", help="Write the Jobs of a management cluster as a trace; - is stdout."
)
@KUBECONFIG
@CONTEXT
@click.option("-n", "--namespace", metavar="NS", help="Only the Jobs of this namespace.  [default: all]")
@click.option(
    "-o", "--output", type=click.Choice(["text", "table", "json"]),
    help="Output format.  [default: text for schedules, table for plans]",
)  # fmt: skip
@click.pass_context
def simulate(ctx: click.Context, /, output: str | None, **given: Any) -> None:
    """Run the production code of a fleet on virtual time.

    With --fleet, a plan: the relay's own placement puts the Jobs of a trace on the workers of a fleet file, and waiting
    times, use, moves and fairness are shown for each policy. --record makes such a trace of what a relay has done.

    Without, schedules with faults: a management cluster, workers, and two relays. Each seed stands for one schedule of
    Jobs and incidents. At every change it is checked that no workload runs twice (one-run), that no mirror is created
    without an assignment (commit-first), that no status goes back (legal-status) and that no foreign Job is touched
    (own-only); at the end that every Job has finished (nothing-lost) and that no mirror is left (no-leftovers). A run
    that breaks a promise is shrunk to the incidents that it needs and told as a story, with the command that replays
    it. The exit code is 1 then.

    `jobrelay simulate --incidents` lists the kinds of incidents. Those with a * are drawn only if asked for: the relay
    does not keep every promise under them yet.

    \b
    jobrelay simulate --fleet fleet.yaml --trace jobs.csv --policy least-loaded --policy pack
    jobrelay simulate --fleet fleet.yaml --synthetic jobs=10000,load=0.9 --svg plan.svg
    jobrelay simulate --record jobs.csv
    jobrelay simulate --seeds 1000
    jobrelay simulate --seed 85 --incident all
    jobrelay simulate --incident wipe --incident cut
    """
    section = _section(ctx)
    formats = _FORMATS[section]
    if output is not None and output not in formats:
        known = " or ".join(f"-o {each}" for each in formats) or "no -o"
        raise Failure(f"{section.lower()} have no output format {output}", f"use {known}")
    if section == _PLANS:
        _plan(output or formats[0], given)
    elif section == _RECORDINGS:
        from jobrelay.cli.recording import record

        if given["record"] is None:
            raise Failure("a recording needs a file", "write for example --record jobs.csv")
        record(given["record"], Management(given["kubeconfig"], given["context"]), given["namespace"])
    else:
        _schedules(output or formats[0], **{name: given[name] for name in _SECTIONS[_SCHEDULES]})


def _section(ctx: click.Context) -> str:
    """What the options ask for; options of two sections are refused."""
    asked = {
        section: [name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        for section, names in _SECTIONS.items()
    }
    found = [section for section, names in asked.items() if names]
    options = {param.name: param.opts[-1] for param in ctx.command.params}
    if len(found) > 1:
        one, other = (options[asked[section][0]] for section in found[:2])
        raise Failure(
            f"{one} and {other} do not go together: {found[0].lower()} and {found[1].lower()} are different runs",
            "leave out one of them; `jobrelay simulate --help` lists which options belong together",
        )
    return found[0] if found else _SCHEDULES


def _plan(output: str, given: dict[str, Any]) -> None:
    from jobrelay.cli.plans import PlanOptions, run_plans

    example = "write for example --fleet fleet.yaml --trace jobs.csv, or --fleet fleet.yaml --synthetic jobs=1000"
    if given["fleet"] is None:
        raise Failure("a plan needs a fleet", example)
    if given["trace"] is None and given["synthetic"] is None:
        raise Failure("a plan needs Jobs", example)
    if given["trace"] is not None and given["synthetic"] is not None:
        raise Failure(
            "--trace and --synthetic do not go together: both say which Jobs there are", "leave out one of them"
        )
    run_plans(PlanOptions(**{name: given[name] for name in _SECTIONS[_PLANS]}), output)


def _schedules(
    output: str,
    seeds: int,
    first: int | None,
    start: int,
    incidents: tuple[str, ...],
    part: str | None,
    listed: bool,
) -> None:
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
