"""`jobrelay conformance watch`: audits the statuses of all Jobs, of a living cluster or of a recording."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import pathlib
import sys
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, nullcontext
from typing import IO, TYPE_CHECKING

import click

from jobrelay.cli.conformance.cluster import CONTEXT, KUBECONFIG
from jobrelay.cli.errors import Failure
from jobrelay.cli.management import run as run_command
from jobrelay.cli.options import duration_seconds
from jobrelay.cli.output import output_option

if TYPE_CHECKING:
    from jobrelay.cli.conformance.audit import JobAudit
    from jobrelay.conformance import AuditFinding, Auditor
    from jobrelay.control.probe_server import ProbeServer

_FILE = click.Path(path_type=pathlib.Path, dir_okay=False, allow_dash=True)
_STDIO = pathlib.Path("-")


def _address(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, int] | None:
    if value is None:
        return None
    host, colon, port = value.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is not an address; write for example 127.0.0.1:9090.")
    return host.strip("[]"), int(port)


@click.command(short_help="Audit the statuses of all Jobs, without writing anything.")
@click.option("-n", "--namespace", metavar="NS", help="Only the Jobs of this namespace.  [default: all]")
@click.option("--record", type=_FILE, metavar="FILE", help="Also write all statuses to a file that --replay reads.")
@click.option(
    "--replay", type=_FILE, metavar="FILE",
    help="Audit a file instead: a recording, watch events, or an audit log of an API server; - is stdin.",
)  # fmt: skip
@click.option(
    "--listen", metavar="HOST:PORT", callback=_address, help="Serve /metrics, /healthz and /readyz at this address."
)
@click.option(
    "--for", "seconds", metavar="DURATION", callback=duration_seconds, default="0s",
    help="How long to watch.  [default: until Ctrl-C]",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Also judge by what only the level complete asks for: C1.")
@output_option("text", "json")
@KUBECONFIG
@CONTEXT
def watch(
    namespace: str | None,
    record: pathlib.Path | None,
    replay: pathlib.Path | None,
    listen: tuple[str, int] | None,
    seconds: float,
    strict: bool,
    output: str,
    kubeconfig: pathlib.Path | None,
    context: str | None,
) -> None:
    """Watch the statuses of all Jobs and print each step that is illegal or suspicious.

    A finding has the controller, the rule and the two statuses. Steps are illegal by the rules of the API server (S1
    to S34), suspicious if a correct controller would not write them (C1 to C14). Nothing is written to the cluster; the
    right to list and watch Jobs is enough. The exit code is 1 if something was found.

    \b
    jobrelay conformance watch
    jobrelay conformance watch --for 1h --record jobs.jsonl --listen 127.0.0.1:9090
    jobrelay conformance watch --replay jobs.jsonl -o json
    """
    from jobrelay.conformance import Auditor, Level

    if replay is not None and (record is not None or listen is not None or seconds or namespace):
        raise Failure("--replay reads a file and takes no other option of a watch", "leave out the other options")
    auditor = Auditor(Level.COMPLETE if strict else Level.OBSERVES)
    if replay is not None:
        _replay(replay, auditor, output)
    else:
        run_command(_watch(auditor, _Watch(namespace, record, listen, seconds, output, kubeconfig, context)))
    _print_summary(auditor)
    if auditor.violations:
        raise click.exceptions.Exit(1)


def _replay(path: pathlib.Path, auditor: Auditor, output: str) -> None:
    from jobrelay.conformance import RecordingError, replay

    try:
        with ExitStack() as stack:
            lines: IO[bytes] = sys.stdin.buffer if path == _STDIO else stack.enter_context(path.open("rb"))
            for finding in replay(lines, auditor):
                _print_finding(finding, output)
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error}", "name a file that --record has written") from error
    except RecordingError as error:
        raise Failure(f"{path}: {error}", "name a recording, watch events as JSON, or an audit log") from error


@dataclasses.dataclass(frozen=True, slots=True)
class _Watch:
    """What to watch, for how long, and what to do besides."""

    namespace: str | None
    record: pathlib.Path | None
    listen: tuple[str, int] | None
    seconds: float
    output: str
    kubeconfig: pathlib.Path | None
    context: str | None


async def _watch(auditor: Auditor, asked: _Watch) -> None:
    """Audit until the time is over or Ctrl-C."""
    from jobrelay.cli.conformance.audit import JobAudit
    from jobrelay.kube import connect

    async with AsyncExitStack() as stack:
        file = stack.enter_context(_opened(asked.record)) if asked.record is not None else None
        client = await stack.enter_async_context(
            connect(asked.kubeconfig, asked.context, user_agent="jobrelay-conformance")
        )
        audit = JobAudit(client, asked.namespace, auditor, lambda found: _print_finding(found, asked.output), file)
        tasks = [asyncio.create_task(audit.run())]
        if asked.listen is not None:
            tasks.append(asyncio.create_task(_endpoint(asked.listen, audit, auditor).run()))
        await _first_to_end(tasks, asked.seconds)


def _endpoint(listen: tuple[str, int], audit: JobAudit, auditor: Auditor) -> ProbeServer:
    from jobrelay.control.probe_server import ProbeServer
    from jobrelay.kube.metrics import exposition

    return ProbeServer(*listen, ready=audit.synced.is_set, metrics=lambda: exposition([auditor]))


async def _first_to_end(tasks: list[asyncio.Task[None]], seconds: float) -> None:
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds or None, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    except OSError as error:
        raise Failure(f"the address cannot be used: {error}", "choose another one with --listen") from error
    except asyncio.CancelledError:
        return  # Ctrl-C is how a watch ends
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _opened(path: pathlib.Path) -> AbstractContextManager[IO[bytes]]:
    try:
        return nullcontext(sys.stdout.buffer) if path == _STDIO else path.open("wb")
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error}") from error


def _print_finding(finding: AuditFinding, output: str) -> None:
    if output == "json":
        click.echo(json.dumps(finding.as_json()))
        return
    word = "illegal" if finding.rule.illegal else "suspicious"
    click.echo(f"{finding.time}  {word}{', refused' if finding.refused else ''}: {finding.rule.name}: {finding.story}")
    click.echo(f"  Job {finding.job} of {finding.controller}, written by {', '.join(finding.writers) or 'nobody'}")
    click.echo(f"  {finding.rule.meaning}")
    click.echo(f"  before  {json.dumps(finding.before)}")
    click.echo(f"  after   {json.dumps(finding.after)}")


def _print_summary(auditor: Auditor) -> None:
    for each in auditor.summary():
        rules = ", ".join(f"{rule} {count} times" for rule, count in each["violations"].items())
        click.echo(f"{each['controller']}: {each['steps']} steps, {rules or 'nothing wrong'}", err=True)
    if not auditor.steps:
        click.echo("no status has changed", err=True)
