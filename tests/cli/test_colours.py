"""States are in colour on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Callable
from typing import Any

import click
import pytest
from click.testing import CliRunner

from jobrelay.cli.colours import colours_wanted, log_prefix, state
from jobrelay.cli.errors import Failure
from jobrelay.cli.explanation import print_lines
from jobrelay.cli.output import print_data, print_table

from .command import COMMAND, ENVIRONMENT
from .terminal import read

ROWS = [{"name": "west", "state": "connected,cordoned", "nodes": None}, {"name": "east", "state": "unreachable"}]


def shown(work: Callable[[], Any], color: bool | None) -> str:
    """What a command prints whose context has this setting, on a terminal."""

    @click.command()
    @click.pass_context
    def command(ctx: click.Context) -> None:
        ctx.color = color
        work()

    return CliRunner().invoke(command, color=True).output


def test_a_state_has_the_colour_of_its_tone() -> None:
    assert state("Running") == click.style("Running", fg="green")
    assert state("Failed") == click.style("Failed", fg="red")
    assert state("Suspended") == "Suspended"
    assert (
        state("connected,cordoned") == f"{click.style('connected', fg='green')},{click.style('cordoned', fg='yellow')}"
    )
    assert (state("-"), state("")) == ("-", "")


def test_colours_take_no_width_in_tables() -> None:
    table = shown(lambda: print_table([row | {"jobs": 1} for row in ROWS], ["name", "state", "jobs"]), True)
    assert click.unstyle(table).splitlines() == [
        "NAME   STATE                JOBS",
        "west   connected,cordoned   1",
        "east   unreachable          1",
    ]
    assert click.style("unreachable", fg="red") in table


def test_without_colours_a_table_is_plain() -> None:
    assert "\033" not in shown(lambda: print_table(ROWS, ["name", "state"]), False)


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_output_for_programs_is_never_coloured(output: str) -> None:
    assert "\033" not in shown(lambda: print_data(ROWS, output), True)


def test_verdicts_stages_and_troubles_are_coloured_in_explanations() -> None:
    lines = ["  stage     WorkerLost", "  trouble   it crashes", "  west   yes   it fits", "  east   no    it is full",
             "  2026-01-01T12:00:00Z           no worker"]  # fmt: skip
    found = shown(lambda: print_lines(lines), True)
    assert click.unstyle(found).splitlines() == lines
    for text, colour in (("WorkerLost", "red"), ("  trouble", "red"), ("yes", "green"), ("no", "yellow")):
        assert click.style(text, fg=colour) in found
    assert found.splitlines()[-1] == lines[-1]


def test_each_pod_keeps_its_colour() -> None:
    assert log_prefix("a", "main").startswith(log_prefix("a", "other")[:5])
    assert click.unstyle(log_prefix("a", "main")) == "[a/main] "


@pytest.mark.parametrize(
    ("when", "environ", "wanted"),
    [
        ("auto", {}, None), ("auto", {"NO_COLOR": "1"}, False), ("auto", {"NO_COLOR": ""}, None),
        ("auto", {"TERM": "dumb"}, False), ("always", {"NO_COLOR": "1"}, True), ("never", {}, False),
    ],
)  # fmt: skip
def test_the_option_counts_more_than_the_environment(when: str, environ: dict[str, str], wanted: bool | None) -> None:
    assert colours_wanted(when, environ) is wanted


def test_an_error_is_coloured_as_its_command_was_asked_to() -> None:
    def fail() -> None:
        raise Failure("no", "try")

    assert shown(fail, False) == "error: no\nhint: try\n"
    assert click.style("error:", fg="red") in shown(fail, None)


@pytest.mark.parametrize(("arguments", "coloured"), [([], True), (["--color", "never"], False)])
def test_a_terminal_gets_colours_unless_they_are_refused(arguments: list[str], coloured: bool) -> None:
    ours, theirs = pty.openpty()
    command = [*COMMAND, *arguments, "lint", "job", "/nowhere"]
    variables = {name: value for name, value in ENVIRONMENT.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=variables):
        os.close(theirs)
        found = b"".join(iter(lambda: read(ours), b""))
    os.close(ours)
    assert b"error:" in found
    assert (b"\033[31m" in found) is coloured
