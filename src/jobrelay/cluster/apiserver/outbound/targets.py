"""Whom to call: a URL or a Service, and the CAs to trust, as a clientConfig names them."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec

_PORT: Final = 443


class ServiceReference(msgspec.Struct, frozen=True):
    """A Service, and the port of it (not of its endpoints) to call."""

    namespace: str
    name: str
    port: int = _PORT

    @property
    def host(self) -> str:
        """The name that the server's certificate has to be valid for."""
        return f"{self.name}.{self.namespace}.svc"


class CallTarget(msgspec.Struct, frozen=True):
    """Where calls go: `origin` is scheme, host and port as messages show them; `ca` are PEM certificates."""

    origin: str
    path: str = "/"
    service: ServiceReference | None = None
    ca: bytes = b""

    @classmethod
    def from_client_config(cls, config: Mapping[str, Any]) -> CallTarget:
        """The target of a `clientConfig`: of a webhook, or of the conversion of a CustomResourceDefinition."""
        ca = base64.b64decode(config.get("caBundle") or "")
        if (reference := config.get("service")) is not None:
            service = ServiceReference(reference["namespace"], reference["name"], reference.get("port") or _PORT)
            return cls.of_service(service, ca, reference.get("path") or "")
        url = urlsplit(config.get("url") or "")
        return cls(f"{url.scheme}://{url.netloc}", _clean(url.path), None, ca)

    @classmethod
    def of_service(cls, service: ServiceReference, ca: bytes = b"", path: str = "") -> CallTarget:
        return cls(f"https://{service.host}:{service.port}", _clean(path), service, ca)

    @property
    def url(self) -> str:
        """As messages show it, and requests name it."""
        return self.origin + quote(self.path, safe="/:@!$&'()*+,;=-._~%")


def _clean(path: str) -> str:
    """As Go's path.Join cleans it."""
    return "/" + posixpath.normpath(f"/{path}").strip("/")
