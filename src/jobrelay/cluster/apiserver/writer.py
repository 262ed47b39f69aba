"""Writing: create, update and patch, from the decoded object to the store.

All of a write between reading the stored object and putting the new one runs without giving way to other requests, so
there are no conflicts to retry: a patch always meets the newest object. Only the wait for the commit is asynchronous.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from jobrelay.apimachinery import field
from jobrelay.apimachinery.apply import restore_times
from jobrelay.apimachinery.field import Path
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import admission, errors, represent
from jobrelay.cluster.apiserver.attempt import Attempt
from jobrelay.cluster.apiserver.options import WriteOptions
from jobrelay.cluster.apiserver.ownership import track
from jobrelay.cluster.apiserver.reader import parse_version
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import Served
from jobrelay.cluster.apiserver.services import Services
from jobrelay.cluster.store import Item
from jobrelay.kinds.strategy import Obj

_REGISTRY_PATHS: Final = {
    "services": "services/specs", "endpoints": "services/endpoints", "nodes": "minions",
    "replicationcontrollers": "controllers", "ingresses.networking.k8s.io": "ingress",
    "apiservices.apiregistration.k8s.io": "apiregistration.k8s.io/apiservices",
    "customresourcedefinitions.apiextensions.k8s.io": "apiextensions.k8s.io/customresourcedefinitions",
}  # fmt: skip
MakeNew = Callable[[Obj | None], Obj]


def manager_of(request: ApiRequest, options: WriteOptions) -> str:
    """The field manager of a write: the one named, else what the user agent starts with."""
    if options.field_manager:
        return options.field_manager
    return _program(request.header("user-agent"))


@functools.lru_cache(maxsize=256)
def _program(agent: str) -> str:
    return "".join(char for char in agent.split("/", 1)[0] if char.isprintable())[:128]


class Writer:
    """Carries out one write request."""

    def __init__(
        self, services: Services, request: ApiRequest, served: Served, options: WriteOptions, subresource: str = ""
    ) -> None:
        self.services, self.request, self.served, self.options = services, request, served, options
        self.subresource = subresource
        self.namespace = request.info.namespace if served.namespaced else ""

    # Create.

    def create(self, obj: Obj) -> bytes:
        """Stores a new object; returns its stored JSON."""
        metadata = obj["metadata"]
        for key in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
            metadata.pop(key, None)
        self.match_namespace(metadata)
        self.track(None, obj, self.request.sent_managed)
        return self._create_once(obj)

    def _create_once(self, obj: Obj) -> bytes:
        if self.served.custom is not None and self.served.custom.terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise errors.forbidden(self.served.group, self.served.plural, obj["metadata"].get("name", ""), why)
        attempt = self._attempt("CREATE", obj, None)
        admission.run(admission.CREATE, attempt)
        raw = self._insert(obj)
        self._remember(attempt)
        return raw

    def _remember(self, attempt: Attempt) -> None:
        if not self.options.dry_run:
            change = self.services.unsettled.add if attempt.unsettled else self.services.unsettled.discard
            change(attempt.metadata["uid"])

    def _insert(self, obj: Obj) -> bytes:
        metadata = obj["metadata"]
        name = metadata["name"]
        if self._checked(metadata.get("resourceVersion", "")) and not self.options.dry_run:
            raise errors.unknown("resourceVersion should not be set on objects to be created")
        if not metadata.get("resourceVersion"):
            metadata.pop("resourceVersion", None)
        present = self.services.store.get(self.served.key, self.namespace, name)
        if present is not None:
            taken = errors.already_exists(self.served.group, self.served.plural, name)
            if represent.stored(present.raw)["metadata"].get("deletionTimestamp"):
                taken.message = f"object is being deleted: {taken.message}"
            raise taken
        return self._put(obj, name)

    def _put(self, obj: Obj, name: str) -> bytes:
        if self.served.to_storage is not None:
            obj = self.served.to_storage(obj)
        if self.options.dry_run:
            return stored_json(obj)
        obj["metadata"]["resourceVersion"] = str(self.services.store.next_version())
        raw = stored_json(obj)
        self.services.store.put(self.served.key, self.namespace, name, raw)
        return raw

    # Update and patch.

    def update(self, name: str, make: MakeNew, *, uid: str = "", create: bool = False) -> tuple[bytes, bool]:
        """Replaces an object by what `make` returns for the stored one; tells whether it was created.

        `make` gets None when there is no object and `create` (or the kind) allows to create one.
        """
        item = self.services.store.get(self.served.key, self.namespace, name)
        if item is None:
            if not create and not self.served.strategy.create_on_update:
                raise errors.not_found(self.served.group, self.served.plural, name)
            if uid:
                raise self._uid_conflict(name, uid, "")
            return self._create_by_update(make), True
        old = self._old(item)
        if uid and uid != old["metadata"]["uid"]:
            raise self._uid_conflict(name, uid, old["metadata"]["uid"])
        new = make(old)
        self.match_namespace(new["metadata"])
        self.check_name(new, name)
        attempt = self._attempt("UPDATE", new, old)
        self._check_version(new, old, name)
        admission.run(admission.UPDATE, attempt)
        return self._replace(attempt, old, item, name), False

    def _create_by_update(self, make: MakeNew) -> bytes:
        obj = make(None)
        self.match_namespace(obj["metadata"])
        self.check_name(obj, self.request.info.name)
        self._checked(obj["metadata"].pop("resourceVersion", ""))
        return self._create_once(obj)

    def _replace(self, attempt: Attempt, old: Obj, item: Item, name: str) -> bytes:
        new = attempt.new
        restore_times(new, old)
        if _should_vanish(new):
            return self._remove(new, item, name)
        settled = not attempt.unsettled and attempt.metadata["uid"] not in self.services.unsettled
        if new == old and settled:
            return item.raw
        self._remember(attempt)
        if self.options.dry_run:
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        else:
            new["metadata"].pop("resourceVersion", None)
        return self._put(new, name)

    def _remove(self, new: Obj, item: Item, name: str) -> bytes:
        """An update took the last finalizer of an object that was being deleted: it goes now, as it was stored."""
        if self.served.to_storage is not None:
            new = self.served.to_storage(new)
        if not self.options.dry_run:
            last = represent.stored(item.raw)
            last["metadata"]["resourceVersion"] = str(self.services.store.next_version())
            self.services.store.delete(self.served.key, self.namespace, name, stored_json(last))
        return stored_json(new)

    def _old(self, item: Item) -> Obj:
        old = represent.stored(item.raw)
        if self.served.from_storage is not None:
            old = self.served.from_storage(old)
        return {"kind": self.served.kind, "apiVersion": self.served.api_version, **old}

    def _attempt(self, operation: str, new: Obj, old: Obj | None) -> Attempt:
        return Attempt(
            self.services, self.request, self.served, operation, new, old, self.subresource, self.options.dry_run
        )

    # Checks.

    def match_namespace(self, metadata: dict[str, Any]) -> None:
        """The object's namespace is the path's; a different one is refused."""
        given = metadata.get("namespace", "")
        if not self.namespace:
            metadata.pop("namespace", None)
        elif given and given != self.namespace:
            raise errors.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        else:
            metadata["namespace"] = self.namespace

    def check_name(self, obj: Obj, name: str) -> None:
        given = obj["metadata"].get("name", "")
        if not given:
            raise errors.bad_request(
                f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )
        if given != name:
            raise errors.bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")

    def _checked(self, version: str) -> int:
        try:
            return parse_version(version)
        except ValueError as error:
            raise errors.unknown(str(error)) from None

    def _check_version(self, new: Obj, old: Obj, name: str) -> None:
        given = self._checked(new["metadata"].get("resourceVersion", ""))
        if not given:
            if self.served.strategy.unconditional_update:
                new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
                return
            found = field.invalid(Path("metadata.resourceVersion"), 0, "must be specified for an update")
            raise errors.invalid(self.served.group, self.served.plural, name, [found])
        if str(given) != old["metadata"]["resourceVersion"]:
            raise errors.conflict(self.served.group, self.served.plural, name, errors.OPTIMISTIC_LOCK)

    def _uid_conflict(self, name: str, given: str, actual: str) -> errors.ApiError:
        path = _REGISTRY_PATHS.get(self.served.key) or (
            f"{self.served.group}/{self.served.plural}" if self.served.custom else self.served.plural
        )
        prefix = "" if self.options.dry_run else "/registry"
        key = prefix + "".join(f"/{part}" for part in (path, self.namespace, name) if part)
        why = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {given}, UID in object meta: {actual}"
        )
        return errors.conflict(self.served.group, self.served.plural, name, why)

    # Field management.

    def track(self, old: Obj | None, new: Obj, sent: list[Any] | None = None) -> None:
        """Writes down which fields this write's manager owns now. `sent` are the managedFields as the client sent them."""
        track(
            self.served,
            old,
            new,
            manager=manager_of(self.request, self.options),
            now=self.now(),
            subresource=self.subresource,
            sent=sent,
        )
        self.request.settle()

    def now(self) -> str:
        return format_time(self.services.now())


def _should_vanish(new: Obj) -> bool:
    metadata = new["metadata"]
    return bool(
        metadata.get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not (new.get("spec") or {}).get("finalizers")
    )


_TYPE_AND_METADATA: Final = frozenset({"kind", "apiVersion", "metadata"})


def stored_json(obj: Obj) -> bytes:
    """An object as it is stored: without apiVersion and kind, metadata first."""
    rest = {key: value for key, value in obj.items() if key not in _TYPE_AND_METADATA}
    return represent.encode({"metadata": obj["metadata"], **rest})
