"""Everything that can go wrong when talking to a cluster.

    KubeError
    ├── ConfigError                 the kubeconfig cannot be used as it is
    │   └── CredentialsError        a token, certificate or exec plugin could not be had
    ├── TransportError              no answer: the request may or may not have been carried out
    │   ├── ConnectError            the request was never sent, so trying again is always safe
    │   └── TransportTimeout        the answer did not come in time
    ├── ProtocolError               an answer came, but Kubernetes does not speak like that
    └── StatusError                 the API server said no (carries its `Status`)
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

The HTTP library underneath never leaks: its exceptions are chained with `from`, so a traceback still shows them.
`StatusError` is mapped by `reason` first, as client-go does, and by the code where a proxy answered without a Status.
"""

from __future__ import annotations

import msgspec

from .transport import Response

__all__ = [
    "AlreadyExists",
    "BadRequest",
    "Cause",
    "ConfigError",
    "Conflict",
    "ConnectError",
    "CredentialsError",
    "Details",
    "Expired",
    "Forbidden",
    "InternalError",
    "Invalid",
    "KubeError",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "ProtocolError",
    "RequestTooLarge",
    "ServerTimeout",
    "ServiceUnavailable",
    "Status",
    "StatusError",
    "TooManyRequests",
    "TransportError",
    "TransportTimeout",
    "Unauthorized",
    "UnsupportedMediaType",
    "error_from_response",
    "error_from_status",
]


class Cause(msgspec.Struct, frozen=True, gc=False):
    """One reason among several, usually about one field."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a Status is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] | None = None
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True, gc=False):
    """The `v1.Status` an API server answers with instead of an object."""

    status: str = ""
    message: str = ""
    reason: str = ""
    details: Details | None = None
    code: int = 0


class KubeError(Exception):
    """Base of everything raised by `jobrelay.kube`."""


class ConfigError(KubeError):
    """A kubeconfig problem; the text says what is wrong, where, and how to mend it."""


class CredentialsError(ConfigError):
    """Credentials could not be obtained."""


class TransportError(KubeError):
    """There was no complete answer, so whether the request took effect is unknown."""


class ConnectError(TransportError):
    """The server could not be reached; the request had no effect."""


class TransportTimeout(TransportError):
    """The server took too long."""


class ProtocolError(KubeError):
    """The answer is not what a Kubernetes API server sends."""


class StatusError(KubeError):
    """The API server refused, and explained itself in `status`."""

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
        """Seconds the server asks to wait before the next try, None when it does not invite one."""
        if self._retry_after is not None:
            return self._retry_after
        details = self.status.details
        return float(details.retry_after_seconds) if details and details.retry_after_seconds else None

    def has_cause(self, reason: str) -> bool:
        """Whether the server named this cause, for example `NamespaceTerminating`."""
        return any(cause.reason == reason for cause in self.causes)


class BadRequest(StatusError): ...


class Unauthorized(StatusError): ...


class Forbidden(StatusError): ...


class NotFound(StatusError): ...


class MethodNotAllowed(StatusError): ...


class NotAcceptable(StatusError): ...


class AlreadyExists(StatusError): ...


class Conflict(StatusError): ...


class Expired(StatusError): ...


class RequestTooLarge(StatusError): ...


class UnsupportedMediaType(StatusError): ...


class Invalid(StatusError): ...


class TooManyRequests(StatusError): ...


class InternalError(StatusError): ...


class ServiceUnavailable(StatusError): ...


class ServerTimeout(StatusError): ...


_BY_REASON: dict[str, type[StatusError]] = {
    "BadRequest": BadRequest,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "NotFound": NotFound,
    "MethodNotAllowed": MethodNotAllowed,
    "NotAcceptable": NotAcceptable,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Gone": Expired,
    "Expired": Expired,
    "RequestEntityTooLarge": RequestTooLarge,
    "UnsupportedMediaType": UnsupportedMediaType,
    "Invalid": Invalid,
    "TooManyRequests": TooManyRequests,
    "InternalError": InternalError,
    "ServiceUnavailable": ServiceUnavailable,
    "ServerTimeout": ServerTimeout,
    "Timeout": ServerTimeout,
}

_BY_CODE: dict[int, type[StatusError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Expired,
    413: RequestTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: ServiceUnavailable,
    504: ServerTimeout,
}

_status_decoder = msgspec.json.Decoder(Status)
_LONGEST_EXCERPT = 300


def error_from_status(status: Status, *, retry_after: float | None = None) -> StatusError:
    """The exception for a Status, wherever it came from."""
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code, StatusError)
    return kind(status, retry_after=retry_after)


async def error_from_response(response: Response) -> StatusError:
    """The exception for an answer that is not 2xx, also when a proxy or a text page answered."""
    body = await response.read()
    try:
        status = _status_decoder.decode(body)
    except (msgspec.DecodeError, RecursionError):
        status = Status()
    if not status.code:
        message = status.message or body[:_LONGEST_EXCERPT].decode("utf-8", "replace").strip()
        status = msgspec.structs.replace(status, code=response.status, message=message)
    return error_from_status(status, retry_after=_seconds(response.headers.get("Retry-After")))


def _seconds(header: str | None) -> float | None:
    return float(header) if header and header.isascii() and header.isdigit() else None
