"""The command lines that envtest gives to its programs: `--name=value`, or `--name` for true."""

from __future__ import annotations

from collections.abc import Sequence

Flags = dict[str, list[str]]


def parse(arguments: Sequence[str]) -> Flags:
    """All values of each flag, by its name."""
    found: Flags = {}
    for argument in arguments:
        name, equals, value = argument.removeprefix("--").partition("=")
        found.setdefault(name, []).append(value if equals else "true")
    return found


def last(flags: Flags, name: str, default: str = "") -> str:
    return flags.get(name, [default])[-1]


def show_help(program: str, known: Sequence[str]) -> None:
    """What `--help` prints: envtest looks there for the flags that a release has."""
    print(f"{program} of jobrelay, for envtest. These flags have an effect:\n")
    for name in known:
        print(f"      --{name}")
