"""The description of a workload kind, as data.

A description says where a kind has the fields that every workload has, and what its status means; `DeclaredAdapter`
does the rest. The format is documented in docs/reference/kinds.md. Paths are checked when a description is read (see
`paths`), so that an adapter never meets one that it cannot follow.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeAlias

import msgspec

from jobrelay.kube import Resource
from jobrelay.kube.resource import CONFIGMAPS, PERSISTENTVOLUMECLAIMS, SECRETS, SERVICEACCOUNTS
from jobrelay.workloads.declared import paths
from jobrelay.workloads.names import MULTIKUEUE, RELAY

PRIORITYCLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
COMMON = {
    str(resource): resource
    for resource in (CONFIGMAPS, SECRETS, SERVICEACCOUNTS, PERSISTENTVOLUMECLAIMS, PRIORITYCLASSES)
}
"""What references may name shortly."""

_MOST_NESTED: Final = 8

OneOrMore: TypeAlias = str | tuple[str, ...]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A part of a description; unknown fields are errors."""


def many(given: OneOrMore) -> tuple[str, ...]:
    """One path or several, as several."""
    return (given,) if isinstance(given, str) else given


class ResourceNames(_Part, frozen=True):
    """A kind, and where the API serves it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True


def _api_resource(names: ResourceNames) -> Resource:
    return Resource(names.group, names.version, names.plural, names.kind, names.namespaced)


class ManagedBy(_Part, frozen=True):
    """How an object says who runs it."""

    path: str = "spec.managedBy"
    native: str = ""
    values: Literal["open", "closed"] | tuple[str, ...] = "open"
    """`open` if its API accepts any value, `closed` if it accepts none but Kueue's, or the values that delegate it."""

    def __post_init__(self) -> None:
        paths.plain(self.path)

    @property
    def managers(self) -> frozenset[str]:
        if isinstance(self.values, tuple):
            return frozenset(self.values)
        return frozenset({MULTIKUEUE}) if self.values == "closed" else frozenset({RELAY, MULTIKUEUE})


class Predicate(_Part, frozen=True, rename={"in_": "in", "not_in": "notIn", "and_": "and"}):
    """Whether an object has a condition or a value: the condition with this status; one of these values; with neither
    `in` nor `notIn`, a value that is not zero, false or empty. An absent value counts as empty."""

    condition: str = ""
    status: str = "True"
    path: str = ""
    in_: tuple[str | int | bool, ...] | None = None
    not_in: tuple[str | int | bool, ...] | None = None
    and_: Predicate | None = None
    unless: Predicate | None = None

    def __post_init__(self) -> None:
        if bool(self.condition) == bool(self.path):
            raise ValueError("a predicate has either `condition` or `path`")
        if self.condition and (self.in_ is not None or self.not_in is not None):
            raise ValueError("`in` and `notIn` need `path`; a predicate about a condition has `status`")
        if self.in_ is not None and self.not_in is not None:
            raise ValueError("a predicate has either `in` or `notIn`")
        if self.path:
            paths.parse(self.path)
        if self.depth > _MOST_NESTED:
            raise ValueError("predicates are nested too deeply")

    @property
    def depth(self) -> int:
        return 1 + max((each.depth for each in (self.and_, self.unless) if each is not None), default=0)


Rule: TypeAlias = Predicate | tuple[Predicate, ...]
"""Holds if one of its predicates does."""


class ShownCondition(_Part, frozen=True):
    """A condition that the kind's own controller would write."""

    type: str
    reason: str
    message: str = ""
    """In which {name} is the name of the workload."""
    status: str = "True"


class Suspension(_Part, frozen=True):
    """How an object is suspended, and how its status shows that."""

    path: str = "spec.suspend"
    suspended: bool | str = True
    running: bool | str = False
    """What an absent field means."""
    before_start_only: bool = False
    """Whether it can be suspended only until it starts: the original is set to run before its start is written."""
    halted: Rule = ()
    """What its controller writes when it has stopped all pods."""
    status: dict[str, Any] = {}
    condition: ShownCondition | None = None
    """What the status of an original shows, with `status`, while it is suspended and was never started."""

    def __post_init__(self) -> None:
        paths.plain(self.path)


class DeadlineRule(_Part, frozen=True):
    """The field with the seconds after its start at which the kind's controller stops it."""

    path: str
    reason: str = "DeadlineExceeded"
    """The reason of its failure then."""
    extendable: bool = False
    """Whether its controller obeys a later change, and stops all of its pods: only then it can be fenced."""

    def __post_init__(self) -> None:
        paths.plain(self.path)


class PodSetRule(_Part, frozen=True):
    """Where a pod template is, and how many pods run from it: one, or for `each` entry of a list or map."""

    template: str
    each: str = ""
    count: tuple[OneOrMore, ...] = ()
    """Multiplied; of several paths in one place, the least value counts, and an absent one is 1."""
    when: Rule = ()
    default: dict[str, Any] | None = None
    """The template if there is none."""

    def __post_init__(self) -> None:
        for path in (self.template, *(path for factor in self.count for path in many(factor))):
            paths.plain(path)
        if self.each:
            paths.parse(self.each)


def placeholders(selector: str) -> list[str]:
    """The paths in braces in a label selector; {name} is short for that of the name."""
    return ["metadata.name" if each == "name" else each for each in re.findall(r"\{([^{}]*)\}", selector)]


class PodLabels(_Part, frozen=True):
    """How pods of a workload are recognised."""

    selector: str = ""
    """A label selector, in which {name} is the name of the workload, and any other path in braces a field of it."""
    owner: str = ""
    """`controller` if the workload controls its pods, otherwise the label that has its uid."""
    logs: tuple[str, ...] = ()
    """Label selectors for the pods that have its logs, if others than `owner` or `selector` do."""

    def __post_init__(self) -> None:
        for selector in (self.selector, *self.logs):
            for path in placeholders(selector):
                paths.plain(path)


class Forward(_Part, frozen=True):
    """A field whose later changes are forwarded to the mirror."""

    path: str
    unless: Rule = ()

    def __post_init__(self) -> None:
        paths.parse(self.path)


class MirrorRules(_Part, frozen=True):
    """How a mirror differs from its original, beside managedBy."""

    drop: tuple[str, ...] = ()
    add: dict[str, Any] = {}
    """Values by path."""
    forward: tuple[str | Forward, ...] = ()

    def __post_init__(self) -> None:
        for path in (*self.drop, *(path for path in self.forward if isinstance(path, str))):
            paths.parse(path)
        for path in self.add:
            if paths.plain(path)[0] != "spec":
                raise ValueError(f"{path!r} is not in the spec, which alone can be added to")

    @property
    def forwards(self) -> tuple[Forward, ...]:
        return tuple(Forward(each) if isinstance(each, str) else each for each in self.forward)


class StatusRules(_Part, frozen=True):
    """What a status means, and how it is returned."""

    started: Rule = ()
    started_at: OneOrMore = "metadata.creationTimestamp"
    ready: Rule = ()
    succeeded: Rule = ()
    failed: Rule = ()
    ended_at: OneOrMore = ()
    reason: OneOrMore = ()
    message: OneOrMore = ()
    active: OneOrMore = ()
    """Counts of pods that run or wait for a node."""
    never_decrease: tuple[str, ...] = ()
    """Counters that a second run must not take back."""
    condition_times: tuple[str, ...] = ("lastTransitionTime",)
    """The times of a condition, all of which are set when one is written."""

    def __post_init__(self) -> None:
        for several in (self.started_at, self.ended_at, self.reason, self.message, self.active):
            for path in many(several):
                paths.parse(path)
        for path in self.never_decrease:
            paths.plain(path)


class ReferenceRule(_Part, frozen=True):
    """A field that names another object."""

    path: str
    resource: str | ResourceNames
    """One of `COMMON`, or any other kind."""
    optional: bool = False
    when: Rule = ()

    def __post_init__(self) -> None:
        paths.parse(self.path)
        if isinstance(self.resource, str) and self.resource not in COMMON:
            known = ", ".join(COMMON)
            raise ValueError(f"{self.resource!r} is none of {known}; write group, version, plural and kind")

    @property
    def api_resource(self) -> Resource:
        return COMMON[self.resource] if isinstance(self.resource, str) else _api_resource(self.resource)


class KindDescription(_Part, frozen=True):
    """A workload kind."""

    api_version: Literal["jobrelay.dev/v1alpha1"]
    kind: Literal["WorkloadKind"]
    resource: ResourceNames
    status: StatusRules
    managed_by: ManagedBy = ManagedBy()
    suspension: Suspension | None = None
    deadline: DeadlineRule | None = None
    pod_sets: tuple[PodSetRule, ...] = ()
    pods: PodLabels = PodLabels()
    mirror: MirrorRules = MirrorRules()
    references: tuple[ReferenceRule, ...] = ()
    runs_anyway: str = ""

    def __post_init__(self) -> None:
        if not self.resource.namespaced:
            raise ValueError("a workload kind is namespaced")
        if self.deadline is not None and self.deadline.extendable and not (self.suspension and self.suspension.halted):
            raise ValueError("an extendable deadline needs `suspension.halted`, since a fenced mirror starts suspended")

    @property
    def api_resource(self) -> Resource:
        return _api_resource(self.resource)
