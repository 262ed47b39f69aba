"""The kubeconfig that the relay gets of a worker: as JSON, which is YAML, with everything in it."""

from __future__ import annotations

import base64
import json
from typing import Any

from jobrelay.fleet.errors import FleetError
from jobrelay.kube import Connection

__all__ = ["kubeconfig"]


def kubeconfig(name: str, way: Connection, namespace: str, token: str, server: str = "") -> bytes:
    """Leads where `way` leads, or to another address of the same server, with this token."""
    if way.insecure:
        raise FleetError(
            "the worker's kubeconfig does not verify the server", "give it certificate-authority-data instead"
        )
    if way.proxy_url is not None and not server:
        raise FleetError(
            "the worker is reached through a proxy of this machine", "say how the relay reaches it: --server URL"
        )
    cluster: dict[str, Any] = {"server": server or way.server}
    if way.ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(way.ca).decode()
    if way.tls_server_name is not None:
        cluster["tls-server-name"] = way.tls_server_name
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": "jobrelay", "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "jobrelay", "namespace": namespace}}],
    }
    return json.dumps(config, indent=2).encode()
