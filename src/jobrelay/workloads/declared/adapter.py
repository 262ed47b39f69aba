"""The adapter of a declared kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from jobrelay.apimachinery.names import is_valid_label_value
from jobrelay.kube import Object, Resource
from jobrelay.workloads.adapter import (
    NOTHING_FOUND,
    Found,
    MirrorParameters,
    Urgency,
    Workload,
    WorkloadDemand,
)
from jobrelay.workloads.declared import demand as demands
from jobrelay.workloads.declared import mirror as mirrors
from jobrelay.workloads.declared import paths, status
from jobrelay.workloads.declared.demand import TemplateSet
from jobrelay.workloads.declared.description import KindDescription, placeholders
from jobrelay.workloads.declared.predicates import holds
from jobrelay.workloads.metadata import user_annotations
from jobrelay.workloads.read_cache import ReadCache
from jobrelay.workloads.references import FieldPath, Reference


class DeclaredAdapter:
    """A kind by its description, see `jobrelay.workloads.adapter.Adapter`.

    A kind that differs in more than data overrides methods.
    """

    def __init__(self, kind: KindDescription) -> None:
        self._kind = kind
        self.resource: Resource = kind.api_resource
        self.managed_by_path = kind.managed_by.path
        self.managers = kind.managed_by.managers
        self.native = kind.managed_by.native
        self.runs_anyway = kind.runs_anyway
        self.enforces_deadline = kind.deadline is not None and kind.deadline.extendable
        self._cache = ReadCache(partial(status.read, kind))

    def read(self, obj: Object) -> Workload:
        return self._cache.read(obj)

    def template_sets(self, whole: dict[str, Any], found: Found = NOTHING_FOUND) -> list[TemplateSet]:
        """The pod templates of a decoded object, or of objects that it names, with the numbers of their pods."""
        return demands.template_sets(self._kind.pod_sets, whole)

    def demand(self, original: Object, found: Found = NOTHING_FOUND) -> WorkloadDemand:
        whole = paths.decoded(original)
        sets = self.template_sets(whole, found)
        if self._kind.suspension is not None:
            paths.remove(self._kind.suspension.path, whole)
        annotations = user_annotations(original.metadata.annotations)
        spec = mirrors.mirror_spec(self._kind, whole)
        return WorkloadDemand(
            tuple(demands.pod_set(each.template, each.count) for each in sets),
            demands.shape(original.namespace, original.metadata.labels, annotations, spec),
            demands.grace(each.template for each in sets),
            " ".join(sorted(f"{each.uid}/{each.resource_version}" for each in found.values())),
        )

    def pod_templates(self, obj: Object) -> list[tuple[FieldPath, Mapping[str, Any]]]:
        whole = paths.decoded(obj)
        return [(each.place, each.template) for each in self.template_sets(whole)]

    def references(self, original: Object, found: Found = NOTHING_FOUND) -> tuple[Reference, ...]:
        whole, named = paths.decoded(original), []
        for rule in self._kind.references:
            if rule.when != () and not holds(rule.when, whole):
                continue
            namespace = original.namespace if rule.api_resource.namespaced else ""
            for place, name in paths.located(paths.parse(rule.path), whole):
                if isinstance(name, str) and name:
                    named.append(Reference(rule.api_resource, name, namespace, rule.optional, (place,)))
        return tuple(named)

    def mirror(self, original: Object, parameters: MirrorParameters) -> dict[str, Any]:
        return mirrors.mirror(self._kind, original, parameters)

    def mirror_patch(self, original: Object, mirror: Object, parameters: MirrorParameters) -> dict[str, Any] | None:
        started = self.read(mirror).started is not None
        return mirrors.mirror_patch(self._kind, original, mirror, parameters, started=started)

    def merged_status(self, original: Object, mirror: Object) -> dict[str, Any] | None:
        return status.merged_status(self._kind, original, mirror)

    def original_patch(self, original: Object, mirror: Object) -> dict[str, Any] | None:
        rule = self._kind.suspension
        if rule is None or not rule.before_start_only or not self.read(original).suspended:
            return None
        if self.read(mirror).started is None:
            return None
        patch: dict[str, Any] = {}
        paths.put(paths.plain(rule.path), patch, rule.running)
        return patch

    def suspension_patch(self, *, suspend: bool) -> dict[str, Any] | None:
        """A merge patch that suspends an object or lets it run; None if its kind cannot be suspended."""
        rule = self._kind.suspension
        if rule is None:
            return None
        patch: dict[str, Any] = {}
        paths.put(paths.plain(rule.path), patch, rule.suspended if suspend else rule.running)
        return patch

    def reduced_statuses(self, original: Object, mirror: Object) -> list[dict[str, Any]]:
        return status.reduced_status(self._kind, original, mirror)

    def suspended_status(self, original: Object, now: datetime) -> dict[str, Any] | None:
        return status.suspended_status(self._kind, original, now)

    def pod_owner(self, pod: Object) -> str:
        by = self._kind.pods.owner
        if by != "controller":
            return pod.metadata.labels.get(by, "") if by else ""
        owner = pod.metadata.controller
        same = owner is not None and owner.kind == self.resource.kind
        return owner.uid if owner is not None and same and _group(owner.api_version) == self.resource.group else ""

    def pod_selector(self, mirror: str, shown: Object | None = None) -> str:
        selector = self._kind.pods.selector
        fields = paths.decoded(shown) if shown is not None and placeholders(selector) != ["metadata.name"] else {}
        return _filled(selector, {**fields, "metadata": {"name": mirror}})

    def log_selectors(self, mirror: Object) -> tuple[str, ...]:
        rule = self._kind.pods
        if not rule.logs:
            by_uid = f"{rule.owner}={mirror.uid}" if rule.owner not in ("", "controller") else ""
            found = by_uid or self.pod_selector(mirror.name, mirror)
            return (found,) if found else ()
        whole = paths.decoded(mirror)
        return tuple(filter(None, (_filled(selector, whole) for selector in rule.logs)))

    def urgency(self, original: Object, new: Mapping[str, Any]) -> Urgency:
        return status.urgency(self._kind, original, new)


def _filled(selector: str, whole: Mapping[str, Any]) -> str:
    """A label selector with the values of fields in it; empty if all are absent, or one can be no label's value."""
    values = [paths.first(path, whole) or "" for path in placeholders(selector)]
    if not any(values) or not all(isinstance(value, str) and not is_valid_label_value(value) for value in values):
        return ""
    found = iter(values)
    return re.sub(r"\{[^{}]*\}", lambda _: str(next(found)), selector)


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]
