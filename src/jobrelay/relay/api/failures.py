"""Refusals of the API, as the Status objects that clients of Kubernetes expect."""

from __future__ import annotations

from typing import Any, Final

NOT_STARTED: Final = "NotStarted"
"""The cause of a refusal that may not last: nothing of the workload has started yet."""


class ApiFailure(Exception):
    """A request is answered by a Status: a code, a reason for machines, a message, and perhaps a cause."""

    def __init__(self, code: int, reason: str, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.cause = code, reason, message, cause

    def status(self) -> dict[str, Any]:
        """The Status object."""
        details = {"details": {"causes": [{"reason": self.cause, "message": self.message}]}} if self.cause else {}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **details,
            "code": self.code,
        }


def bad_request(message: str) -> ApiFailure:
    return ApiFailure(400, "BadRequest", message)


def not_found(message: str) -> ApiFailure:
    return ApiFailure(404, "NotFound", message)


def not_started(message: str) -> ApiFailure:
    """As a kubelet answers for a container that waits."""
    return ApiFailure(400, "BadRequest", message, NOT_STARTED)


def unauthorized(message: str) -> ApiFailure:
    return ApiFailure(401, "Unauthorized", message)


def unanswered(message: str) -> ApiFailure:
    """Another cluster does not answer; 503 would say that of the relay."""
    return ApiFailure(504, "Timeout", message)


def unavailable(message: str) -> ApiFailure:
    return ApiFailure(503, "ServiceUnavailable", message)
