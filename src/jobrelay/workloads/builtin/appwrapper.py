"""AppWrappers: the pods of the objects that they wrap.

A component declares its pod sets, or they are inferred from the kind of its template: by the descriptions of the kinds
that are known here, and by three rules for kinds of Kubernetes itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from jobrelay.workloads.adapter import NOTHING_FOUND, Found
from jobrelay.workloads.declared import DeclaredAdapter, KindDescription, paths
from jobrelay.workloads.declared.demand import TemplateSet, template_sets
from jobrelay.workloads.declared.description import PodSetRule
from jobrelay.workloads.references import FieldPath

_STEP: Final = re.compile(r"(?:^|\.)([^.\[\]]+)|\[(\d+)\]")
_REPLICAS: Final = (PodSetRule("spec.template", count=("spec.replicas",)),)
_JOB: Final = (PodSetRule("spec.template", count=(("spec.parallelism", "spec.completions"),)),)
_OWN: Final[Mapping[tuple[str, str], tuple[PodSetRule, ...]]] = {
    ("apps/v1", "Deployment"): _REPLICAS,
    ("apps/v1", "StatefulSet"): _REPLICAS,
    ("batch/v1", "Job"): _JOB,
}


class AppWrapperAdapter(DeclaredAdapter):
    """AppWrappers; `known` are the descriptions of the kinds that they may wrap."""

    def __init__(self, kind: KindDescription, known: Mapping[str, KindDescription]) -> None:
        super().__init__(kind)
        self._rules = dict(_OWN)
        for each in known.values():
            resource = each.api_resource
            self._rules[resource.api_version, resource.kind] = each.pod_sets

    def template_sets(self, whole: dict[str, Any], found: Found = NOTHING_FOUND) -> list[TemplateSet]:
        sets: list[TemplateSet] = []
        for place, component in paths.located(paths.parse("spec.components.*"), whole):
            if isinstance(component, dict) and isinstance(component.get("template"), dict):
                own = list(_declared(component)) or self._inferred(component["template"])
                sets += [TemplateSet((*place, *each.place), each.template, each.count) for each in own]
        return sets

    def _inferred(self, wrapped: dict[str, Any]) -> list[TemplateSet]:
        key = str(wrapped.get("apiVersion")), str(wrapped.get("kind"))
        if key == ("v1", "Pod"):
            return [TemplateSet(("template",), wrapped, 1)]
        found = template_sets(self._rules.get(key, ()), wrapped)
        return [TemplateSet(("template", *each.place), each.template, each.count) for each in found]


def _declared(component: Mapping[str, Any]) -> Iterator[TemplateSet]:
    for declared in paths.values("podSets.*", component):
        path, replicas = paths.first("path", declared), paths.first("replicas", declared)
        place = _place(path) if isinstance(path, str) else ()
        template: Any = component
        for key in place:
            try:
                template = template[key]
            except (KeyError, IndexError, TypeError):
                template = None
        if place and isinstance(template, dict):
            yield TemplateSet(place, template, max(0, replicas) if type(replicas) is int else 1)


def _place(path: str) -> FieldPath:
    """A path as AppWrappers write it: `template.spec.replicatedJobs[0].template.spec.template`."""
    return tuple(int(index) if index else name for name, index in _STEP.findall(path))
