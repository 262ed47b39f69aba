"""Prints an explanation as text, JSON or YAML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import click

from jobrelay.cli.output import print_data

__all__ = ["explanation_lines", "print_explanation", "worker_lines"]

_WIDTH = 118


def print_explanation(found: Mapping[str, Any], output: str) -> None:
    """Prints the explanation on stdout, and a note on stderr if the relay could not be reached."""
    if output == "text":
        click.echo("\n".join(explanation_lines(found)))
    else:
        print_data(dict(found), output)
    if found.get("relayUnreachable"):
        click.echo(f"note: the relay could not be reached: {found['relayUnreachable']}", err=True)
        click.echo("note: showing only what the management cluster knows", err=True)


def explanation_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The text: the sentence, the facts, the verdict on each worker with what would change it, and events."""
    yield from textwrap.wrap(found["sentence"], _WIDTH)
    yield ""
    yield f"  {found['kind'].lower():<9} {found['namespace']}/{found['name']}"
    yield f"  stage     {found['stage']}"
    if found.get("cluster"):
        yield f"  cluster   {found['cluster']} (run {found.get('epoch', 0)})"
    if found.get("mirror"):
        yield f"  mirror    {found['mirror']}"
    if found.get("fenced"):
        yield "  fenced    yes: it never runs on two workers at the same time"
    if found.get("unfenced"):
        yield from textwrap.wrap(f"  fenced    no: {found['unfenced']}", _WIDTH, subsequent_indent=" " * 12)
    for problem in found.get("problems", ()):
        yield f"  problem   {problem}"
    for each in found.get("dependencies", ()):
        yield from textwrap.wrap(f"  needs     {_needed(each)}", _WIDTH, subsequent_indent=" " * 12)
    yield from worker_lines(found)
    yield from _events(found)


def _needed(dependency: Mapping[str, Any]) -> str:
    """`ConfigMap a/settings: on x; missing on y; copied to z as settings-0a1b2c3d4e`."""
    lists = (("present", "on"), ("missing", "missing on"), ("copyable", "to be copied to"))
    parts = [f"{text} {', '.join(dependency[key])}" for key, text in lists if dependency.get(key)]
    parts += [f"copied to {worker} as {name}" for worker, name in dependency.get("copies", {}).items()]
    unchecked = dependency.get("unchecked", {})
    parts += [f"cannot be checked on {worker} ({why}), taken to be there" for worker, why in unchecked.items()]
    optional = " (optional)" if dependency.get("optional") else ""
    return f"{dependency['object']}{optional}{': ' if parts else ''}{'; '.join(parts)}"


def worker_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The verdict on each worker, with what would change it."""
    verdicts = found.get("workers", ())
    if not verdicts:
        return
    yield ""
    yield "Workers:" if found.get("relayUnreachable") else "Workers, if it were placed now:"
    width = max(len(each["worker"]) for each in verdicts)
    for each in verdicts:
        score = each.get("score")
        head = f"  {each['worker']:<{width}}   {'yes' if each['ok'] else 'no ':<3}   "
        shown = each["sentence"] + (f" (score {score:.3f}: {_parts(each)})" if score is not None else "")
        yield from textwrap.wrap(head + shown, _WIDTH, subsequent_indent=" " * len(head))
        if each.get("wouldChange"):
            yield from textwrap.wrap(
                f"{' ' * len(head)}would change it: {each['wouldChange']}", _WIDTH, subsequent_indent=" " * len(head)
            )


def _parts(verdict: Mapping[str, Any]) -> str:
    return " + ".join(f"{part['policy']} {part['score']:.3f} x {part['weight']:g}" for part in verdict.get("parts", ()))


def _events(found: Mapping[str, Any]) -> Iterator[str]:
    events = found.get("events", ())
    if not events:
        return
    yield ""
    yield "Events:"
    for each in events:
        yield f"  {each['time']}   {each['reason']}: {each['message']}"
