"""Errors of the command: `error:` and `hint:` on stderr, and exit code 2."""

from __future__ import annotations

from typing import IO, Any

import click

from jobrelay.cli.colours import in_tone


class Failure(click.ClickException):
    """Ends the command with a message and, if given, a hint."""

    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"{in_tone('error:', 'bad')} {self.message}", err=True, color=self.show_color)
        if self.hint:
            click.echo(f"{in_tone('hint:', 'done')} {self.hint}", err=True, color=self.show_color)
