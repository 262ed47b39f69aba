"""Requests that the cluster's own controllers make, straight to the writers behind the API."""

from __future__ import annotations

from typing import Final

from jobrelay.cluster.apiserver.request import ApiRequest, RequestInfo, UserInfo

MANAGER: Final = "kube-controller-manager"
_USER: Final = UserInfo("system:kube-controller-manager", ("system:masters", "system:authenticated"))


def own_request(namespace: str) -> ApiRequest:
    """A request of the cluster's own."""
    info = RequestInfo("create", "", namespace=namespace)
    return ApiRequest("POST", "", {}, {"user-agent": (MANAGER,)}, info, user=_USER)
