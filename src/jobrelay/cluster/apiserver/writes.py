"""Writes: create, update and patch, as a straight line of values.

    read -> body -> (old, patch) -> new -> owned fields -> admitted -> stored

A handler reads options and body into values. `create` and `update` take them from there: the new object is proposed (by
a body, or by a patch of the stored object), field management notes who owns its fields, admission completes and checks
it, and it is stored. Between reading the stored object and putting the new one nothing gives way to other requests, so
there are no conflicts to retry: a patch always meets the newest object. Only the wait for the commit is asynchronous.
The exception are writes that webhooks have a say in: they are generators (`calls`), which yield what to call, and are
computed again if the stored object was changed meanwhile. Large writes are computed in a thread and stored only if the
newest object is still the same (`heavy`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.apply import restore_times
from jobrelay.apimachinery.decode import Notes
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import admission, conversions, errors, ownership, represent, storage
from jobrelay.cluster.apiserver.admission import AdmissionRequest, webhooks
from jobrelay.cluster.apiserver.admission.request import Operation, SubresourceView
from jobrelay.cluster.apiserver.admission.steps import check_name, ensure_namespace, given_version, namespace_lifecycle
from jobrelay.cluster.apiserver.body import ProposedObject
from jobrelay.cluster.apiserver.calls import Outdated, Steps
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.options import WriteOptions
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.store import Item
from jobrelay.kinds.strategy import Obj

_REGISTRY_PATHS: Final = {
    "services": "services/specs", "endpoints": "services/endpoints", "nodes": "minions",
    "replicationcontrollers": "controllers", "ingresses.networking.k8s.io": "ingress",
    "apiservices.apiregistration.k8s.io": "apiregistration.k8s.io/apiservices",
    "customresourcedefinitions.apiextensions.k8s.io": "apiextensions.k8s.io/customresourcedefinitions",
}  # fmt: skip
_TYPE: Final = ("kind", "apiVersion")
_SET_BY_SERVER: Final = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
Propose = Callable[[Obj | None], ProposedObject]  # the new object, made of the stored one (None: there is none)


class WriteRequest(msgspec.Struct, frozen=True, eq=False):
    """One create, update or patch: the user, the resource and subresource, and the options."""

    server: ServerContext
    request: ApiRequest
    served: ServedResource
    options: WriteOptions
    subresource: str = ""
    view: SubresourceView | None = None

    @property
    def namespace(self) -> str:
        return self.request.info.namespace if self.served.namespaced else ""

    @property
    def manager(self) -> str:
        """The field manager: the one named, else what the user agent starts with."""
        return self.options.field_manager or _program(self.request.header("user-agent"))

    @property
    def now(self) -> str:
        return format_time(self.server.now())

    def admission(self, operation: Operation, name: str, new: Obj, old: Obj, notes: Notes | None) -> AdmissionRequest:
        return AdmissionRequest(
            self.server, self.request, self.served, operation, self.namespace, name, new, old, self.subresource,
            self.options.dry_run, notes, view=self.view,
        )  # fmt: skip


@functools.lru_cache(maxsize=256)
def _program(agent: str) -> str:
    return "".join(char for char in agent.split("/", 1)[0] if char.isprintable())[:128]


def own_fields(write: WriteRequest, old: Obj | None, proposed: ProposedObject) -> Obj:
    """The proposed object with managedFields: this write's manager owns what it has changed."""
    if not proposed.tracked:
        ownership.track(
            write.served,
            old,
            proposed.obj,
            manager=write.manager,
            now=write.now,
            subresource=write.subresource,
            sent=proposed.sent,
        )
    if proposed.notes is not None:
        proposed.notes.settle()
    return proposed.obj


# Create.


def create(write: WriteRequest, proposed: ProposedObject) -> Steps[bytes]:
    """Stores a new object; its stored JSON."""
    metadata = proposed.obj["metadata"]
    for key in _SET_BY_SERVER:
        metadata.pop(key, None)
    ensure_namespace(metadata, write.namespace)
    return (yield from _admit_new(write, "", own_fields(write, None, proposed), proposed.notes, admission.CREATE))


def _create_by_update(write: WriteRequest, name: str, proposed: ProposedObject) -> Steps[bytes]:
    new = own_fields(write, None, proposed)
    ensure_namespace(new["metadata"], write.namespace)
    check_name(new, name)
    given_version(new["metadata"])
    new["metadata"].pop("resourceVersion", None)
    return (yield from _admit_new(write, name, new, proposed.notes, admission.CREATE_ON_UPDATE))


def _admit_new(write: WriteRequest, name: str, new: Obj, notes: Notes | None, chain: admission.Chain) -> Steps[bytes]:
    request = write.admission("CREATE", name, new, {}, notes)
    labelled_late, waited = yield from _admit(chain, request)
    waited = (yield from conversions.storable(write.served, new)) or waited
    if waited:
        namespace_lifecycle(request)
        if name and write.server.store.get(write.served.key, write.namespace, name) is not None:
            raise Outdated
    admission.run(chain.last, request)
    _check_new(write, new)
    raw = _put(write, new["metadata"]["name"], new)
    _remember(write, new, labelled_late=labelled_late)
    return raw


def _admit(chain: admission.Chain, request: AdmissionRequest) -> Steps[tuple[bool, bool]]:
    """Takes a proposed object to its final form; whether labels were added late, and whether it had to wait.

    The last part of the chain is left: it belongs to the moment before the object is stored.
    """
    admission.run(chain.mutating, request)
    if not request.server.webhooks.any:
        return admission.finish(chain, request), False
    called = yield from webhooks.mutate(request, chain.mutating)
    labelled_late = admission.finish(chain, request)
    built_on = webhooks.allocated_from(request)
    validated = yield from webhooks.validate(request)
    if validated and built_on != webhooks.allocated_from(request):
        raise Outdated
    return labelled_late, called or validated


def _check_new(write: WriteRequest, obj: Obj) -> None:
    """Refuses to store an object under a name that is taken."""
    metadata, served = obj["metadata"], write.served
    if given_version(metadata) and not write.options.dry_run:
        raise errors.unknown("resourceVersion should not be set on objects to be created")
    if not metadata.get("resourceVersion"):
        metadata.pop("resourceVersion", None)
    present = write.server.store.get(served.key, write.namespace, metadata["name"])
    if present is not None:
        taken = errors.already_exists(served.group, served.plural, metadata["name"])
        if represent.stored(present.raw)["metadata"].get("deletionTimestamp"):
            taken.message = f"object is being deleted: {taken.message}"
        raise taken


def _put(write: WriteRequest, name: str, obj: Obj) -> bytes:
    obj = storage.to_storage(write.served, obj)
    if write.options.dry_run:
        return storage.stored_json(obj)
    return storage.put(write.server.store, write.served.key, write.namespace, name, obj)


def _remember(write: WriteRequest, new: Obj, *, labelled_late: bool) -> None:
    if not write.options.dry_run:
        uids = write.server.labelled_late
        (uids.add if labelled_late else uids.discard)(new["metadata"]["uid"])


# Update and patch.


def update(
    write: WriteRequest, name: str, propose: Propose, *, uid: str = "", create: bool = False
) -> Steps[tuple[bytes, bool]]:
    """Replaces the stored object by the one proposed for it; the stored JSON and whether it was created.

    An object that does not exist is created if `create` or the kind allows it. `uid` is a precondition.
    """
    served = write.served
    item = write.server.store.get(served.key, write.namespace, name)
    if item is None:
        if not create and not served.strategy.create_on_update:
            raise errors.not_found(served.group, served.plural, name)
        if uid:
            raise _uid_conflict(write, name, uid, "")
        return (yield from _create_by_update(write, name, propose(None))), True
    old = storage.current(served, item)
    if uid and uid != old["metadata"]["uid"]:
        raise _uid_conflict(write, name, uid, old["metadata"]["uid"])
    proposed = propose(old)
    new = own_fields(write, old, proposed)
    request = write.admission("UPDATE", name, new, old, proposed.notes)
    labelled_late, waited = yield from _admit(admission.UPDATE, request)
    restore_times(new, old)
    waited = (yield from conversions.storable(served, new)) or waited
    if waited and write.server.store.get(served.key, write.namespace, name) is not item:
        raise Outdated
    admission.run(admission.UPDATE.last, request)
    return _replace(write, item, new, old, labelled_late=labelled_late), False


def _replace(write: WriteRequest, item: Item, new: Obj, old: Obj, *, labelled_late: bool) -> bytes:
    if _is_finalized(new):
        return _remove(write, item, new)
    settled = not labelled_late and new["metadata"]["uid"] not in write.server.labelled_late
    if new == old and settled and _is_stored_so(write.served, item, new):
        return item.raw
    _remember(write, new, labelled_late=labelled_late)
    if write.options.dry_run:
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    else:
        new["metadata"].pop("resourceVersion", None)
    return _put(write, item.name, new)


def _remove(write: WriteRequest, item: Item, new: Obj) -> bytes:
    """An update took the last finalizer of an object that was being deleted: it is removed now, in its stored state."""
    shown = storage.stored_json(storage.to_storage(write.served, new))
    if not write.options.dry_run:
        last = represent.stored(item.raw)
        storage.remove(write.server.store, write.served.key, item.namespace, item.name, last)
    return shown


def _is_stored_so(served: ServedResource, item: Item, obj: Obj) -> bool:
    """Whether an object is stored just as it would be now: custom resources may be in an older form."""
    if served.custom is None or served.from_storage is None:
        return True
    stored = storage.to_storage(served, obj)
    return {key: part for key, part in stored.items() if key not in _TYPE} == represent.stored(item.raw)


def _is_finalized(new: Obj) -> bool:
    """Whether an object is being deleted and nothing holds it any longer."""
    metadata: dict[str, Any] = new["metadata"]
    return bool(
        metadata.get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not (new.get("spec") or {}).get("finalizers")
    )


def _uid_conflict(write: WriteRequest, name: str, given: str, actual: str) -> errors.ApiError:
    served = write.served
    path = _REGISTRY_PATHS.get(served.key) or (f"{served.group}/{served.plural}" if served.custom else served.plural)
    prefix = "" if write.options.dry_run else "/registry"
    key = prefix + "".join(f"/{part}" for part in (path, write.namespace, name) if part)
    why = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {given}, UID in object meta: {actual}"
    )
    return errors.conflict(served.group, served.plural, name, why)
