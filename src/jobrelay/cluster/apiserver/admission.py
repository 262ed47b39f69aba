"""The admission chain: one ordered list of steps that a write passes on its way to the store.

A step looks at one `Attempt` and returns, changes the new object, or raises the refusal. `CREATE` and `UPDATE` below are the
whole chain, defaulting and validation included, in Kubernetes' order. What is still to come (webhooks, policies, quota)
is one more entry at its place in these lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jobrelay.apimachinery.meta import unchanged_meta, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_path_segment
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import errors, plugins, represent
from jobrelay.cluster.apiserver.attempt import Attempt
from jobrelay.kinds import generation
from jobrelay.kinds.strategy import Obj, Update

_NAME_TRIES: Final = 8
DUPLICATE_OWNERS: Final = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may reject "
    "such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)
IMMORTAL_NAMESPACES: Final = ("default", "kube-system", "kube-public")


Step = Callable[[Attempt], None]


def dedup_owners(attempt: Attempt) -> None:
    references = attempt.metadata.get("ownerReferences") or []
    kept: dict[frozenset[Any], Any] = {}
    repeated = []
    for reference in references:
        key = frozenset(reference.items())
        if key in kept:
            repeated.append(reference.get("uid", ""))
        else:
            kept[key] = reference
    if repeated:
        attempt.metadata["ownerReferences"] = list(kept.values())
        when = " after mutating admission happens" if attempt.request.method == "PATCH" else ""
        attempt.request.warn(DUPLICATE_OWNERS.format(when) + ", ".join(repeated))


def namespace_lifecycle(attempt: Attempt) -> None:
    """New objects need a namespace that exists and is not being deleted."""
    if not attempt.served.namespaced or attempt.operation != "CREATE" or attempt.subresource:
        return
    name = attempt.request.info.namespace
    item = attempt.services.store.get("namespaces", "", name)
    if item is None:
        raise errors.not_found("", "namespaces", name)
    namespace = represent.seen(item.raw)
    if (namespace.get("status") or {}).get("phase") != "Terminating":
        return
    if (attempt.served.group, attempt.served.plural) == ("authorization.k8s.io", "localsubjectaccessreviews"):
        return
    why = f"unable to create new content in namespace {name} because it is being terminated"
    refusal = errors.forbidden(attempt.served.group, attempt.served.plural, attempt.metadata.get("name", ""), why)
    assert refusal.details is not None
    since = namespace["metadata"].get("deletionTimestamp", "")
    message = f"namespace {name} is being terminated"
    refusal.details["causes"] = [{"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}]
    if not since:
        refusal.details["causes"] = refusal.details["causes"][:1]
    raise refusal


def system_metadata(attempt: Attempt) -> None:
    """A new object gets its uid, its time, and its name if that is to be generated."""
    metadata = attempt.metadata
    metadata["creationTimestamp"] = format_time(attempt.services.now())
    metadata["uid"] = attempt.services.uid()
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = _generated_name(attempt)


def _generated_name(attempt: Attempt) -> str:
    """A name that is free, or after a number of tries one that is not: the create is then refused."""
    services, name = attempt.services, ""
    namespace = attempt.request.info.namespace if attempt.served.namespaced else ""
    for _ in range(_NAME_TRIES):
        name = attempt.metadata["generateName"][:58] + services.suffix()
        if services.store.get(attempt.served.key, namespace, name) is None:
            break
    return name


def prepare_create(attempt: Attempt) -> None:
    attempt.served.strategy.prepare_create(attempt.new)


def validate_create(attempt: Attempt) -> None:
    strategy = attempt.served.strategy
    found = strategy.validate_create(attempt.new)
    if not found and not strategy.validates_metadata:
        found = validate_object_meta(
            attempt.metadata,
            namespaced=attempt.served.namespaced,
            name_fn=name_is_path_segment,
            known_finalizers=False,
        )
    if found:
        raise attempt.invalid(found)


def warn_create(attempt: Attempt) -> None:
    for text in attempt.served.strategy.warn_create(attempt.new):
        attempt.request.warn(text)


def hooks(attempt: Attempt) -> Update:
    """The update hooks for what is written: the object or one of its subresources."""
    strategy = attempt.served.strategy
    if not attempt.subresource:
        return strategy.update
    return strategy.subresources.get(attempt.subresource, _STATUS_ONLY)


def _keep_all_but_status(new: Obj, old: Obj) -> None:
    for key in {*new, *old} - {"metadata", "status", "kind", "apiVersion"}:
        generation.keep(new, old, key)


_STATUS_ONLY: Final = Update(prepare=_keep_all_but_status)


def keep_system_metadata(attempt: Attempt) -> None:
    """What no update can change is taken from the stored object."""
    assert attempt.old is not None
    new, old = attempt.metadata, attempt.old["metadata"]
    new.pop("selfLink", None)
    if "generation" in old:
        new["generation"] = old["generation"]
    else:
        new.pop("generation", None)
    hooks(attempt).prepare(attempt.new, attempt.old)
    if not new.get("uid"):
        new["uid"] = old["uid"]
    new["creationTimestamp"] = old["creationTimestamp"]
    if old.get("deletionTimestamp"):
        new["deletionTimestamp"] = old["deletionTimestamp"]
    if old.get("deletionGracePeriodSeconds") is not None and new.get("deletionGracePeriodSeconds") is None:
        new["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]


def validate_update(attempt: Attempt) -> None:
    assert attempt.old is not None
    found = []
    if not unchanged_meta(attempt.metadata, attempt.old["metadata"]):
        found = validate_object_meta(
            attempt.metadata,
            namespaced=attempt.served.namespaced,
            name_fn=name_is_path_segment,
            known_finalizers=False,
            old=attempt.old["metadata"],
        )
        found += validate_object_meta_update(attempt.metadata, attempt.old["metadata"], known_finalizers=False)
    found += hooks(attempt).validate(attempt.new, attempt.old)
    if found:
        raise attempt.invalid(found)


def warn_update(attempt: Attempt) -> None:
    assert attempt.old is not None
    for text in hooks(attempt).warn(attempt.new, attempt.old):
        attempt.request.warn(text)


def canonicalize(attempt: Attempt) -> None:
    """What reading the stored object back would add."""
    strategy, labelled = attempt.served.strategy, bool(attempt.metadata.get("labels"))
    strategy.canonicalize(attempt.new)
    attempt.unsettled = strategy.late_labels and not labelled and bool(attempt.metadata.get("labels"))


CREATE: Final[tuple[Step, ...]] = (
    dedup_owners,
    namespace_lifecycle,
    plugins.fill_in_pod,
    plugins.fill_in_claim,
    plugins.may_grant,
    system_metadata,
    plugins.allocate_for_service,
    prepare_create,
    validate_create,
    warn_create,
    canonicalize,
    plugins.namespace_labels,
    plugins.check_limits,
    plugins.check_default_priority,
    plugins.pod_security,
)
UPDATE: Final[tuple[Step, ...]] = (
    plugins.fill_in_pod,
    dedup_owners,
    plugins.may_grant,
    plugins.allocate_for_service,
    keep_system_metadata,
    validate_update,
    warn_update,
    canonicalize,
    plugins.namespace_labels,
    plugins.check_claim_growth,
    plugins.check_default_priority,
    plugins.pod_security,
)


def run(steps: tuple[Step, ...], attempt: Attempt) -> None:
    for step in steps:
        step(attempt)
