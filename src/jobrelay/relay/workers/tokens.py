"""Service account tokens: their claims, requesting new ones, and finding them in kubeconfigs.

A token is parsed but not verified, which is up to the server that issued it. Its claims are only used to know when the
next one is due.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from jobrelay.apimachinery import yaml
from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.kube import Client, ProtocolError
from jobrelay.kube.resource import SERVICEACCOUNTS


@dataclass(frozen=True, slots=True)
class ServiceAccountToken:
    """The claims of a service account token."""

    namespace: str
    account: str
    issued: datetime
    expires: datetime

    @property
    def lifetime(self) -> float:
        """From issue to expiry, in seconds."""
        return (self.expires - self.issued).total_seconds()


class _Account(msgspec.Struct):
    name: str


class _Kubernetes(msgspec.Struct):
    namespace: str
    serviceaccount: _Account


class _Claims(msgspec.Struct):
    iat: float
    exp: float
    kubernetes: _Kubernetes = msgspec.field(name="kubernetes.io")


class _TokenStatus(msgspec.Struct):
    token: str


class _TokenRequest(msgspec.Struct):
    status: _TokenStatus


def read_token(text: str) -> ServiceAccountToken | None:
    """The claims of a token; None if it is not a service account token or never expires."""
    parts = text.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)), type=_Claims)
        issued, expires = (datetime.fromtimestamp(at, UTC) for at in (claims.iat, claims.exp))
    except (binascii.Error, ValueError, OverflowError, OSError, RecursionError):
        return None
    return ServiceAccountToken(claims.kubernetes.namespace, claims.kubernetes.serviceaccount.name, issued, expires)


async def request_token(client: Client, namespace: str, account: str, seconds: float) -> str:
    """Request a new token of a service account; the server may shorten its lifetime."""
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": round(seconds)},
    }
    raw = await client.call("POST", SERVICEACCOUNTS.path(namespace, account, "token"), body=json.dumps(body).encode())
    try:
        return msgspec.json.decode(raw, type=_TokenRequest).status.token
    except UNREADABLE as error:
        raise ProtocolError(f"not a TokenRequest: {error}") from error


def token_in(kubeconfig: bytes) -> str:
    """The token of a kubeconfig's current user; empty if it has none."""
    user = _current_user(_parsed(kubeconfig))
    token = user.get("token", "") if user is not None else ""
    return token if isinstance(token, str) else ""


def kubeconfig_with(kubeconfig: bytes, token: str) -> bytes:
    """The same kubeconfig with another token for its current user."""
    config = _parsed(kubeconfig)
    user = _current_user(config)
    if user is None:
        raise ValueError("the kubeconfig has no current user")
    user["token"] = token
    return json.dumps(config, indent=2).encode()


def _parsed(kubeconfig: bytes) -> dict[str, Any]:
    try:
        found = yaml.load(kubeconfig)
    except yaml.YamlError:
        return {}
    return found if isinstance(found, dict) else {}


def _current_user(config: Mapping[str, Any]) -> dict[str, Any] | None:
    context = _named(config.get("contexts"), config.get("current-context"), "context")
    return _named(config.get("users"), context.get("user"), "user") if context is not None else None


def _named(entries: Any, name: Any, part: str) -> dict[str, Any] | None:
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(part), dict):
            found: dict[str, Any] = entry[part]
            return found
    return None
