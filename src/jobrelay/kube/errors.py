"""The exceptions of `jobrelay.kube`.

    KubeError
    ├── ConfigError                 the kubeconfig cannot be used
    │   └── CredentialsError        a token, certificate or exec plugin did not work
    ├── TransportError              no response: the request may or may not have had an effect
    │   ├── ConnectError            the request was never sent, so a retry is always safe
    │   └── TransportTimeout        the response did not come in time
    ├── ProtocolError               the response is not what a Kubernetes API server sends
    └── StatusError                 the API server responded with an error (a `Status`)
        ├── BadRequest              400
        ├── Unauthorized            401
        ├── Forbidden               403
        ├── NotFound                404
        ├── MethodNotAllowed        405
        ├── NotAcceptable           406
        ├── AlreadyExists           409, on create
        ├── Conflict                409, on a stale resourceVersion or another field manager
        ├── Expired                 410, the resourceVersion or continue token is too old
        ├── RequestTooLarge         413
        ├── UnsupportedMediaType    415
        ├── Invalid                 422, with `causes` per field
        ├── TooManyRequests         429, with `retry_after`
        ├── InternalError           500
        ├── ServiceUnavailable      503
        └── ServerTimeout           504, and 500 with reason ServerTimeout

Exceptions of the HTTP library are never raised, only chained with `from`. `StatusError`s are chosen by `reason` as in
client-go, and by the code if a proxy responded without a Status.
"""

from __future__ import annotations

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE

from .transport import Response

__all__ = [
    "AlreadyExists", "BadRequest", "Cause", "ConfigError", "Conflict", "ConnectError", "CredentialsError", "Details",
    "Expired", "Forbidden", "InternalError", "Invalid", "KubeError", "MethodNotAllowed", "NotAcceptable", "NotFound",
    "ProtocolError", "RequestTooLarge", "ServerTimeout", "ServiceUnavailable", "Status", "StatusError",
    "TooManyRequests", "TransportError", "TransportTimeout", "Unauthorized", "UnsupportedMediaType",
    "error_from_response", "error_from_status",
]  # fmt: skip


class Cause(msgspec.Struct, frozen=True, gc=False):
    """One of several causes, usually about one field."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The object and the causes that a Status is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] | None = None
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True, gc=False):
    """The `v1.Status` that an API server returns for an error."""

    status: str = ""
    message: str = ""
    reason: str = ""
    details: Details | None = None
    code: int = 0


class KubeError(Exception):
    """Base class of all exceptions of `jobrelay.kube`."""


class ConfigError(KubeError):
    """A problem of a kubeconfig; the text says what is wrong, where, and how to fix it."""


class CredentialsError(ConfigError):
    """Credentials could not be obtained."""


class TransportError(KubeError):
    """There was no complete response, so it is unknown whether the request had an effect."""


class ConnectError(TransportError):
    """The server could not be reached; the request had no effect."""


class TransportTimeout(TransportError):
    """The response did not come in time."""


class ProtocolError(KubeError):
    """The response is not what a Kubernetes API server sends."""


_BY_REASON: dict[str, type[StatusError]] = {}
_BY_CODE: dict[int, type[StatusError]] = {}


class StatusError(KubeError):
    """The API server responded with an error, which `status` describes."""

    def __init_subclass__(cls, *, code: int | None = None, reason: str = "") -> None:
        """Register an exception for the reason of its name, for another `reason`, and for `code` without a reason."""
        _BY_REASON.update({cls.__name__: cls, reason or cls.__name__: cls})
        if code is not None:
            _BY_CODE[code] = cls

    def __init__(self, status: Status, *, retry_after: float | None = None) -> None:
        super().__init__(status.message or status.reason or f"HTTP {status.code}")
        self.status = status
        self._retry_after = retry_after

    @property
    def code(self) -> int:
        return self.status.code

    @property
    def reason(self) -> str:
        return self.status.reason

    @property
    def causes(self) -> tuple[Cause, ...]:
        details = self.status.details
        return (details.causes or ()) if details else ()

    @property
    def retry_after(self) -> float | None:
        """Seconds that the server asks to wait before a retry, None if it does not ask for one."""
        if self._retry_after is not None:
            return self._retry_after
        details = self.status.details
        return float(details.retry_after_seconds) if details and details.retry_after_seconds else None

    def has_cause(self, reason: str) -> bool:
        """Whether the Status has this cause, for example `NamespaceTerminating`."""
        return any(cause.reason == reason for cause in self.causes)


class BadRequest(StatusError, code=400): ...


class Unauthorized(StatusError, code=401): ...


class Forbidden(StatusError, code=403): ...


class NotFound(StatusError, code=404): ...


class MethodNotAllowed(StatusError, code=405): ...


class NotAcceptable(StatusError, code=406): ...


class AlreadyExists(StatusError): ...


class Conflict(StatusError, code=409): ...


class Expired(StatusError, code=410, reason="Gone"): ...


class RequestTooLarge(StatusError, code=413, reason="RequestEntityTooLarge"): ...


class UnsupportedMediaType(StatusError, code=415): ...


class Invalid(StatusError, code=422): ...


class TooManyRequests(StatusError, code=429): ...


class InternalError(StatusError, code=500): ...


class ServiceUnavailable(StatusError, code=503): ...


class ServerTimeout(StatusError, code=504, reason="Timeout"): ...


_status_decoder = msgspec.json.Decoder(Status)
_LONGEST_EXCERPT = 300


def error_from_status(status: Status, *, retry_after: float | None = None) -> StatusError:
    """The exception for a Status."""
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code, StatusError)
    return kind(status, retry_after=retry_after)


async def error_from_response(response: Response) -> StatusError:
    """The exception for a response that is not 2xx, also if it has no Status because a proxy sent it."""
    body = await response.read()
    try:
        status = _status_decoder.decode(body)
    except UNREADABLE:
        status = Status()
    if not status.code:
        message = status.message or body[:_LONGEST_EXCERPT].decode("utf-8", "replace").strip()
        status = msgspec.structs.replace(status, code=response.status, message=message)
    return error_from_status(status, retry_after=_seconds(response.headers.get("Retry-After")))


def _seconds(header: str | None) -> float | None:
    return float(header) if header and header.isascii() and header.isdigit() else None
