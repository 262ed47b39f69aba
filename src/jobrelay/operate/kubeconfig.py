"""The kubeconfig through which the relay reaches a worker: self-contained, and written as JSON, which is valid YAML."""

from __future__ import annotations

import base64
import json
from typing import Any

from jobrelay.kube import Connection
from jobrelay.operate.errors import OperateError

__all__ = ["worker_kubeconfig"]


def worker_kubeconfig(name: str, connection: Connection, namespace: str, token: str, server: str = "") -> bytes:
    """A kubeconfig for the server of `connection`, or for `server` as another address of it, with this token."""
    if connection.insecure:
        raise OperateError(
            "the worker's kubeconfig skips verification of the server's certificate",
            "put certificate-authority-data into it and remove insecure-skip-tls-verify",
        )
    if connection.proxy_url is not None and not server:
        raise OperateError(
            "the worker's kubeconfig uses a proxy of this machine",
            "give the address at which the relay reaches the worker: --server URL",
        )
    cluster: dict[str, Any] = {"server": server or connection.server}
    if connection.ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(connection.ca).decode()
    if connection.tls_server_name is not None:
        cluster["tls-server-name"] = connection.tls_server_name
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": "jobrelay", "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "jobrelay", "namespace": namespace}}],
    }
    return json.dumps(config, indent=2).encode()
