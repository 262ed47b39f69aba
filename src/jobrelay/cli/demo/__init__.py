"""`jobrelay demo`: a fleet at work, in about twenty seconds."""

from __future__ import annotations

import click

__all__ = ["demo"]


@click.command(short_help="Show a fleet at work: Jobs on three workers, one of which is killed.")
def demo() -> None:
    """Show a fleet at work: Jobs that are submitted to one cluster run on three others, one of which is killed.

    Everything runs on this machine, in processes of its own, and takes about twenty seconds. The exit code is 0 only if
    every Job ended as it should. No files are left behind.
    """
    from jobrelay.cli.demo.show import run_demo
    from jobrelay.cli.logging_setup import configure_logging

    configure_logging("warning", "text")
    raise SystemExit(run_demo())
