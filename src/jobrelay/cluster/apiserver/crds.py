"""Custom resource definitions at work: names are accepted, resources served, and taken away again.

The definition's own controllers, run straight after each commit of a definition instead of as loops: a CRD is established
within a tick of its creation. A deleted CRD takes its objects with it before it goes.
"""

from __future__ import annotations

import asyncio

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.custom import served_versions
from jobrelay.cluster.apiserver.services import Services
from jobrelay.cluster.apiserver.watch import Watches
from jobrelay.cluster.apiserver.writer import stored_json
from jobrelay.cluster.store import Change
from jobrelay.kinds.strategy import Obj
from jobrelay.kinds.times import format_time

KEY = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class Definitions:
    """Keeps the table of resources in step with the definitions in the store."""

    def __init__(self, services: Services, watches: Watches) -> None:
        self._services, self._watches = services, watches
        self._served: dict[str, Obj] = {}
        services.store.subscribe(KEY, self._changed)
        for item in services.store.snapshot(KEY).walk(""):
            self._serve(represent.stored(item.raw))

    def _changed(self, change: Change) -> None:
        asyncio.get_running_loop().call_soon(self._settle, (change.after or change.before).name)  # type: ignore[union-attr]

    def _settle(self, name: str) -> None:
        item = self._services.store.get(KEY, "", name)
        if item is None:
            self._stop_serving(name)
            return
        crd = represent.stored(item.raw)
        if crd["metadata"].get("deletionTimestamp"):
            self._clean_up(crd)
            return
        from jobrelay.kinds.crd.status import accepted_status

        others = [represent.stored(i.raw) for i in self._services.store.snapshot(KEY).walk("") if i.name != name]
        status = accepted_status(crd, others, format_time(self._services.now()))
        if status != crd.get("status"):
            crd["status"] = status
            if _is(crd, "NamesAccepted") and CLEANUP not in (crd["metadata"].get("finalizers") or []):
                crd["metadata"].setdefault("finalizers", []).append(CLEANUP)
            self._serve(crd)
            self._put(crd)
        else:
            self._serve(crd)

    def _put(self, crd: Obj) -> None:
        crd["metadata"]["resourceVersion"] = str(self._services.store.next_version())
        name = crd["metadata"]["name"]
        self._services.store.put(KEY, "", name, stored_json(crd))

    def _serve(self, crd: Obj) -> None:
        if not _is(crd, "Established"):
            return
        name = crd["metadata"]["name"]
        known = self._served.get(name)
        if known is not None and known == crd["spec"]:
            return
        if known is not None:
            self._stop_serving(name)
        for served in served_versions(crd):
            self._services.resources.add(served)
        self._served[name] = crd["spec"]

    def _stop_serving(self, name: str) -> None:
        spec = self._served.pop(name, None)
        if spec is None:
            return
        group, plural = spec["group"], spec["names"]["plural"]
        for served in list(self._services.resources):
            if served.group == group and served.plural == plural:
                self._watches.close_resource(served)
        self._services.resources.remove_custom(group, plural)

    def _clean_up(self, crd: Obj) -> None:
        """Deletes the objects of a definition that is being deleted, then lets it go."""
        name = crd["metadata"]["name"]
        key = f"{crd['spec']['names']['plural']}.{crd['spec']['group']}"
        left = 0
        for item in list(self._services.store.snapshot(key).walk("")):
            obj = represent.stored(item.raw)
            if obj["metadata"].get("finalizers"):
                left += 1
                if not obj["metadata"].get("deletionTimestamp"):
                    obj["metadata"]["deletionTimestamp"] = format_time(self._services.now())
                    obj["metadata"]["deletionGracePeriodSeconds"] = 0
                    obj["metadata"]["resourceVersion"] = str(self._services.store.next_version())
                    self._services.store.put(key, item.namespace, item.name, stored_json(obj))
                continue
            obj["metadata"]["resourceVersion"] = str(self._services.store.next_version())
            self._services.store.delete(key, item.namespace, item.name, stored_json(obj))
        if left:
            asyncio.get_running_loop().call_later(0.2, self._settle, name)
            return
        finalizers = [f for f in crd["metadata"].get("finalizers") or [] if f != CLEANUP]
        if finalizers:
            if finalizers != crd["metadata"].get("finalizers"):
                crd["metadata"]["finalizers"] = finalizers
                self._put(crd)
            return
        crd["metadata"].pop("finalizers", None)
        crd["metadata"]["resourceVersion"] = str(self._services.store.next_version())
        self._services.store.delete(KEY, "", name, stored_json(crd))


def _is(crd: Obj, condition: str) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or []
    return any(c["type"] == condition and c["status"] == "True" for c in conditions)
