"""`jobrelay conformance run`: submits Jobs to a controller and judges how it runs them."""

from __future__ import annotations

import asyncio
import pathlib
import signal
import threading
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from jobrelay.cli.conformance.cluster import CONTEXT, KUBECONFIG
from jobrelay.cli.errors import Failure
from jobrelay.cli.management import run as run_command
from jobrelay.cli.options import duration_seconds
from jobrelay.cli.output import output_option, print_data, print_table

if TYPE_CHECKING:
    from jobrelay.conformance import ConformanceReport, RunOptions, ScenarioResult

_LEVELS = ("observes", "runs", "complete")
_FILE = click.Path(path_type=pathlib.Path, dir_okay=False)
_PODS = {"auto": None, "play": True, "leave": False}


def _complete_scenario(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from jobrelay.conformance import SCENARIOS

    return [CompletionItem(each.name, help=each.summary) for each in SCENARIOS if each.name.startswith(incomplete)]


def _complete_manager(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER
    from jobrelay.workloads.names import MULTIKUEUE, RELAY

    return [CompletionItem(name) for name in (BUILT_IN_CONTROLLER, RELAY, MULTIKUEUE) if name.startswith(incomplete)]


def _labels(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    if wrong := next((key for key, equals, _ in pairs if not key or not equals), None):
        raise click.BadParameter(f"{wrong!r} is not a label; write KEY=VALUE.")
    return {key: value for key, _, value in pairs}


@click.command(short_help="Submit Jobs to a controller and judge what becomes of them.")
@click.option(
    "--managed-by", metavar="VALUE", default="kubernetes.io/job-controller", show_default=True,
    shell_complete=_complete_manager,
    help="The controller, as managedBy names it; the default is the built-in one, whose Jobs have no managedBy.",
)  # fmt: skip
@click.option("--level", type=click.Choice(_LEVELS), default="complete", show_default=True, help="What is asked for.")
@click.option(
    "--only", "only", metavar="SCENARIO", multiple=True, shell_complete=_complete_scenario,
    help="Play only this scenario; may be repeated.",
)  # fmt: skip
@click.option("--list", "listed", is_flag=True, help="List the scenarios, and do nothing else.")
@click.option(
    "-n", "--namespace", metavar="NS", help="Work in this namespace, which exists.  [default: one that is made]"
)
@click.option(
    "--pods", type=click.Choice(list(_PODS)), default="auto", show_default=True,
    help="Whether the run plays the pods of its Jobs, or leaves them to the cluster's nodes; auto plays them if there "
    "are no nodes.",
)  # fmt: skip
@click.option(
    "--label", "labels", metavar="KEY=VALUE", multiple=True, callback=_labels,
    help="A label that the controller's Jobs need, such as the name of a queue; may be repeated.",
)  # fmt: skip
@click.option("--image", metavar="IMAGE", default="busybox", show_default=True, help="The image of pods; it has sh.")
@click.option(
    "--parallel", metavar="NUMBER", type=click.IntRange(1, 50), default=24, show_default=True,
    help="How many scenarios are played at the same time.",
)  # fmt: skip
@click.option(
    "--patience", metavar="DURATION", default="30s", show_default=True, callback=duration_seconds,
    help="How long the controller has for each thing that a scenario waits for.",
)  # fmt: skip
@click.option(
    "--timeout", metavar="DURATION", default="10m", show_default=True, callback=duration_seconds,
    help="How long the whole run may take.",
)  # fmt: skip
@click.option("--junit", type=_FILE, metavar="FILE", help="Write the results as JUnit's XML.")
@click.option("--badge", type=_FILE, metavar="FILE", help="Write a badge with the level as SVG.")
@output_option("table", "json")
@KUBECONFIG
@CONTEXT
def run(output: str, junit: pathlib.Path | None, badge: pathlib.Path | None, **given: Any) -> None:
    """Submit Jobs to a controller, one for each feature of the Job API, and judge what becomes of them.

    Every status is checked against the rules of the API server and against what a correct controller writes; the end
    of every Job against how its pods ended. The exit code is 1 if the level that was asked for is not reached.

    The run makes a namespace of its own and removes it, also after Ctrl-C; the next run or `jobrelay conformance
    clean` removes what a crashed one has left. A controller that does not serve new namespaces gets its Jobs in the
    one that --namespace names.

    \b
    jobrelay conformance run
    jobrelay conformance run --managed-by example.com/jobs --level runs
    jobrelay conformance run --only plain --only indexed -o json
    jobrelay conformance run --junit conformance.xml --badge conformance.svg
    jobrelay conformance run --list
    """
    if given["listed"]:
        _list(output)
        return
    if badge is not None and given["only"]:
        raise Failure("--badge and --only do not go together: some scenarios make no level", "leave out one of them")
    options = _options(given)
    try:
        report = run_command(_run(options, given["kubeconfig"], given["context"], len(options.scenarios)))
    except asyncio.CancelledError:
        raise click.exceptions.Exit(143) from None  # SIGTERM; what the run has made is removed
    _write_files(report, junit, badge)
    if output == "json":
        print_data(report.as_json(), output)
    else:
        _print(report)
    if not report.passed:
        raise click.exceptions.Exit(1)


def _options(given: dict[str, Any]) -> RunOptions:
    from jobrelay.conformance import SCENARIOS, Level, RunOptions
    from jobrelay.kinds.batch.job.validation import managed_by_errors

    manager, only = given["managed_by"], frozenset(given["only"])
    if errors := managed_by_errors(manager):
        raise Failure(
            f"no Job can have managedBy {manager!r}: {errors[0].body()}", "write for example example.com/jobs"
        )
    if unknown := sorted(only - {each.name for each in SCENARIOS}):
        raise Failure(f"there is no scenario {unknown[0]!r}", "`jobrelay conformance run --list` lists them")
    level = max(Level[given["level"].upper()], *(each.level for each in SCENARIOS if each.name in only), Level.NONE)
    return RunOptions(
        manager, level, only, given["namespace"], _PODS[given["pods"]], given["parallel"], given["timeout"],
        given["patience"], given["image"], given["labels"],
    )  # fmt: skip


async def _run(
    options: RunOptions, kubeconfig: pathlib.Path | None, context: str | None, total: int
) -> ConformanceReport:
    from jobrelay.conformance import ConformanceRun
    from jobrelay.kube import connect

    done = 0

    def progress(result: ScenarioResult) -> None:
        nonlocal done
        done += 1
        click.echo(f"{done:>3}/{total}  {_line(result, options)}", err=True)

    _cancel_on_sigterm()
    async with connect(kubeconfig, context, user_agent="jobrelay-conformance") as client:
        click.echo(f"judging {options.managed_by} by {total} scenarios", err=True)
        return await ConformanceRun(client, options, progress=progress).run()


def _cancel_on_sigterm() -> None:
    """Have SIGTERM do what Ctrl-C does: the run is cancelled, and cleans up."""
    running = asyncio.current_task()
    if running is not None and threading.current_thread() is threading.main_thread():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)


def _line(result: ScenarioResult, options: RunOptions) -> str:
    broken = ", ".join(each.rule.name for each in result.broken_at(options.level))
    return f"{result.scenario.name:<20} {result.outcome(options.level)}{f' {broken}' if broken else ''}"


def _write_files(report: ConformanceReport, junit: pathlib.Path | None, badge: pathlib.Path | None) -> None:
    from jobrelay.conformance import badge_svg, junit_xml

    for path, make in ((junit, junit_xml), (badge, badge_svg)):
        if path is not None:
            try:
                path.write_text(make(report), encoding="utf-8")
            except OSError as error:
                raise Failure(f"{path} cannot be written: {error}") from error


def _print(report: ConformanceReport) -> None:
    rows = [
        {
            "scenario": each.scenario.name,
            "level": str(each.scenario.level),
            "result": each.outcome(report.wanted),
            "rules": ", ".join(one.rule.name for one in each.violations) or None,
            "seconds": f"{each.seconds:.1f}",
        }
        for each in report.results
    ]
    print_table(rows, ["scenario", "level", "result", "rules", "seconds"])
    for each in report.results:
        _print_story(each)
    passed = sum(each.outcome(report.wanted) == "passed" for each in report.results)
    reached = f"level {report.level}" if report.whole else "no level, since only some scenarios were played"
    click.echo(f"\n{report.managed_by}: {reached}; {passed} of {len(rows)} scenarios passed in {report.seconds:.0f} s")


def _print_story(result: ScenarioResult) -> None:
    """Why a scenario was not passed, or what is wrong at a level above the one that was asked for."""
    if not (result.violations or result.skipped or result.error):
        return
    click.echo(f"\n{result.scenario.name}: {result.scenario.summary}")
    for each in result.violations:
        click.echo(f"  {each.rule.name}  {each.rule.meaning} (level {max(each.rule.level, result.scenario.level)})")
        click.echo(f"      {each.story}")
    for text in filter(None, (result.skipped, result.error)):
        click.echo(f"  {text}")
    for step in result.steps if result.violations else ():
        click.echo(f"      {step}")


def _list(output: str) -> None:
    from jobrelay.conformance import SCENARIOS

    rows = [
        {"name": each.name, "level": str(each.level), "feature": each.feature, "summary": each.summary}
        for each in SCENARIOS
    ]
    if output == "json":
        print_data(rows, output)
    else:
        print_table(rows, ["name", "level", "feature", "summary"])
