"""Shared by commands that talk to the management cluster: its options, the connection, and the errors."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.options import option_group
from jobrelay.sdk.names import LEASE, SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from jobrelay.kube import Client, Connection

__all__ = [
    "CONTEXT", "KUBECONFIG", "KUBECONFIG_OR_FLEET", "LEASE_NAME", "NAMESPACE", "RELAY_NAMESPACE", "SYSTEM_NAMESPACE",
    "Management", "failures", "management_options", "run",
]  # fmt: skip

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def _kubeconfig(default: str) -> Callable[[F], F]:
    return click.option(
        "--kubeconfig", type=click.Path(path_type=pathlib.Path, dir_okay=False), metavar="FILE",
        help=f"The kubeconfig of the management cluster.  [default: {default}]",
    )  # fmt: skip


KUBECONFIG = _kubeconfig("as kubectl")
KUBECONFIG_OR_FLEET = _kubeconfig("KUBECONFIG, this folder's fleet, or as kubectl")
CONTEXT = click.option("--context", metavar="NAME", help="The context in the kubeconfig.  [default: the current one]")
NAMESPACE = click.option("-n", "--namespace", metavar="NS", help="The namespace.  [default: that of the context]")
RELAY_NAMESPACE = click.option(
    "--relay-namespace", metavar="NS", envvar="JOBRELAY_NAMESPACE", default=SYSTEM_NAMESPACE, show_default=True,
    help="The namespace of the relay's Lease and the workers' Secrets.",
)  # fmt: skip
LEASE_NAME = click.option(
    "--lease-name", metavar="NAME", default=LEASE, show_default=True, help="The name of the relay's Lease."
)


@cache
def _fleet_here() -> pathlib.Path | None:
    """The kubeconfig of this folder's fleet, looked up and printed once."""
    from jobrelay.cli.fleet_here import fleet_kubeconfig

    return fleet_kubeconfig()


@dataclass(frozen=True, slots=True)
class Management:
    """A management cluster, and the relay that serves it."""

    kubeconfig: pathlib.Path | None = None
    context: str | None = None
    relay_namespace: str = SYSTEM_NAMESPACE
    lease_name: str = LEASE

    def connection(self) -> Connection:
        from jobrelay.kube import find_connection

        return find_connection(self._place(), self.context)

    def connect(self) -> AbstractAsyncContextManager[Client]:
        from jobrelay.kube import connect

        return connect(self._place(), self.context, brief=True)

    def namespace(self, given: str | None) -> str:
        """The given namespace, or that of the context."""
        return given or self.connection().namespace

    def _place(self) -> pathlib.Path | None:
        return self.kubeconfig or _fleet_here()


management_options = option_group("management", Management, KUBECONFIG_OR_FLEET, CONTEXT, RELAY_NAMESPACE, LEASE_NAME)


@contextmanager
def failures() -> Iterator[None]:
    """Turns errors of a cluster and of operations on it into Failures."""
    from jobrelay.kube import KubeError
    from jobrelay.operate.errors import OperateError

    try:
        yield
    except KubeError as error:
        message, _, hint = str(error).partition("\nhint: ")
        raise Failure(message, hint) from error
    except OperateError as error:
        raise Failure(str(error), error.hint) from error


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs a command's coroutine; errors of a cluster become Failures, and Ctrl-C exit code 130."""
    import asyncio

    try:
        with failures():
            return asyncio.run(work)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(130) from None
