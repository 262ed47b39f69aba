"""What every namespace has: the `default` service account, and the CA certificate of the cluster as a ConfigMap.

Both are made when the namespace is, and again when they are deleted; the certificate is put right when it is changed.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.body import ProposedObject
from jobrelay.cluster.apiserver.calls import BackgroundWrites
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.errors import ApiError
from jobrelay.cluster.apiserver.options import WriteOptions
from jobrelay.cluster.apiserver.writes import WriteRequest, create
from jobrelay.cluster.controllers.internal import edit, internal_request
from jobrelay.cluster.store import Change
from jobrelay.kinds.strategy import Obj
from jobrelay.logs import get_logger

log = get_logger(__name__)
RETRY: Final = 1.0  # seconds after which what admission refused is tried again
ACCOUNT: Final = "default"
ROOT_CA: Final = "kube-root-ca.crt"
_ANNOTATION: Final = "kubernetes.io/description"
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
    "Kubernetes clusters."
)


class NamespaceDefaults:
    """Gives namespaces what every one of them has."""

    def __init__(self, services: ServerContext, authority: str) -> None:
        self._services, self._data = services, {"ca.crt": authority}
        self._again: dict[str, asyncio.TimerHandle] = {}
        self._writes = BackgroundWrites(services.outbound, lambda key: self.fill(key[1]))

    def start(self) -> None:
        self._services.store.subscribe("serviceaccounts", self._changed)
        self._services.store.subscribe("configmaps", self._changed)

    def stop(self) -> None:
        self._writes.stop()
        for timer in self._again.values():
            timer.cancel()

    def _changed(self, change: Change) -> None:
        item = change.before
        if item is not None and item.name in (ACCOUNT, ROOT_CA):
            asyncio.get_running_loop().call_soon(self.fill, item.namespace)

    def fill(self, name: str) -> None:
        """Makes what is missing in a namespace that is not being deleted."""
        namespace = self._services.store.get("namespaces", "", name)
        if namespace is None or represent.cached(namespace.raw)["metadata"].get("deletionTimestamp"):
            return
        try:
            self._ensure(name, "serviceaccounts", {"metadata": {"name": ACCOUNT, "namespace": name}})
            metadata = {"name": ROOT_CA, "namespace": name, "annotations": {_ANNOTATION: _DESCRIPTION}}
            self._ensure(name, "configmaps", {"metadata": metadata, "data": self._data})
            self._put_right(name)
        except ApiError as error:
            log.warning("namespace not filled", namespace=name, error=error.message)
            if name not in self._again:
                self._again[name] = asyncio.get_running_loop().call_later(RETRY, self._try_again, name)

    def _try_again(self, name: str) -> None:
        self._again.pop(name, None)
        self.fill(name)

    def _ensure(self, namespace: str, plural: str, obj: dict[str, Any]) -> None:
        if self._services.store.get(plural, namespace, obj["metadata"]["name"]) is not None:
            return
        served = self._services.resources.get("", "v1", plural)
        assert served is not None
        made = served.decode(obj, None)
        served.strategy.default(made)
        write = WriteRequest(self._services, internal_request(namespace), served, WriteOptions())
        self._writes.carry_out((plural, namespace), create(write, ProposedObject(made)))

    def _put_right(self, namespace: str) -> None:
        """The certificate is the cluster's, and what it is for is described."""
        item = self._services.store.get("configmaps", namespace, ROOT_CA)
        served = self._services.resources.get("", "v1", "configmaps")
        assert served is not None
        if item is None:
            return  # webhooks are asked about it
        found = represent.cached(item.raw)
        if found.get("data") == self._data and (found["metadata"].get("annotations") or {}).get(_ANNOTATION):
            return

        def change(obj: Obj) -> None:
            obj["data"] = self._data
            annotations = obj["metadata"].get("annotations") or {}
            obj["metadata"]["annotations"] = {**annotations, _ANNOTATION: _DESCRIPTION}

        self._writes.carry_out((served.plural, namespace), edit(self._services, served, namespace, ROOT_CA, change))
