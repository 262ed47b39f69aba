"""What a workload of a declared kind needs of a cluster, from its pod templates.

As for Jobs, its shape leaves out what differs between the workloads of a batch and does not matter to a cluster that
accepts one: names, commands, arguments, values of environment variables. An amount that cannot be read is left out:
the worker, who is asked before anything is created there, has the last word on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from typing import Any, Final

import msgspec

from jobrelay.workloads.adapter import PodSet
from jobrelay.workloads.declared import paths
from jobrelay.workloads.declared.description import OneOrMore, PodSetRule, many
from jobrelay.workloads.declared.predicates import holds
from jobrelay.workloads.references import FieldPath
from jobrelay.workloads.requests import pod_requests

_NOT_JUDGED: Final = frozenset({"command", "args"})
_GRACE: Final = 30.0
_MOST: Final = 1_000_000
"""More pods than any cluster has: a larger count in an object is taken for this one."""
_encoder = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True)
class TemplateSet:
    """A pod template, where it is, and how many pods run from it."""

    place: FieldPath
    template: Mapping[str, Any]
    count: int


def template_sets(rules: Iterable[PodSetRule], obj: Mapping[str, Any]) -> list[TemplateSet]:
    """The pod templates of an object that run pods."""
    found: list[TemplateSet] = []
    for rule in rules:
        if rule.when != () and not holds(rule.when, obj):
            continue
        entries = paths.located((*paths.parse(rule.each), paths.Every()), obj) if rule.each else [((), obj)]
        for place, entry in entries:
            template = paths.first(rule.template, entry)
            template = rule.default if template is None else template
            if isinstance(template, dict):
                whole = (*place, *paths.plain(rule.template))
                found.append(TemplateSet(whole, template, _product(rule.count, entry)))
    return found


def _product(factors: tuple[OneOrMore, ...], entry: Any) -> int:
    product = 1
    for factor in factors:
        numbers = [value for path in many(factor) for value in paths.values(path, entry) if type(value) is int]
        product = min(product * max(0, min(numbers, default=1)), _MOST)
    return product


def pod_set(template: Mapping[str, Any], count: int) -> PodSet:
    """What the pods of a template request, and where they may run."""
    pod = template.get("spec")
    pod = pod if isinstance(pod, dict) else {}
    selector, affinity = pod.get("nodeSelector"), paths.first("affinity.nodeAffinity", pod)
    return PodSet(
        count=count,
        requests=_requests(pod),
        node_selector=selector if isinstance(selector, dict) else {},
        tolerations=tuple(each for each in paths.values("tolerations.*", pod) if isinstance(each, dict)),
        affinity=affinity if isinstance(affinity, dict) else None,
    )


def _requests(pod: Mapping[str, Any]) -> dict[str, Fraction]:
    try:
        return pod_requests(pod)
    except (ValueError, TypeError, AttributeError, KeyError):
        return {}


def grace(templates: Iterable[Mapping[str, Any]]) -> float:
    """The longest that pods of these templates may take to terminate."""
    periods = [paths.first("spec.terminationGracePeriodSeconds", template) for template in templates]
    return max((float(each) if type(each) is int else _GRACE for each in periods), default=_GRACE)


def shape(namespace: str, labels: Mapping[str, str], annotations: Mapping[str, str], spec: Any) -> str:
    """A digest of what a worker may judge a workload by; without a spec that is nested too deeply."""
    try:
        judged = _encoder.encode((namespace, labels, annotations, _judged(spec)))
    except RecursionError:
        judged = _encoder.encode((namespace, labels, annotations))
    return blake2b(judged, digest_size=16).hexdigest()


def _judged(value: Any) -> Any:
    if isinstance(value, list):
        return [_judged(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _judged(each) for key, each in value.items() if key not in _NOT_JUDGED and key != "env"}
    if isinstance(value.get("env"), list):
        kept["env"] = [each.get("name") for each in value["env"] if isinstance(each, dict)]
    return kept
