"""Finding the cluster to connect to, as kubectl does.

`find_connection` tries an explicit kubeconfig, `$KUBECONFIG`, `~/.kube/config`, and finally the service account of the
pod that this process runs in. `connect` opens a client from what was found.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .client import Client
from .connection import SERVICE_ACCOUNT, Connection, in_cluster
from .errors import ConfigError
from .kubeconfig import Kubeconfig, default_paths
from .proxies import proxy_for

if TYPE_CHECKING:
    from .brief import BriefTransport
    from .network import NetworkTransport

__all__ = ["connect", "find_connection"]


def find_connection(
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    account: Path = SERVICE_ACCOUNT,
) -> Connection:
    """The connection that kubectl would use here; raises `ConfigError` if there is none."""
    if kubeconfig is not None:
        return Kubeconfig.load([Path(kubeconfig)], must_exist=True).connection(context)
    paths = default_paths(environ)
    if any(path.exists() for path in paths):
        return Kubeconfig.load(paths).connection(context)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(environ, account)
    looked = ", ".join(str(path) for path in paths)
    raise ConfigError(f"no kubeconfig found (searched {looked})\nhint: set KUBECONFIG or name a file")


@asynccontextmanager
async def connect(
    target: str | Path | Connection | None = None,
    context: str | None = None,
    *,
    user_agent: str = "jobrelay",
    brief: bool = False,
) -> AsyncIterator[Client]:
    """Open a client over the network: `async with connect() as client: ...`.

    `target` is a connection or the path of a kubeconfig; without one, `find_connection` finds it. `brief` is for
    programs that send a few requests and end: they start faster, since the HTTP library is not imported.
    """
    connection = target if isinstance(target, Connection) else find_connection(target, context)
    async with _transport(connection, brief) as transport:
        yield Client(transport, user_agent=user_agent)


def _transport(connection: Connection, brief: bool) -> BriefTransport | NetworkTransport:
    """Without the HTTP library, if that is asked for and there is no proxy, which only the library can use."""
    if brief and not (connection.proxy_url or proxy_for(connection.server, os.environ)):
        from .brief import BriefTransport

        return BriefTransport(connection)
    from .network import NetworkTransport

    return NetworkTransport(connection)
