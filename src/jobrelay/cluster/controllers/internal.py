"""Requests that the cluster's own controllers make, straight to the writers behind the API."""

from __future__ import annotations

from typing import Final

from jobrelay.cluster.apiserver.request import ApiRequest, Info, User

MANAGER: Final = "kube-controller-manager"
_USER: Final = User("system:kube-controller-manager", ("system:masters", "system:authenticated"))


def internal_request(namespace: str) -> ApiRequest:
    """A request of the cluster's own."""
    return ApiRequest("POST", "", {}, {"user-agent": MANAGER}, user=_USER, info=Info("create", "", namespace=namespace))
