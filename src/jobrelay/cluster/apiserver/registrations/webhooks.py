"""The webhooks of a cluster, parsed once for each change of their configurations.

Which of them can be about a kind of request (an operation on a resource in a version) depends on their rules alone. It
is found out once and kept, so that a write that no webhook is about pays for one lookup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec

from jobrelay.apimachinery.selectors import Selector, selector_from_object
from jobrelay.cluster.apiserver.outbound import CallTarget
from jobrelay.cluster.apiserver.registrations.metrics import WebhookMetrics
from jobrelay.cluster.apiserver.resources import ResourceTable, ServedResource
from jobrelay.cluster.store import Store
from jobrelay.kinds.admissionregistration.matching import GroupVersionResource, MatchAttributes, ResourceRule

GROUP: Final = "admissionregistration.k8s.io"
MUTATING: Final = f"mutatingwebhookconfigurations.{GROUP}"
VALIDATING: Final = f"validatingwebhookconfigurations.{GROUP}"
_EXEMPT: Final = frozenset({
    MUTATING, VALIDATING, f"validatingadmissionpolicies.{GROUP}", f"validatingadmissionpolicybindings.{GROUP}",
    f"mutatingadmissionpolicies.{GROUP}", f"mutatingadmissionpolicybindings.{GROUP}",
})  # fmt: skip


class Webhook(msgspec.Struct, frozen=True, eq=False):
    """One webhook of a configuration; `id` is unique among those of its type."""

    id: str
    name: str
    target: CallTarget
    rules: tuple[ResourceRule, ...]
    fails: bool
    equivalent: bool
    namespaces: Selector
    objects: Selector
    conditions: tuple[tuple[str, str], ...]
    dry_runs: bool
    seconds: int
    versions: tuple[str, ...]
    reinvoked: bool


class Invocation(NamedTuple):
    """A webhook that is about a kind of request, and the version of the resource that it wants to see."""

    webhook: Webhook
    served: ServedResource


class WebhookConfigurations:
    """The webhooks of a store's configurations, in the order of their calls: by configuration, then as listed there."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.metrics = WebhookMetrics()
        self._parsed: dict[str, tuple[Webhook, ...]] = {}
        self._relevant: dict[tuple[str, str, ServedResource, str], tuple[Invocation, ...]] = {}
        self._changed = -1
        self._any: bool | None = None
        for key in (MUTATING, VALIDATING):
            store.subscribe(key, lambda change: self._forget())

    def _forget(self) -> None:
        self._parsed.clear()
        self._relevant.clear()
        self._any = None

    @property
    def any(self) -> bool:
        """Whether there are webhooks at all."""
        if self._any is None:
            self._any = bool(self._all(MUTATING) or self._all(VALIDATING))
        return self._any

    def _all(self, key: str) -> tuple[Webhook, ...]:
        found = self._parsed.get(key)
        if found is None:
            items = self._store.snapshot(key, self._store.committed).walk("")
            found = self._parsed[key] = tuple(
                hook for item in items for hook in _webhooks(msgspec.json.decode(item.raw))
            )
        return found

    def relevant(
        self, key: str, resources: ResourceTable, operation: str, served: ServedResource, subresource: str
    ) -> tuple[Invocation, ...]:
        """The webhooks of a type (MUTATING or VALIDATING) whose rules match."""
        if not self._all(key):
            return ()
        if resources.changed != self._changed:
            self._relevant.clear()
            self._changed = resources.changed
        case = (key, operation, served, subresource)
        found = self._relevant.get(case)
        if found is None:
            found = self._relevant[case] = tuple(self._matching(key, resources, operation, served, subresource))
        return found

    def _matching(
        self, key: str, resources: ResourceTable, operation: str, served: ServedResource, subresource: str
    ) -> Iterator[Invocation]:
        if served.key in _EXEMPT:
            return
        others = [
            other
            for other in resources
            if other.key == served.key and other is not served
            if not subresource or subresource in other.subresources
        ]
        attributes = MatchAttributes(_resource(served), subresource, operation, "*" if served.namespaced else "")
        for webhook in self._all(key):
            shown = [served, *others] if webhook.equivalent else [served]
            candidates = ((rule, one) for one in shown[:1] for rule in webhook.rules)
            equivalents = ((rule, one) for rule in webhook.rules for one in shown[1:])
            matching = (one for rule, one in chain(candidates, equivalents) if rule.matches(attributes, _resource(one)))
            if (wanted := next(matching, None)) is not None:
                yield Invocation(webhook, wanted)


def _resource(served: ServedResource) -> GroupVersionResource:
    return GroupVersionResource(served.group, served.version, served.plural)


def _webhooks(configuration: dict[str, Any]) -> Iterator[Webhook]:
    name, seen = configuration["metadata"]["name"], Counter[str]()
    for hook in configuration.get("webhooks") or ():
        yield _webhook(f"{name}/{hook['name']}/{seen[hook['name']]}", hook)
        seen[hook["name"]] += 1


def _webhook(identity: str, hook: dict[str, Any]) -> Webhook:
    return Webhook(
        id=identity,
        name=hook["name"],
        target=CallTarget.from_client_config(hook["clientConfig"]),
        rules=tuple(map(ResourceRule, hook.get("rules") or ())),
        fails=hook.get("failurePolicy") != "Ignore",
        equivalent=hook.get("matchPolicy") == "Equivalent",
        namespaces=selector_from_object(hook.get("namespaceSelector") or {}),
        objects=selector_from_object(hook.get("objectSelector") or {}),
        conditions=tuple((one["name"], one["expression"]) for one in hook.get("matchConditions") or ()),
        dry_runs=hook.get("sideEffects") in ("None", "NoneOnDryRun"),
        seconds=hook.get("timeoutSeconds") or 10,
        versions=tuple(hook.get("admissionReviewVersions") or ()),
        reinvoked=hook.get("reinvocationPolicy") == "IfNeeded",
    )
