"""What the API server asks of nodes, as it would of kubelets: the logs of containers, and commands in them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Protocol

from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.kinds.strategy import Obj


@dataclass(frozen=True, slots=True)
class PodLogOptions:
    """The options of a log request."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    limit: int | None = None
    since: dt.datetime | None = None


class NodeStreams(Protocol):
    """The part of the kubelet API that the API server uses. Both methods raise ApiError."""

    def logs(self, pod: Obj, container: str, options: PodLogOptions) -> ApiResponse:
        """The log of a container."""

    def connect(self, pod: Obj, container: str, request: ApiRequest) -> ApiResponse:
        """A command in a container (`exec`), or its own streams (`attach`)."""
