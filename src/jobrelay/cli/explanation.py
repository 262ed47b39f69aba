"""Prints an explanation as text, JSON or YAML."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import click

from jobrelay.cli.colours import in_tone, state
from jobrelay.cli.output import print_data

__all__ = ["explanation_lines", "line_text", "print_explanation", "print_lines", "worker_lines"]

_WIDTH = 118
_STATE: Final = re.compile(r"^(  stage     |\S+/\S+ in \S+: |  \S+ {3,}(?=(?:yes|no ) {3}))(\w+)")
_TROUBLE: Final = re.compile(r"^  (?:trouble|problem)(?= )")


def print_explanation(found: Mapping[str, Any], output: str) -> None:
    """Prints the explanation on stdout, and a note on stderr if the relay could not be reached."""
    if output == "text":
        print_lines(explanation_lines(found))
    else:
        print_data(dict(found), output)
    if found.get("relayUnreachable"):
        problem, _, hint = found["relayUnreachable"].partition("\nhint: ")
        click.echo(f"note: the relay could not be reached: {problem}", err=True)
        click.echo("note: showing only what the management cluster knows", err=True)
        if hint:
            click.echo(f"hint: {hint}", err=True)


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines of a text with its states in colour."""
    for line in lines:
        click.echo(_STATE.sub(lambda found: found[1] + state(found[2]), _TROUBLE.sub(_in_red, line)))


def _in_red(found: re.Match[str]) -> str:
    return in_tone(found[0], "bad")


def explanation_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The text: the sentence, the facts, the verdict on each worker with what would change it, and events."""
    yield from textwrap.wrap(found["sentence"], _WIDTH)
    yield ""
    yield f"  {found['kind'].lower():<9} {found['namespace']}/{found['name']}"
    yield f"  stage     {found['stage']}"
    if found.get("controller"):
        owner = f"  owner     {found['controller']['sentence']}"
        yield from textwrap.wrap(owner, _WIDTH, subsequent_indent=" " * 12)
    if found.get("cluster"):
        yield f"  cluster   {found['cluster']} (run {found.get('epoch', 0)})"
    if found.get("mirror"):
        yield f"  mirror    {found['mirror']}"
    if line := line_text(found.get("line")):
        yield f"  line      {line}"
    if found.get("fenced"):
        yield "  fenced    yes: it never runs on two workers at the same time"
    if found.get("unfenced"):
        yield from textwrap.wrap(f"  fenced    no: {found['unfenced']}", _WIDTH, subsequent_indent=" " * 12)
    yield from _on_worker(found)
    for problem in found.get("problems", ()):
        yield f"  problem   {problem}"
    for each in found.get("dependencies", ()):
        yield from textwrap.wrap(f"  needs     {_needed(each)}", _WIDTH, subsequent_indent=" " * 12)
    yield from _queue(found.get("queue") or {})
    yield from worker_lines(found)
    if supposed := found.get("supposed"):
        text = f"with {', '.join(supposed['changes'])}: {supposed['sentence']}"
        yield from textwrap.wrap(f"  {text}", _WIDTH, subsequent_indent=" " * 12)
    yield from _events(found)


def _queue(found: Mapping[str, Any]) -> Iterator[str]:
    """Its place in a queue, the quotas that were considered, and what would happen with others."""
    if not found:
        return
    place = f", place {found['position']} of {found['pending']}" if "position" in found else ""
    shown = f"{found['localQueue']} of {found['clusterQueue'] or 'no ClusterQueue'}{place}"
    yield f"  queue     {shown}, priority {found['priority']}{', admitted' if found['admitted'] else ''}"
    if found.get("why"):
        yield from textwrap.wrap(f"  waits     {found['why']}", _WIDTH, subsequent_indent=" " * 12)
    for each in found.get("arithmetic", ()):
        fits = "fits" if each["fits"] else "does not fit"
        amounts = f"{each['requested']} requested, {each['available']} available"
        yield f"  quota     {each['resource']} in {each['flavor']}: {amounts}: {fits}"
    supposed = found.get("supposed")
    if supposed:
        yield from textwrap.wrap(f"  {_supposed(supposed)}", _WIDTH, subsequent_indent=" " * 12)


def _supposed(found: Mapping[str, Any]) -> str:
    head = f"with {', '.join(found['changes'])}: "
    if found["admitted"]:
        after = found.get("after") or ()
        return f"{head}it would be admitted" + (f", after {len(after)} others" if after else "")
    preempts = found.get("preempts") or ()
    text = f"it would wait for the preemption of {', '.join(preempts)}" if preempts else "it would still wait"
    return f"{head}{text}: {found.get('why', '')}"


def line_text(line: Mapping[str, Any] | None) -> str:
    """`3 of 12, starts between 2026-01-01T12:00:00Z and 2026-01-01T12:05:00Z`; empty without a place in line."""
    if not line:
        return ""
    starts = f", starts between {line['earliest']} and {line['latest']}" if line.get("earliest") else ""
    claims = f"; {line['claims']} is kept free for it" if line.get("claims") else ""
    return f"{line['place']} of {line['of']}{starts}{claims}"


def _on_worker(found: Mapping[str, Any]) -> Iterator[str]:
    """What is true on the worker: its pods by phase, what is wrong with them, and the runs before this one."""
    if found.get("pods"):
        yield f"  pods      {', '.join(f'{count} {phase}' for phase, count in found['pods'].items())}"
    if found.get("podsUnknown"):
        yield from textwrap.wrap(f"  pods      {found['podsUnknown']}", _WIDTH, subsequent_indent=" " * 12)
    for trouble in found.get("troubles", ()):
        yield from textwrap.wrap(f"  trouble   {trouble}", _WIDTH, subsequent_indent=" " * 12)
    from jobrelay.relay.run_history import past_run_text

    for run in found.get("runs", ()):
        if not run.get("present"):
            yield from textwrap.wrap(f"  before    {past_run_text(run)}", _WIDTH, subsequent_indent=" " * 12)


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
