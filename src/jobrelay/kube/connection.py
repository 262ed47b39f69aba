"""How to connect to one API server, as a value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .credentials import ANONYMOUS, Credentials, TokenFile
from .errors import ConfigError

__all__ = ["SERVICE_ACCOUNT", "Connection", "in_cluster"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Connection:
    """The address of an API server, what verifies it, and the credentials to use."""

    server: str
    namespace: str = "default"
    credentials: Credentials = ANONYMOUS
    ca: bytes | None = None
    insecure: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None
    headers: Mapping[str, str | list[str]] = field(default_factory=dict)


def in_cluster(environ: Mapping[str, str] = os.environ, account: Path = SERVICE_ACCOUNT) -> Connection:
    """The connection of a pod to its own cluster, from the service account that is mounted into it."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError("not running in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    try:
        ca = (account / "ca.crt").read_bytes()
        namespace = (account / "namespace").read_text().strip()
    except OSError as error:
        raise ConfigError(
            f"cannot read the service account at {account}: {error.strerror}\n"
            "hint: the pod may have automountServiceAccountToken: false"
        ) from error
    if ":" in host:
        host = f"[{host}]"
    return Connection(f"https://{host}:{port}", namespace, TokenFile(account / "token"), ca)
