"""Runs the demo: a fleet in a temporary folder, a batch of Jobs, and a worker that is killed meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import click

from jobrelay.cli.colours import in_tone
from jobrelay.cli.demo.batch import BATCH, DOOMED, LOST_AFTER, RUNTIME, WORKERS, DemoRow, Screen
from jobrelay.fleet import MANAGEMENT, ClusterPlan, Fleet, FleetError, FleetPlan
from jobrelay.kube import Client, connect
from jobrelay.kube.resource import JOBS

__all__ = ["run_demo"]

PATIENCE = 90.0  # seconds, on a machine with much else to do; a free one needs about 15


async def _follow(client: Client, rows: dict[str, DemoRow], screen: Screen, version: str, fleet: Fleet) -> None:
    """Shows every change of the batch; kills a worker once it is at work."""
    killed = False
    while True:
        async with client.watch(JOBS, "default", resource_version=version) as events:
            async for event in events:
                version = event.object.resource_version
                row = rows.get(event.object.name)
                if row is None or not row.take(event.object):
                    continue
                screen.changed(row)
                if not killed and sum(each.status == "Running" and each.where == DOOMED for each in rows.values()) > 1:
                    killed = True
                    fleet.kill(DOOMED)
                    screen.say(
                        f"{DOOMED} was killed while running Jobs; they count as lost after {LOST_AFTER} and move"
                    )
                if all(each.ended for each in rows.values()):
                    return


async def _work(fleet: Fleet) -> dict[str, DemoRow]:
    """Submits the batch and waits for its end."""
    rows = {task.name: DemoRow(task) for task in BATCH}
    async with connect(fleet.folder.kubeconfig(MANAGEMENT)) as client:
        version = (await client.list(JOBS, "default")).resource_version
        for task in BATCH:
            await client.create(JOBS, task.body())
        screen = Screen(rows)
        delegated = sum(task.delegated for task in BATCH)
        screen.say(f"{delegated} delegated and {len(BATCH) - delegated} standard Jobs, all submitted to {MANAGEMENT}")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await _follow(client, rows, screen, version, fleet)
    return rows


def _show(fleet: Fleet, *arguments: str) -> None:
    """Runs our own command, as a user would."""
    words = " ".join(["$ jobrelay", *arguments])
    click.echo(f"\n{click.style(words, bold=True)}")
    environment = os.environ | {"KUBECONFIG": str(fleet.folder.kubeconfig(MANAGEMENT))}
    command = [sys.executable, "-m", "jobrelay", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    for line in (done.stdout + done.stderr).splitlines():
        print(f"  {line}")


def _judge(rows: dict[str, DemoRow]) -> bool:
    """The summary; whether all is as it should be."""
    moved = [row for row in rows.values() if len(row.history) > 1]
    wrong = [row for row in rows.values() if not row.right]
    click.echo(f"\n{click.style('Summary', bold=True)}")
    print(f"  {len(rows) - len(wrong)} of {len(rows)} Jobs ended as they should (one of them is meant to fail)")
    print(f"  {len(moved)} moved away from {DOOMED}: {', '.join(row.task.name for row in moved) or 'none'}")
    by_worker = {name: sum(row.where == name for row in rows.values()) for name in (*WORKERS, MANAGEMENT)}
    print("  ended on: " + ", ".join(f"{name} {count}" for name, count in by_worker.items()))
    for row in wrong:
        click.echo(
            f"  {in_tone('wrong', 'bad')}: {row.task.name} should be {row.task.end}, "
            f"but is {row.status} on {row.where or 'no cluster'}"
        )
    if not moved:
        click.echo(f"  {in_tone('wrong', 'bad')}: no Job was moved")
    return bool(moved) and not wrong


async def _main(folder: pathlib.Path) -> int:
    began = time.monotonic()
    print(f"Starting a management cluster, {len(WORKERS)} unequal workers and the relay, each in its own process ...")
    common = ("--runtime", RUNTIME, "--memory")
    fleet = Fleet(
        FleetPlan(
            folder,
            (sys.executable, "-P", "-m", "jobrelay.cli.child"),
            ClusterPlan(MANAGEMENT, common),
            tuple(ClusterPlan(name, (*common, "--cpu", cpu)) for name, cpu in WORKERS.items()),
            ("--worker-lost-timeout", LOST_AFTER),
        )
    )
    async with fleet:
        print("  " + ", ".join(f"{name} ({cpu} CPUs)" for name, cpu in WORKERS.items()))
        print(f"  ready after {time.monotonic() - began:.1f} s")
        started = time.monotonic()
        rows = await _work(fleet)
        took = time.monotonic() - started
        _show(fleet, "get")
        _show(fleet, "logs", "job/large")
        fine = _judge(rows)
    print(f"\nThe batch took {took:.1f} s. Everything is stopped, and no files are left.")
    print(f"Next: `{_command()} up --workers 3` runs a fleet until Ctrl-C.")
    return 0 if fine else 1


def run_demo() -> int:
    """The whole show; the exit code. Ctrl-C and SIGTERM clean up too."""

    async def guarded() -> int:
        task = asyncio.ensure_future(_main(pathlib.Path(folder)))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            print("\nInterrupted; everything is stopped.")
            return 130
        except FleetError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1

    with tempfile.TemporaryDirectory(prefix="jobrelay-demo-") as folder:
        return asyncio.run(guarded())


def _command() -> str:
    """How this command is called here: by its path if it is not the one on PATH."""
    own = pathlib.Path(sys.executable).with_name("jobrelay")
    found = shutil.which("jobrelay")
    if (found is not None and pathlib.Path(found) == own) or not own.exists():
        return "jobrelay"
    return str(own.relative_to(pathlib.Path.cwd())) if own.is_relative_to(pathlib.Path.cwd()) else str(own)
