"""What is left of a namespace that is being deleted, and the conditions that report it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import msgspec

_GOOD: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted", "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}  # fmt: skip


class Remaining(msgspec.Struct):
    """What was found when the content of a namespace was deleted.

    `objects` are counted by `plural.group`. Pods go first: while some are left, nothing else is looked at, and they are
    not told.
    """

    failures: list[str] = []
    objects: Counter[str] = msgspec.field(default_factory=Counter)
    finalizers: Counter[str] = msgspec.field(default_factory=Counter)
    pods: int = 0

    @property
    def nothing(self) -> bool:
        return not (self.failures or self.objects or self.pods)


def grace_left(pods: list[dict[str, Any]], seconds: float) -> bool:
    """Whether pods may still be ending, some seconds after the namespace was deleted."""
    running = [pod["spec"] for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
    return seconds < max((spec.get("terminationGracePeriodSeconds") or 0 for spec in running), default=0)


def unexpected(namespace: str, api_version: str, plural: str) -> str:
    """Objects that have no finalizer and were not removed by their deletion."""
    group, _, version = api_version.rpartition("/")
    return f"unexpected items still remain in namespace: {namespace} for gvr: {group}/{version}, Resource={plural}"


def conditions(before: list[dict[str, Any]], left: Remaining, now: str) -> list[dict[str, Any]]:
    """The conditions of a namespace by what is left of it; those of others stay."""
    bad = _bad(left)
    found = {one["type"]: one for one in before}
    for kind, good in _GOOD.items():
        reason, message = bad.get(kind, good)
        status, old = "True" if kind in bad else "False", found.get(kind, {})
        since = old["lastTransitionTime"] if old.get("status") == status else now
        found[kind] = {
            "type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message,
        }  # fmt: skip
    return list(found.values())


def _bad(left: Remaining) -> Mapping[str, tuple[str, str]]:
    bad = {}
    if left.failures:
        text = (
            f"Failed to delete all resource types, {len(left.failures)} remaining: {', '.join(sorted(left.failures))}"
        )
        bad["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", text)
    if left.objects:
        listed = sorted(f"{name} has {number} resource instances" for name, number in left.objects.items())
        text = f"Some resources are remaining: {', '.join(listed)}"
        bad["NamespaceContentRemaining"] = ("SomeResourcesRemain", text)
    if left.finalizers:
        listed = sorted(f"{name} in {number} resource instances" for name, number in left.finalizers.items())
        text = f"Some content in the namespace has finalizers remaining: {', '.join(listed)}"
        bad["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
    return bad
