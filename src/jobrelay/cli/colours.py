"""Colours for people: of states, and of the pods in front of log lines.

What these functions return is printed by `click.echo`, which removes colours where the output is no terminal, or where
`--color` or NO_COLOR ask for none. Output for programs (-o json, yaml and name) has none in the first place.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import IO, Any, Final

import click

from jobrelay.sdk.tones import tone

__all__ = ["COLOUR_OF_TONE", "coloured", "colours_wanted", "in_tone", "log_prefix", "state"]

COLOUR_OF_TONE: Final = {"good": "green", "done": "cyan", "wait": "yellow", "bad": "red"}
_PODS: Final = ("cyan", "green", "yellow", "blue", "magenta")


def colours_wanted(when: str, environ: Mapping[str, str]) -> bool | None:
    """`--color auto|always|never` as click's setting of a context; None leaves it to each stream."""
    if when != "auto":
        return when == "always"
    return False if environ.get("NO_COLOR") or environ.get("TERM") == "dumb" else None


def coloured(stream: IO[Any]) -> bool:
    """Whether a stream gets colours, for those that do not print by `click.echo`."""
    context = click.get_current_context(silent=True)
    chosen = context.color if context is not None else None
    return stream.isatty() if chosen is None else chosen


def in_tone(text: str, tone: str) -> str:
    """A text in the colour of good, done, wait or bad news."""
    colour = COLOUR_OF_TONE.get(tone)
    return click.style(text, fg=colour) if colour and text else text


def state(text: str) -> str:
    """A state, or several with commas between them, each in its colour."""
    return ",".join(in_tone(each, tone(each)) for each in text.split(",")) if text.strip("-?") else text


def log_prefix(pod: str, container: str) -> str:
    """What begins a line of a log; each pod keeps its colour."""
    return click.style(f"[{pod}/{container}]", fg=_PODS[zlib.crc32(pod.encode()) % len(_PODS)]) + " "
