"""Steps that hold for every kind: names and versions, namespaces, system metadata, the strategy's hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jobrelay.apimachinery import field
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.meta import unchanged_meta, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_path_segment
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import errors, represent
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.cluster.apiserver.reader import parse_version
from jobrelay.kinds import generation
from jobrelay.kinds.strategy import Obj, UpdateStrategy

_NAME_TRIES: Final = 8
_DUPLICATE_OWNERS: Final = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)
_SYSTEM_NAMESPACES: Final = ("default", "kube-system", "kube-public")

# Names and versions.


def ensure_namespace(metadata: dict[str, Any], namespace: str) -> None:
    """Gives an object the namespace of the path; a different one is refused."""
    given = metadata.get("namespace", "")
    if not namespace:
        metadata.pop("namespace", None)
    elif given and given != namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        metadata["namespace"] = namespace


def match_namespace(admission: AdmissionRequest) -> None:
    ensure_namespace(admission.metadata, admission.namespace)


def check_name(obj: Obj, name: str) -> None:
    given = obj["metadata"].get("name", "")
    if not given:
        raise errors.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if given != name:
        raise errors.bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")


def match_name(admission: AdmissionRequest) -> None:
    check_name(admission.new, admission.name)


def given_version(metadata: dict[str, Any]) -> int:
    """The resourceVersion that an object was sent with; 0 for none."""
    try:
        return parse_version(metadata.get("resourceVersion", ""))
    except ValueError as error:
        raise errors.unknown(str(error)) from None


def match_version(admission: AdmissionRequest) -> None:
    """An update must be of the stored version, unless the kind allows unconditional updates."""
    served, stored = admission.served, admission.old["metadata"]["resourceVersion"]
    given = given_version(admission.metadata)
    if not given:
        if served.strategy.unconditional_update:
            admission.metadata["resourceVersion"] = stored
            return
        found = field.invalid(Path("metadata.resourceVersion"), 0, "must be specified for an update")
        raise errors.invalid(served.group, served.plural, admission.name, [found])
    if str(given) != stored:
        raise errors.conflict(served.group, served.plural, admission.name, errors.OPTIMISTIC_LOCK)


# Owners and namespaces.


def dedup_owners(admission: AdmissionRequest) -> None:
    _dedup_owners(admission, late=admission.request.method == "PATCH")


def dedup_owners_again(admission: AdmissionRequest) -> None:
    """As above, of references that webhooks have added."""
    _dedup_owners(admission, late=True)


def _dedup_owners(admission: AdmissionRequest, *, late: bool) -> None:
    references = admission.metadata.get("ownerReferences") or ()
    if len(references) < 2:
        return
    kept: dict[frozenset[Any], Any] = {}
    repeated = []
    for reference in references:
        key = frozenset(reference.items())
        if key in kept:
            repeated.append(reference.get("uid", ""))
        else:
            kept[key] = reference
    if repeated:
        admission.metadata["ownerReferences"] = list(kept.values())
        when = " after mutating admission happens" if late else ""
        admission.request.warn(_DUPLICATE_OWNERS.format(when) + ", ".join(repeated))


def refuse_terminating_kind(admission: AdmissionRequest) -> None:
    served = admission.served
    if served.terminating:
        why = "create not allowed while custom resource definition is terminating"
        raise errors.forbidden(served.group, served.plural, admission.metadata.get("name", ""), why)


def protect_system_namespaces(admission: AdmissionRequest) -> None:
    if admission.served.key == "namespaces" and admission.name in _SYSTEM_NAMESPACES:
        raise errors.forbidden("", "namespaces", admission.name, "this namespace may not be deleted")


def namespace_lifecycle(admission: AdmissionRequest) -> None:
    """New objects need a namespace that exists and is not being deleted."""
    name = admission.namespace
    if not name or admission.subresource:
        return
    item = admission.server.store.get("namespaces", "", name)
    if item is None:
        raise errors.not_found("", "namespaces", name)
    namespace = represent.cached(item.raw)
    if (namespace.get("status") or {}).get("phase") != "Terminating":
        return
    why = f"unable to create new content in namespace {name} because it is being terminated"
    refusal = errors.forbidden(admission.served.group, admission.served.plural, admission.metadata.get("name", ""), why)
    assert refusal.details is not None
    message = f"namespace {name} is being terminated"
    refusal.details["causes"] = [{"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}]
    raise refusal


# System metadata and the kind's strategy.


def fill_system_metadata(admission: AdmissionRequest) -> None:
    """Sets uid, creation time and, if it is generated, the name."""
    metadata = admission.metadata
    metadata["creationTimestamp"] = format_time(admission.server.now())
    metadata["uid"] = admission.server.uid()
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = _generated_name(admission)


def _generated_name(admission: AdmissionRequest) -> str:
    """A free name; after several tries one that is taken, so that the create is refused."""
    server, name = admission.server, ""
    for _ in range(_NAME_TRIES):
        name = admission.metadata["generateName"][:58] + server.suffix()
        if server.store.get(admission.served.key, admission.namespace, name) is None:
            break
    return name


def prepare_create(admission: AdmissionRequest) -> None:
    strategy = admission.served.strategy
    strategy.prepare_create(admission.new)
    admission.request.warn(*strategy.warn_prepared(admission.new))


def validate_create(admission: AdmissionRequest) -> None:
    if found := _create_errors(admission):
        raise admission.invalid(_with_sent_values(found, admission, _create_errors))


def _create_errors(admission: AdmissionRequest) -> list[FieldError]:
    strategy = admission.served.strategy
    found = strategy.validate_create(admission.new)
    return found if found or strategy.validates_metadata else _metadata_errors(admission)


def _with_sent_values(
    found: list[FieldError], admission: AdmissionRequest, check: Callable[[AdmissionRequest], list[FieldError]]
) -> list[FieldError]:
    """The same errors with empty lists and maps in their values, which canonical objects leave out.

    The object is not used after a refusal, so it is checked once more with all that was sent.
    """
    if admission.notes is None or not admission.notes.dropped:
        return found
    admission.notes.restore()
    again = check(admission)
    return again if [each.field for each in again] == [each.field for each in found] else found


def _metadata_errors(admission: AdmissionRequest, old: dict[str, Any] | None = None) -> list[FieldError]:
    namespaced = admission.served.namespaced
    return validate_object_meta(
        admission.metadata, namespaced=namespaced, name_fn=name_is_path_segment, known_finalizers=False, old=old
    )


def warn_create(admission: AdmissionRequest) -> None:
    admission.request.warn(*admission.served.strategy.warn_create(admission.new))


def hooks(admission: AdmissionRequest) -> UpdateStrategy:
    """The update hooks for what is written: the object or one of its subresources."""
    strategy = admission.served.strategy
    if not admission.subresource:
        return strategy.update
    return strategy.subresources.get(admission.subresource, _STATUS_ONLY)


def _keep_all_but_status(new: Obj, old: Obj) -> None:
    for key in {*new, *old} - {"metadata", "status", "kind", "apiVersion"}:
        generation.keep(new, old, key)


_STATUS_ONLY: Final = UpdateStrategy(prepare=_keep_all_but_status)


def keep_generation(admission: AdmissionRequest) -> None:
    generation.keep(admission.metadata, admission.old["metadata"], "generation")


def prepare_update(admission: AdmissionRequest) -> None:
    hooks(admission).prepare(admission.new, admission.old)


def keep_system_metadata(admission: AdmissionRequest) -> None:
    """Takes what no update can change from the stored object."""
    new, old = admission.metadata, admission.old["metadata"]
    new.pop("selfLink", None)
    if not new.get("uid"):
        new["uid"] = old["uid"]
    new["creationTimestamp"] = old["creationTimestamp"]
    if old.get("deletionTimestamp"):
        new["deletionTimestamp"] = old["deletionTimestamp"]
    if old.get("deletionGracePeriodSeconds") is not None and new.get("deletionGracePeriodSeconds") is None:
        new["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]


def validate_update(admission: AdmissionRequest) -> None:
    """Refuses what the kind forbids, and warns of what it discourages."""
    found, warnings = _review_update(admission)
    if found:
        raise admission.invalid(_with_sent_values(found, admission, lambda each: _review_update(each)[0]))
    admission.request.warn(*warnings)


def _review_update(admission: AdmissionRequest) -> tuple[list[FieldError], list[str]]:
    found = []
    if not unchanged_meta(admission.metadata, admission.old["metadata"]):
        found = _metadata_errors(admission, admission.old["metadata"])
        found += validate_object_meta_update(admission.metadata, admission.old["metadata"], known_finalizers=False)
    errors, warnings = hooks(admission).review(admission.new, admission.old)
    return found + errors, warnings
