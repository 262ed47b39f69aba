"""Waits for workloads at the terminal, with their logs if asked; Ctrl-C detaches and says how to come back.

0     all have succeeded
1     one has failed
124   the timeout is over, as of timeout(1)
130   detached
"""

from __future__ import annotations

import asyncio
import pathlib
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from jobrelay.cli.colours import in_tone
from jobrelay.cli.kinds import Kinds
from jobrelay.cli.management import Management, run
from jobrelay.cli.output import print_data

if TYPE_CHECKING:
    from jobrelay.sdk.relay import AsyncRelay, SubmittedWorkload, WorkloadLike, WorkloadResult

__all__ = ["Waiting", "attend", "exit_code", "printed_result", "result_line", "wait_for_all"]

TIMED_OUT: Final = 124
DETACHED: Final = 130


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whether to wait for the end, for how long, and what to print meanwhile and afterwards."""

    output: str
    timeout: float | None
    wait: bool
    logs: bool
    management: Management
    kind_files: tuple[pathlib.Path, ...] = ()

    def way_back(self, made: SubmittedWorkload) -> str:
        """The command that continues what Ctrl-C has left."""
        words = ["jobrelay", *(["logs", "-f"] if self.logs else ["wait"]), str(made), "-n", made.namespace]
        if self.management.kubeconfig is not None:
            words += ["--kubeconfig", str(self.management.kubeconfig)]
        if self.management.context is not None:
            words += ["--context", self.management.context]
        words += [word for path in self.kind_files for word in ("--kind-file", str(path))]
        return shlex.join(words)


def attend(made: Sequence[SubmittedWorkload], waiting: Waiting, kinds: Kinds) -> int:
    """Prints what was submitted, and its results if they are waited for; the exit code."""
    for each in made:
        click.echo(f"{each} submitted in namespace {each.namespace}", err=True)
        if waiting.output == "name":
            click.echo(str(each))
    if not waiting.wait:
        if waiting.output in ("json", "yaml"):
            print_data([asdict(each) for each in made], waiting.output)
        return 0
    try:
        results = run(_results(made, waiting, kinds))
    except click.exceptions.Exit:  # Ctrl-C
        for each in made:
            click.echo(f"detached: {each} goes on; to come back: {waiting.way_back(each)}", err=True)
        return DETACHED
    if waiting.output in ("json", "yaml"):
        print_data(
            [asdict(each) | printed_result(result) for each, result in zip(made, results, strict=True)], waiting.output
        )
    return exit_code(results)


async def _results(made: Sequence[SubmittedWorkload], waiting: Waiting, kinds: Kinds) -> list[WorkloadResult | None]:
    async with kinds.relay(waiting.management) as relay:
        if waiting.logs:
            return [await _with_logs(relay, made[0], waiting.timeout)]
        return await wait_for_all(relay, made, waiting.timeout)


async def _with_logs(
    relay: AsyncRelay,
    made: SubmittedWorkload,
    timeout: float | None,  # noqa: ASYNC109
) -> WorkloadResult | None:
    from jobrelay.cli.logs import print_logs
    from jobrelay.sdk.pod_logs import LogOptions

    try:
        async with asyncio.timeout(timeout):
            await print_logs(relay, made, LogOptions(follow=True))
    except TimeoutError:
        click.echo(f"{made} has not ended within {timeout:g} s, and goes on", err=True)
        return None
    return (await wait_for_all(relay, [made]))[0]


async def wait_for_all(
    relay: AsyncRelay, workloads: Sequence[WorkloadLike], within: float | None = None
) -> list[WorkloadResult | None]:
    """The result of each workload, printed when it has one; None for one that has not ended in time."""
    return await asyncio.gather(*(_wait(relay, each, within) for each in workloads))


async def _wait(relay: AsyncRelay, workload: WorkloadLike, within: float | None) -> WorkloadResult | None:
    from jobrelay.sdk.errors import WaitTimeout

    try:
        result = await relay.wait(workload, within, note=lambda text: click.echo(text, err=True))
    except WaitTimeout as error:
        click.echo(f"{error}; it goes on\nhint: {error.hint}", err=True)
        return None
    click.echo(in_tone(result_line(result), "good" if result.succeeded else "bad"), err=True)
    return result


def result_line(result: WorkloadResult) -> str:
    """`job/train failed: BackoffLimitExceeded: Job has reached the specified backoff limit`."""
    word = "succeeded" if result.succeeded else "failed"
    why = [text for text in (result.reason, result.message) if text] if not result.succeeded else []
    return ": ".join([f"{result.kind.lower()}/{result.name} {word}", *why])


def printed_result(result: WorkloadResult | None) -> dict[str, Any]:
    """For programs; `succeeded` is null if it has not ended in time."""
    return {"succeeded": None} if result is None else asdict(result)


def exit_code(results: Sequence[WorkloadResult | None]) -> int:
    """A failure counts more than a timeout."""
    if any(each is not None and not each.succeeded for each in results):
        return 1
    return TIMED_OUT if None in results else 0
