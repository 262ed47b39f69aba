"""Requests of the controllers that work on the store: they call the API server's writers directly."""

from __future__ import annotations

from typing import Final

from jobrelay.cluster.apiserver.request import ApiRequest, Info, User

MANAGER: Final = "kube-controller-manager"
_USER: Final = User("system:kube-controller-manager", ("system:masters", "system:authenticated"))


def internal_request(namespace: str) -> ApiRequest:
    """A request by kube-controller-manager."""
    return ApiRequest("POST", "", {}, {"user-agent": MANAGER}, user=_USER, info=Info("create", "", namespace=namespace))
