"""`jobrelay simulate`: a fleet on virtual time.

Without a fleet file, schedules in which things go wrong, to check the relay's promises. With one, plans: what becomes
of a trace of Jobs. With `--record`, a trace of a living relay. Options of two of these together are refused.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any, Final

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from jobrelay.cli.errors import Failure
from jobrelay.cli.management import CONTEXT, KUBECONFIG_OR_FLEET, Management
from jobrelay.cli.options import SectionedCommand, duration_seconds
from jobrelay.cli.schedules import MIXED

_SCHEDULES, _PLANS, _RECORDINGS = "Schedules with faults", "Plans from traces", "Recordings"
_SECTIONS: Final = {
    _SCHEDULES: ("seeds", "seed", "server", "processes", "incidents", "part", "listed"),
    _PLANS: ("fleet", "trace", "synthetic", "policies", "lost_timeout", "svg"),
    _RECORDINGS: ("record", "kubeconfig", "context", "namespace"),
}
_FORMATS: Final = {_SCHEDULES: ("text", "json"), _PLANS: ("table", "json"), _RECORDINGS: ()}
_FILE: Final = click.Path(path_type=pathlib.Path, dir_okay=False)


def _seeds(ctx: click.Context, param: click.Parameter, value: str) -> range:
    """The seeds that a number of them, or the first and the last one, stand for."""
    first, dash, last = value.partition("-")
    try:
        found = range(int(first), int(last) + 1) if dash else range(int(first))
    except ValueError:
        found = range(0)
    if not found:
        raise click.BadParameter(f"{value!r} is neither a number of seeds nor two of them, as in 100-199.")
    return found


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
    "--seeds", metavar="NUMBER|A-B", callback=_seeds, default="100", show_default=True,
    help="How many runs, from seed 0 on, or the first and the last seed.",
)  # fmt: skip
@click.option("--seed", metavar="SEED", type=click.IntRange(0), help="Run this seed alone, and print what happened.")
@click.option(
    "--server", type=click.Choice([MIXED, "model", "embedded"]), default=MIXED, show_default=True,
    help="The API server of the clusters: the embedded cluster's, a faster model of it, or the model except for every "
    "tenth seed.",
)  # fmt: skip
@click.option(
    "--processes", metavar="NUMBER", type=click.IntRange(1), default=lambda: os.cpu_count() or 1,
    show_default="one per processor", help="How many processes run schedules.",
)  # fmt: skip
@click.option(
    "--incident", "incidents", metavar="KIND", multiple=True,
    help="Draw incidents of this kind; may be repeated.  [default: every kind]",
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
@KUBECONFIG_OR_FLEET
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
    without an assignment (commit-first) or where its Job may not run (allowed-only), that no status goes back
    (legal-status), that no foreign Job is touched (own-only), that a loss of most workers moves nothing (bounded-blast)
    and that no worker fills a relay's memory (bounded-memory); at the end that every Job has finished (nothing-lost),
    with few writes (few-writes), and that no mirror is left (no-leftovers). A run that breaks a promise is shrunk to
    the incidents that it needs and told as a story, with the command that replays it. The exit code is 1 then.

    `jobrelay simulate --incidents` lists the kinds of incidents.

    \b
    jobrelay simulate --fleet fleet.yaml --trace jobs.csv --policy least-loaded --policy pack
    jobrelay simulate --fleet fleet.yaml --synthetic jobs=10000,load=0.9 --svg plan.svg
    jobrelay simulate --record jobs.csv
    jobrelay simulate --seeds 2000
    jobrelay simulate --seeds 5000-5999 --server embedded
    jobrelay simulate --seed 85
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
        _schedules(output or formats[0], given)


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


def _schedules(output: str, given: dict[str, Any]) -> None:
    from jobrelay.cli.schedules import ScheduleOptions, list_incidents, run_schedules

    if given["listed"]:
        list_incidents(output)
        return
    run_schedules(ScheduleOptions(**{name: given[name] for name in _SECTIONS[_SCHEDULES] if name != "listed"}), output)
