"""Kubeconfigs for a cluster's users, as JSON (which is YAML)."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobrelay.kube.key_pair import KeyPair


def kubeconfig(name: str, url: str, authority: bytes, user: KeyPair) -> bytes:
    """The admin's kubeconfig, with a client certificate."""
    credentials = {"client-certificate-data": _text(user.certificate), "client-key-data": _text(user.key)}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": url, "certificate-authority-data": _text(authority)}}],
            "users": [{"name": f"{name}-admin", "user": credentials}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": f"{name}-admin"}}],
        },
        indent=2,
    ).encode()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
