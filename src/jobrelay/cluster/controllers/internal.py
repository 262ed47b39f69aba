"""Requests of the controllers that work on the store: they call the API server's writers directly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.body import ProposedObject
from jobrelay.cluster.apiserver.calls import Steps
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.custom import as_stored
from jobrelay.cluster.apiserver.options import WriteOptions
from jobrelay.cluster.apiserver.request import ApiRequest, RequestInfo, UserInfo
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.writes import WriteRequest, update
from jobrelay.kinds.apiextensions.conversion import stored_version
from jobrelay.kinds.strategy import Obj

MANAGER: Final = "kube-controller-manager"
_USER: Final = UserInfo("system:kube-controller-manager", ("system:masters", "system:authenticated"))


def internal_request(namespace: str) -> ApiRequest:
    """A request by kube-controller-manager."""
    info = RequestInfo("create", "", namespace=namespace)
    return ApiRequest("POST", "", {}, {"user-agent": (MANAGER,)}, info, user=_USER)


def edit(
    services: ServerContext, served: ServedResource, namespace: str, name: str, change: Callable[[Obj], None], *,
    subresource: str = "",
) -> Steps[object]:  # fmt: skip
    """Updates a stored object by kube-controller-manager: `change` changes it in place."""
    write = WriteRequest(services, internal_request(namespace), served, WriteOptions(), subresource)

    def propose(old: Obj | None) -> ProposedObject:
        new = represent.stored(represent.encode(old))
        change(new)
        return ProposedObject(new)

    return update(write, name, propose)


def served_as_stored(services: ServerContext, key: str, namespace: str, name: str) -> ServedResource | None:
    """The resource of an object, as it is stored: only its metadata is changed, so that nothing is converted."""
    found = [served for served in services.resources if served.key == key]
    if not found or found[0].custom is None:
        return next((served for served in found if served.from_storage is None), None)
    item = services.store.get(key, namespace, name)
    version = stored_version(represent.stored(item.raw), "") if item is not None else ""
    served = next((each for each in found if each.version == (version or each.storage_version)), found[0])
    return as_stored(served, version) if version else served.unconverted
