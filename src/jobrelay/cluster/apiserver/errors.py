"""The API server's errors: each is a Status in the words of the real server.

Code anywhere behind the request handler raises `ApiError`; the handler turns it into the answer. The constructors are
named after the `reason` that they produce.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jobrelay.apimachinery.field import FieldError, aggregate, go_quote

OPTIMISTIC_LOCK = "the object has been modified; please apply your changes to the latest version and try again"


class ApiError(Exception):
    """An answer that is not a success. `continue_` is the token with which a list that expired may go on."""

    def __init__(
        self, code: int, reason: str, message: str, *, details: dict[str, Any] | None = None, plain: bool = False,
        continue_: str = "",
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.code, self.reason, self.message, self.details, self.plain = code, reason, message, details, plain
        self.continue_ = continue_

    def status(self) -> dict[str, Any]:
        metadata = {"continue": self.continue_} if self.continue_ else {}
        body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure"}
        if self.message:
            body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def qualified(group: str, resource: str) -> str:
    """`jobs.batch`, or `pods` for the core group."""
    return f"{resource}.{group}" if group else resource


def details(group: str, kind: str, name: str = "", **more: Any) -> dict[str, Any]:
    found = {"name": name, "group": group, "kind": kind, **more}
    return {key: value for key, value in found.items() if value}


def not_found(group: str, resource: str, name: str) -> ApiError:
    message = f"{qualified(group, resource)} {go_quote(name)} not found"
    return ApiError(404, "NotFound", message, details=details(group, resource, name))


def no_such_resource() -> ApiError:
    """A path that names no resource of a group that is served."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def page_not_found() -> ApiError:
    return ApiError(404, "", "404 page not found\n", plain=True)


def already_exists(group: str, resource: str, name: str) -> ApiError:
    message = f"{qualified(group, resource)} {go_quote(name)} already exists"
    return ApiError(409, "AlreadyExists", message, details=details(group, resource, name))


def conflict(group: str, resource: str, name: str, why: str) -> ApiError:
    message = f"Operation cannot be fulfilled on {qualified(group, resource)} {go_quote(name)}: {why}"
    return ApiError(409, "Conflict", message, details=details(group, resource, name))


def invalid(group: str, kind: str, name: str, errors: Iterable[FieldError]) -> ApiError:
    found = list(errors)
    message = f"{qualified(group, kind)} {go_quote(name)} is invalid"
    if found:
        message += f": {aggregate(found)}"
    causes = [error.cause() for error in found]
    return ApiError(422, "Invalid", message, details=details(group, kind, name, causes=causes))


def forbidden(group: str, resource: str, name: str, why: str) -> ApiError:
    subject = f"{qualified(group, resource)} {go_quote(name)}" if name else qualified(group, resource)
    message = f"{subject} is forbidden: {why}" if resource else f"forbidden: {why}"
    return ApiError(403, "Forbidden", message, details=details(group, resource, name))


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def method_not_supported(group: str, resource: str, action: str) -> ApiError:
    message = f'{action} is not supported on resources of kind "{qualified(group, resource)}"'
    return ApiError(405, "MethodNotAllowed", message, details=details(group, resource))


def method_not_allowed() -> ApiError:
    return ApiError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", details={}
    )


def not_acceptable(accepted: Sequence[str]) -> ApiError:
    return ApiError(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(accepted)}")


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return ApiError(415, "UnsupportedMediaType", message)


def too_large(message: str) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def expired(message: str, continue_: str = "") -> ApiError:
    return ApiError(410, "Expired", message, continue_=continue_)


def internal(message: str) -> ApiError:
    text = f"Internal error occurred: {message}"
    return ApiError(500, "InternalError", text, details={"causes": [{"message": message}]})


def unknown(message: str, code: int = 500) -> ApiError:
    """An error that Kubernetes itself does not classify."""
    return ApiError(code, "", message)


def version_too_large(wanted: int, current: int) -> ApiError:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return ApiError(504, "Timeout", message, details={"causes": [cause], "retryAfterSeconds": 1})


def timeout(message: str) -> ApiError:
    return ApiError(504, "Timeout", f"Timeout: {message}", details={})


def out_of_time() -> ApiError:
    """A request took longer than it asked for; Kubernetes does not say of what kind its answer is."""
    text = (
        '{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",'
        '"reason":"Timeout","details":{},"code":504}\n'
    )
    return ApiError(504, "Timeout", text, plain=True)


def too_many_requests(message: str, retry_after: int, causes: Sequence[dict[str, str]] = ()) -> ApiError:
    found: dict[str, Any] = {"retryAfterSeconds": retry_after} if retry_after else {}
    if causes:
        found["causes"] = list(causes)
    return ApiError(429, "TooManyRequests", message, details=found)
