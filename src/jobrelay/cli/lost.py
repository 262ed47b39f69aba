"""`jobrelay worker lost`: declares workers dead.

That a worker is dead is believed without a proof: what runs there is started elsewhere at once, and then runs twice if
the worker lives. So a worker that answers is declared lost only after a question, and nobody is led to this command by
a typing error.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from jobrelay.cli.arguments import complete_workers
from jobrelay.cli.errors import Failure
from jobrelay.cli.management import Management, management_options, run

if TYPE_CHECKING:
    from jobrelay.kube import Client

__all__ = ["CarefulGroup", "lost"]

_NOT_SUGGESTED: Final = frozenset({"lost"})


class CarefulGroup(click.Group):
    """A group that does not suggest a dangerous command for a name that it does not know."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            meant = getattr(error, "possibilities", None)
            if meant:
                meant[:] = [each for each in meant if each not in _NOT_SUGGESTED]
            raise


@click.command(short_help="Declare workers dead: their Jobs start elsewhere at once.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_workers)
@click.option("-y", "--yes", is_flag=True, help="Do not ask about workers that answer.")
@management_options
def lost(names: tuple[str, ...], yes: bool, management: Management) -> None:
    """Declare unreachable workers dead, so that their Jobs start elsewhere without waiting for the timeout.

    A worker that answers is not dead: what runs there would run twice for a while. So this asks first; without a
    terminal to ask at, --yes is needed. `jobrelay worker drain` empties a worker that answers.
    """
    answering = run(_answering(names, management))
    if answering and not yes:
        _ask(answering)
    run(_declare(names, management))


def _ask(answering: list[str]) -> None:
    """Raises Failure if nobody can be asked, and Abort if the answer is no."""
    shown, verb = ", ".join(answering), "answers" if len(answering) == 1 else "answer"
    if not sys.stdin.isatty():
        raise Failure(
            f"{shown} {verb}, so what runs there would run twice",
            f"`jobrelay worker drain {' '.join(answering)}` moves it; --yes declares it lost all the same",
        )
    question = f"{shown} {verb}: what runs there would run twice. Declare lost all the same?"
    click.confirm(question, abort=True, err=True)


async def _answering(names: tuple[str, ...], management: Management) -> list[str]:
    """Those of the workers that the relay reaches, or did when it last reported; raises OperateError for a name that
    none has."""
    from jobrelay.operate.registry import get_worker, registered_view

    async with management.connect() as client:
        objects = [await get_worker(client, name) for name in names]
        told = await _by_relay(client, management)
    return [each.name for each in objects if told.get(each.name, registered_view(each, 0).connected)]


async def _by_relay(client: Client, management: Management) -> dict[str, bool]:
    from jobrelay.sdk.relay_api import try_query_relay

    reply = await try_query_relay(client, management, "/workers")
    return {each["name"]: each["connected"] for each in reply.value or ()}


async def _declare(names: tuple[str, ...], management: Management) -> None:
    from jobrelay.operate.registry import set_worker_state

    async with management.connect() as client:
        for each in names:
            await set_worker_state(client, each, "lost")
            click.echo(f"worker {each} lost", err=True)
