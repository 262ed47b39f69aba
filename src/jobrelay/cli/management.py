"""What commands that talk to the management cluster share: how it is named, reached, and how its refusals are told."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from jobrelay.cli.errors import Failure

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from jobrelay.kube import Client, KubeError

__all__ = [
    "CONTEXT",
    "KUBECONFIG",
    "LEASE_NAME",
    "NAMESPACE",
    "RELAY_NAMESPACE",
    "SYSTEM_NAMESPACE",
    "Management",
    "failure",
    "management_options",
    "run",
]

SYSTEM_NAMESPACE: Final = "jobrelay-system"
"""Where the relay's Lease and the Secrets of workers are, unless somebody says otherwise."""
LEASE: Final = "jobrelay"

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

KUBECONFIG = click.option(
    "--kubeconfig", type=click.Path(path_type=pathlib.Path, dir_okay=False), metavar="FILE",
    help="The management cluster.  [default: as kubectl]",
)  # fmt: skip
CONTEXT = click.option("--context", metavar="NAME", help="Which context of the kubeconfig.  [default: its current one]")
NAMESPACE = click.option("-n", "--namespace", metavar="NS", help="Namespace.  [default: that of the context]")
RELAY_NAMESPACE = click.option(
    "--relay-namespace", metavar="NS", envvar="JOBRELAY_NAMESPACE", default=SYSTEM_NAMESPACE, show_default=True,
    help="Where the relay's Lease and the workers' Secrets are.",
)  # fmt: skip
LEASE_NAME = click.option("--lease-name", metavar="NAME", default=LEASE, show_default=True, help="The relay's Lease.")


@dataclass(frozen=True, slots=True)
class Management:
    """Which management cluster is meant, and which relay on it."""

    kubeconfig: pathlib.Path | None = None
    context: str | None = None
    relay_namespace: str = SYSTEM_NAMESPACE
    lease_name: str = LEASE

    def connect(self) -> AbstractAsyncContextManager[Client]:
        from jobrelay.kube import connect

        return connect(self.kubeconfig, self.context)

    def namespace(self, given: str | None) -> str:
        """The namespace that was given, or that of the context."""
        from jobrelay.kube import find_connection

        return given or find_connection(self.kubeconfig, self.context).namespace


def management_options(command: F) -> F:
    """Adds the options; the command gets `management`."""

    @functools.wraps(command)
    def wrapped(
        *args: Any,
        kubeconfig: pathlib.Path | None,
        context: str | None,
        relay_namespace: str,
        lease_name: str,
        **more: Any,
    ) -> Any:
        return command(*args, management=Management(kubeconfig, context, relay_namespace, lease_name), **more)

    for option in (LEASE_NAME, RELAY_NAMESPACE, CONTEXT, KUBECONFIG):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs a short command; what the cluster refuses becomes a message and code 2, Ctrl-C code 130."""
    import asyncio

    from jobrelay.fleet.errors import FleetError
    from jobrelay.kube import KubeError

    try:
        return asyncio.run(work)
    except KubeError as error:
        raise failure(error) from error
    except FleetError as error:
        raise Failure(str(error), error.hint) from error
    except KeyboardInterrupt:
        raise click.exceptions.Exit(130) from None


def failure(error: KubeError) -> Failure:
    """What went wrong between us and a cluster, as the command tells it."""
    message, _, hint = str(error).partition("\nhint: ")
    return Failure(message, hint)
