"""Prints what the relay would decide about workloads that are not created: `jobrelay submit --dry-run`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from jobrelay.cli.explanation import print_lines, worker_lines
from jobrelay.cli.output import print_data

__all__ = ["preview_lines", "print_previews"]

NO_WORKER: Final = 3


def print_previews(found: Sequence[Mapping[str, Any]], output: str) -> int:
    """Prints them on stdout; the exit code is 3 if there is one that no worker could take now."""
    if output in ("json", "yaml"):
        print_data([dict(each) for each in found], output)
    elif output == "name":
        for each in found:
            click.echo(f"{each['kind'].lower()}/{each['name']}")
    else:
        for number, each in enumerate(found):
            print_lines([*([""] if number else []), *preview_lines(each)])
    return 0 if all(any(worker["ok"] for worker in each.get("workers", ())) for each in found) else NO_WORKER


def preview_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """A sentence, and the verdict on each worker."""
    shown = f"{found['kind'].lower()}/{found['name']}"
    able = [each["worker"] for each in found.get("workers", ()) if each["ok"]]
    if able:
        yield f"{shown} could run on {', '.join(able)} now. Nothing was created."
    else:
        yield f"{shown} could run on no worker now. Nothing was created."
        if not found.get("workers"):
            yield f"  reason    {found['sentence']}"
    yield from (f"  problem   {problem}" for problem in found.get("problems", ()))
    yield from worker_lines(found)
