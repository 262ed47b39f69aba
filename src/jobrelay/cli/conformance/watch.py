"""`jobrelay conformance watch`: audits the statuses of all Jobs, of a living cluster or of a recording."""

from __future__ import annotations

import asyncio
import json
import pathlib
import sys
from contextlib import AsyncExitStack, ExitStack, suppress
from typing import IO, TYPE_CHECKING

import click

from jobrelay.cli.conformance.cluster import CONTEXT, KUBECONFIG
from jobrelay.cli.errors import Failure
from jobrelay.cli.management import run as run_command
from jobrelay.cli.options import duration_seconds
from jobrelay.cli.output import output_option

if TYPE_CHECKING:
    from jobrelay.conformance import AuditFinding, Auditor
    from jobrelay.kube import Client, Object

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
        run_command(_watch(auditor, namespace, record, listen, seconds, output, kubeconfig, context))
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


async def _watch(
    auditor: Auditor,
    namespace: str | None,
    record: pathlib.Path | None,
    listen: tuple[str, int] | None,
    seconds: float,
    output: str,
    kubeconfig: pathlib.Path | None,
    context: str | None,
) -> None:
    from jobrelay.control.endpoint import Endpoint
    from jobrelay.kube import connect
    from jobrelay.kube.metrics import exposition

    async with AsyncExitStack() as stack:
        file = stack.enter_context(_opened(record)) if record is not None else None
        client = await stack.enter_async_context(connect(kubeconfig, context, user_agent="jobrelay-conformance"))
        audit = JobAudit(client, namespace, auditor, output, file)
        tasks = [asyncio.create_task(audit.run())]
        if listen is not None:
            ready = audit.synced.is_set
            endpoint = Endpoint(*listen, ready=ready, metrics=lambda: exposition([auditor]))
            tasks.append(asyncio.create_task(endpoint.run()))
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
            await asyncio.wait(tasks)


def _opened(path: pathlib.Path) -> IO[bytes]:
    try:
        return sys.stdout.buffer if path == _STDIO else path.open("wb")
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error}") from error


class JobAudit:
    """Feeds an auditor with the Jobs of a cluster, prints what it finds and records what it was shown."""

    def __init__(
        self, client: Client, namespace: str | None, auditor: Auditor, output: str, file: IO[bytes] | None
    ) -> None:
        from jobrelay.kube import Cache, Forbidden, Unauthorized
        from jobrelay.kube.resource import JOBS

        self._auditor, self._output, self._file = auditor, output, file
        self._cache = Cache(client, JOBS, namespace, terminal=(Forbidden, Unauthorized))
        self._cache.subscribe(self._changed)
        self.synced = self._cache.synced

    async def run(self) -> None:
        """Audit until cancelled; raises KubeError if Jobs may not be read."""
        running = asyncio.create_task(self._cache.run())
        synced = asyncio.create_task(self.synced.wait())
        try:
            await asyncio.wait({running, synced}, return_when=asyncio.FIRST_COMPLETED)
            if self.synced.is_set():
                click.echo(f"watching {len(self._cache)} Jobs", err=True)
            await running
        finally:
            for task in (running, synced):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def _changed(self, old: Object | None, new: Object | None) -> None:
        from jobrelay.apimachinery.times import format_time
        from jobrelay.conformance import record_line
        from jobrelay.kube import SystemClock

        seen = new or old
        assert seen is not None
        job, time = seen.decode(), format_time(SystemClock().now())
        if self._file is not None:
            word = "DELETED" if new is None else "ADDED" if old is None else "MODIFIED"
            self._file.write(record_line(time, word, job))
            self._file.flush()
        for finding in self._auditor.seen(job, time, created=old is None and self.synced.is_set()):
            _print_finding(finding, self._output)
        if new is None:
            self._auditor.gone(job)


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
