"""Why a call failed, in the words of Go's HTTP client."""

from __future__ import annotations

import errno
from typing import Final

import aiohttp

_SYSTEM_TEXTS: Final = {
    errno.ECONNREFUSED: "connection refused", errno.ECONNRESET: "connection reset by peer",
    errno.EHOSTUNREACH: "no route to host", errno.ENETUNREACH: "network is unreachable", errno.EPIPE: "broken pipe",
    errno.EADDRNOTAVAIL: "cannot assign requested address",
}  # fmt: skip
_DEADLINE: Final = "context deadline exceeded"
_TLS_TEXTS: Final = {
    "WRONG_VERSION_NUMBER": "http: server gave HTTP response to HTTPS client",
    "HTTP_REQUEST": "http: server gave HTTP response to HTTPS client",
    "TLSV1_ALERT_PROTOCOL_VERSION": "remote error: tls: protocol version not supported",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "remote error: tls: certificate required",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "remote error: tls: handshake failure",
    "TLSV1_UNRECOGNIZED_NAME": "remote error: tls: unrecognized name",
}


FAILURES: Final = (aiohttp.ClientError, TimeoutError, OSError)  # what connections and the client raise


class OutboundError(Exception):
    """A call that got no answer; its text is the message of Go's client, with the method and URL in front."""


def describe(error: BaseException, address: str) -> str:
    """What went wrong on the way to `address`, apart from its certificate."""
    if isinstance(error, TimeoutError):
        return _DEADLINE
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return _tls(error.os_error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"dial tcp {address}: connect: {_system(error.os_error)}"
    if isinstance(error, (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError)):
        return "EOF"
    if isinstance(error, OSError):
        return f"read tcp {address}: read: {_system(error)}"
    return f"net/http: HTTP/1.x transport connection broken: {error}"


def _system(error: OSError) -> str:
    return _SYSTEM_TEXTS.get(error.errno or 0) or (error.strerror or str(error)).lower()


def _tls(error: OSError) -> str:
    reason = getattr(error, "reason", None) or ""
    return _TLS_TEXTS.get(reason) or f"tls: {reason.lower().replace('_', ' ') or error}"
