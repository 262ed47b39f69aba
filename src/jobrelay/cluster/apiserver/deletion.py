"""Deleting: at once, after a grace period, or when finalizers are done; one object or a collection.

An object with finalizers, or one whose propagation policy adds one, is only marked: it is removed when an update
empties its finalizers. Pods that run get a grace period and stay until they are deleted again with none. Webhooks and
policies are asked where a real server asks them: before an object is marked, and again before it is removed.
"""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import replace
from typing import Any, Final

from jobrelay.apimachinery.times import format_time, parse_time, shifted
from jobrelay.cluster.apiserver import admission, crds, errors, represent, storage
from jobrelay.cluster.apiserver.admission import AdmissionRequest
from jobrelay.cluster.apiserver.calls import Outdated, Steps, check_time
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.options import DeleteOptions
from jobrelay.cluster.apiserver.ownership import set_or_remove
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.store import Item
from jobrelay.kinds.strategy import Obj

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
Deleted = tuple[bool, dict[str, Any] | bytes]  # whether it is gone, and the answer: a Status, or its stored JSON


class Deleter:
    """Carries out deletions of one resource for one request. `admits`: whether admission has a say."""

    def __init__(
        self,
        server: ServerContext,
        request: ApiRequest,
        served: ServedResource,
        options: DeleteOptions,
        *,
        admits: bool = True,
    ) -> None:
        self.server, self.request, self.served, self.options = server, request, served, options
        self._admits, self._of_many = admits, request.info.verb == "deletecollection"

    def delete(self, namespace: str, name: str) -> Steps[Deleted]:
        """Deletes one object."""
        self.warn()
        begin = time.monotonic()
        while True:
            item = self.server.store.get(self.served.key, namespace, name)
            if item is None and self._of_many:
                return True, {}
            if item is None:
                raise errors.not_found(self.served.group, self.served.plural, name)
            try:
                return (yield from self._delete(item))
            except Outdated:  # it was changed while webhooks were asked about it
                check_time(begin)

    def _delete(self, item: Item) -> Steps[Deleted]:
        obj = self._current(item)
        self.check_preconditions(obj)
        admission.run(admission.DELETE.validating, self._admission(item, obj))
        if self.served.key == "namespaces":
            return (yield from self._delete_namespace(obj, item))
        if self.served.key == crds.KEY and not obj["metadata"].get("deletionTimestamp"):
            yield from self._review(item)
            crds.begin_deletion(obj, format_time(self.server.now()))
            return False, self._update(obj, item)
        graceful, pending = self._grace(obj)
        if pending:
            return False, self._deleted_answer(item.raw, obj)
        finalizers = self._finalizers(obj)
        before = obj["metadata"].get("finalizers") or []
        if graceful or before or set(finalizers) != set(before):
            yield from self._review(item, obj)
            if set(finalizers) != set(before):
                set_or_remove(obj["metadata"], "finalizers", finalizers)
            if finalizers and not graceful:
                mark_as_deleting(obj, self.server.now())
            if finalizers or obj["metadata"].get("deletionGracePeriodSeconds"):
                return False, self._update(obj, item)
            if graceful and not self.options.dry_run:
                self._update(obj, item)
            if self.options.dry_run:
                return True, self._remove(obj, item)
        newest = self.server.store.get(self.served.key, item.namespace, item.name) or item
        yield from self._review(newest, obj, obj if graceful and newest is item else None)
        return True, self._remove(obj, item)

    def _current(self, item: Item) -> Obj:
        """The stored object; a custom resource in the version of the request."""
        if self.served.custom is None or self.served.from_storage is None:
            return represent.stored(item.raw)
        return storage.current(self.served, item)

    def _stored(self, obj: Obj, item: Item) -> Obj:
        """An object as it is stored; one that was not changed stays in the form that it is stored in."""
        if self.served.custom is None or self.served.from_storage is None:
            return obj
        return represent.stored(item.raw) if obj == self._current(item) else storage.to_storage(self.served, obj)

    def _admission(self, item: Item, old: Obj, period: int | None = None) -> AdmissionRequest:
        """What admission sees of a deletion: options with the `period` of grace, and a name unless it is of many."""
        name = "" if self._of_many else item.name
        options = self.options if period is None else replace(self.options, grace_period=period)
        return AdmissionRequest(
            self.server, self.request, self.served, "DELETE", item.namespace, name, old=old,
            dry_run=self.options.dry_run, deletion=options,
        )  # fmt: skip

    def _review(self, item: Item, marked: Obj | None = None, staged: Obj | None = None) -> Steps[None]:
        """Asks webhooks and policies; raises Outdated if the object is another one afterwards.

        `marked` is the object as it is to become: for a kind with a grace period, that is part of the options. `staged`
        is the object where it was changed, but the change is not in the store yet.
        """
        if not self._admits or not admission.has_a_say(self.server, self.served, "", "DELETE"):
            return
        graceful = marked is not None and self.served.strategy.grace_period is not None
        period = marked["metadata"].get("deletionGracePeriodSeconds") if marked is not None and graceful else None
        old = staged or represent.stored(item.raw)
        request = self._admission(item, represent.versioned(self.served, old), period)
        waited = yield from admission.review(request)
        if waited and self.server.store.get(self.served.key, item.namespace, item.name) is not item:
            raise Outdated

    def warn(self) -> None:
        """Warns of what a deletion without a propagation policy does, even when there is nothing to delete."""
        if self.options.propagation is None and self.options.orphan is None:
            self.request.warn(*self.served.strategy.warn_delete)

    def check_preconditions(self, obj: Obj) -> None:
        """Refuses to delete an object that is not the one that was meant."""
        metadata, kind = obj["metadata"], self.served.kind
        group = (
            "" if self.served.key == "events" else self.served.group
        )  # Events of both groups are stored as core ones
        if self.served.key == crds.KEY:
            self._check_definition(metadata)
        if self.options.uid is not None and self.options.uid != metadata["uid"]:
            why = (
                f"the UID in the precondition ({self.options.uid}) does not match the UID in record "
                f"({metadata['uid']}). The object might have been deleted and then recreated"
            )
            raise errors.conflict(group, kind, metadata["name"], why)
        if self.options.version is not None and self.options.version != metadata["resourceVersion"]:
            why = (
                f"the ResourceVersion in the precondition ({self.options.version}) does not match the ResourceVersion "
                f"in record ({metadata['resourceVersion']}). The object might have been modified"
            )
            raise errors.conflict(group, kind, metadata["name"], why)

    def _check_definition(self, metadata: dict[str, Any]) -> None:
        """The preconditions of CRDs, which have a message of their own."""
        for label, key, wanted in (
            ("UID", "uid", self.options.uid),
            ("ResourceVersion", "resourceVersion", self.options.version),
        ):
            if wanted is not None and wanted != metadata[key]:
                why = f"Precondition failed: {label} in precondition: {wanted}, {label} in object meta: {metadata[key]}"
                raise errors.conflict(self.served.group, self.served.plural, metadata["name"], why)

    def _grace(self, obj: Obj) -> tuple[bool, bool]:
        """Whether the object changes for a graceful deletion, and whether one is already under way."""
        find = self.served.strategy.grace_period
        if find is None:
            return False, False
        metadata, wanted = obj["metadata"], self.options.grace_period
        if metadata.get("deletionTimestamp"):
            period = metadata.get("deletionGracePeriodSeconds") or 0
            if not period:
                return False, False
            if wanted is None or wanted >= period:
                return False, True
            self._shorten(metadata, period, wanted)
            return True, False
        period = find(obj, wanted)
        end = shifted(self.server.now(), period)
        metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = format_time(end), period
        _bump_generation(metadata)
        return True, False

    def _shorten(self, metadata: dict[str, Any], period: int, wanted: int) -> None:
        now = self.server.now().replace(microsecond=0)
        end = shifted(parse_time(metadata["deletionTimestamp"]), wanted - period)
        if end < now:
            end, wanted = now, 1 if wanted else 0
        metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = format_time(end), wanted

    def _finalizers(self, obj: Obj) -> list[str]:
        """The finalizers after the deletion's policy has been taken into account."""
        before: list[str] = obj["metadata"].get("finalizers") or []
        default = self.served.strategy.default_propagation
        if default == "Unsupported":
            return before
        kept = [f for f in before if f not in (ORPHAN, FOREGROUND)]
        if self.options.orphan is not None:
            policy = "Orphan" if self.options.orphan else "Background"
        elif self.options.propagation is not None:
            policy = self.options.propagation
        else:
            policy = next((p for f, p in ((ORPHAN, "Orphan"), (FOREGROUND, "Foreground")) if f in before), default)
        return kept + {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(policy, [])

    def _delete_namespace(self, obj: Obj, item: Item) -> Steps[Deleted]:
        """Marks a namespace as terminating; it is removed when its contents and finalizers are gone."""
        if not obj["metadata"].get("deletionTimestamp"):
            yield from self._review(item)
            obj["metadata"]["deletionTimestamp"] = format_time(self.server.now())
            obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
            if self.options.propagation == "Orphan" or self.options.orphan:
                set_or_remove(obj["metadata"], "finalizers", [*(obj["metadata"].get("finalizers") or []), ORPHAN])
            return False, self._update(obj, item)
        if (obj.get("spec") or {}).get("finalizers") or obj["metadata"].get("finalizers"):
            return False, item.raw
        yield from self._review(item)
        return True, self._remove(obj, item)

    def _update(self, obj: Obj, item: Item) -> bytes:
        stored = self._stored(obj, item)
        if self.options.dry_run:
            return storage.stored_json(stored)
        if stored == represent.stored(item.raw):
            return item.raw
        return storage.put(self.server.store, self.served.key, item.namespace, item.name, stored)

    def _remove(self, obj: Obj, item: Item) -> dict[str, Any] | bytes:
        stored = self._stored(obj, item)
        if self.options.dry_run:
            return self._deleted_answer(storage.stored_json(stored), obj)
        raw = storage.remove(self.server.store, self.served.key, item.namespace, item.name, stored)
        return self._deleted_answer(raw, obj)

    def _deleted_answer(self, raw: bytes, obj: Obj) -> dict[str, Any] | bytes:
        if self.served.strategy.delete_returns_object:
            return raw
        metadata = obj["metadata"]
        details = errors.details(self.served.group, self.served.plural, metadata["name"], uid=metadata["uid"])
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def mark_as_deleting(obj: Obj, now: dt.datetime) -> None:
    """Sets the deletion time (never later than it was) and a grace period of zero."""
    metadata = obj["metadata"]
    if not metadata.get("deletionTimestamp"):
        _bump_generation(metadata)
    if not metadata.get("deletionTimestamp") or parse_time(metadata["deletionTimestamp"]) > now:
        metadata["deletionTimestamp"] = format_time(now)
    metadata["deletionGracePeriodSeconds"] = 0


def _bump_generation(metadata: dict[str, Any]) -> None:
    if metadata.get("generation"):
        metadata["generation"] += 1
