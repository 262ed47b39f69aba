"""Options of commands that act on two clusters: a worker and its management cluster."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable
from typing import Any, TypeVar

import click

from jobrelay.cli.management import RELAY_NAMESPACE, Management

__all__ = ["WORKER_CONTEXT", "WORKER_KUBECONFIG", "separate_management_options"]

F = TypeVar("F", bound=Callable[..., Any])
_FILE = click.Path(path_type=pathlib.Path, dir_okay=False)

WORKER_KUBECONFIG = click.option(
    "--kubeconfig",
    "worker_kubeconfig",
    type=_FILE,
    metavar="FILE",
    help="The kubeconfig of the worker's administrator.",
)
WORKER_CONTEXT = click.option(
    "--context", "worker_context", metavar="NAME", help="The context in that file.  [default: the current one]"
)
_OPTIONS = (
    click.option(
        "--management-kubeconfig", type=_FILE, metavar="FILE",
        help="The kubeconfig of the management cluster.  [default: as kubectl]",
    ),
    click.option("--management-context", metavar="NAME", help="The context in that file.  [default: the current one]"),
    RELAY_NAMESPACE,
)  # fmt: skip


def separate_management_options(command: F) -> F:
    """Adds the management cluster's options to a command whose `--kubeconfig` is a worker's; it gets `management`."""

    @functools.wraps(command)
    def wrapped(
        *args: Any,
        management_kubeconfig: pathlib.Path | None,
        management_context: str | None,
        relay_namespace: str,
        **more: Any,
    ) -> Any:
        management = Management(management_kubeconfig, management_context, relay_namespace)
        return command(*args, management=management, **more)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]
