"""Describes errors of a worker in one line for people."""

from __future__ import annotations

from jobrelay.kube import (
    ConfigError,
    ConnectError,
    Expired,
    Forbidden,
    KubeError,
    NotFound,
    ProtocolError,
    StatusError,
    TooManyRequests,
    TransportError,
    TransportTimeout,
    Unauthorized,
)
from jobrelay.kube.object_budget import BudgetExceeded

_MAX_LENGTH = 300


class AnotherCluster(KubeError):
    """The server at a known address is another cluster than before."""


class SameCluster(KubeError):
    """Two workers are the same cluster."""


_DESCRIPTIONS: tuple[tuple[type[KubeError], str], ...] = (
    (AnotherCluster, "it is another cluster now"),
    (SameCluster, "it is registered twice"),
    (BudgetExceeded, "it is set aside"),
    (Unauthorized, "it does not accept our credentials (401)"),
    (Forbidden, "it forbids this (403)"),
    (NotFound, "it does not have this (404)"),
    (TooManyRequests, "it is overloaded (429)"),
    (Expired, "it no longer has the history to go on from (410)"),
    (ConfigError, "its credentials cannot be used"),
    (ConnectError, "it cannot be reached"),
    (TransportTimeout, "it does not answer in time"),
    (TransportError, "the connection broke"),
    (ProtocolError, "it sends invalid responses"),
)


def describe(error: BaseException) -> str:
    """A general description, and the error's own message."""
    own = " ".join(str(error).split("\nhint:")[0].split()) or type(error).__name__
    text = f"{_what(error)}: {own}"
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 3]}..."


def _what(error: BaseException) -> str:
    for kind, words in _DESCRIPTIONS:
        if isinstance(error, kind):
            return words
    return f"it answers with {error.code}" if isinstance(error, StatusError) else "unexpected failure"
