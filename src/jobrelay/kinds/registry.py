"""The registry of built-in kinds: resources, strategies, and conversions to the stored version.

A strategy's module is imported when it is first needed: most clusters use few kinds.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from importlib import resources as files
from typing import Any, Final

import msgspec

from jobrelay.kinds.strategy import Obj, Strategy

Conversion = tuple[str, Callable[[Obj], Obj], Callable[[Obj], Obj]]

MODULES: Final[dict[str, tuple[str, ...]]] = {
    "": (
        "core.pod.strategy", "core.claims", "core.configmaps", "core.endpoints", "core.events", "core.limitranges",
        "core.namespaces", "core.nodes", "core.resourcequotas", "core.secrets", "core.serviceaccounts",
        "core.services", "core.volumes",
    ),
    "batch": ("batch.job.strategy", "batch.cronjob"),
    "apps": ("apps.deployment", "apps.replicaset", "apps.statefulset", "apps.daemonset", "apps.controllerrevision"),
    "autoscaling": ("autoscaling",),
    "policy": ("policy.poddisruptionbudget",),
    "rbac.authorization.k8s.io": ("rbac.roles",),
    "coordination.k8s.io": ("coordination.leases",),
    "scheduling.k8s.io": ("scheduling.priorityclasses",),
    "events.k8s.io": ("events.events",),
    "certificates.k8s.io": ("certificates.signingrequests",),
    "storage.k8s.io": ("storage.classes", "storage.csi", "storage.attachments"),
    "networking.k8s.io": ("networking.ingress", "networking.networkpolicy", "networking.addresses"),
    "node.k8s.io": ("node.runtimeclasses",),
    "discovery.k8s.io": ("discovery.endpointslices",),
    "resource.k8s.io": ("resource.classes", "resource.claims", "resource.slices"),
    "admissionregistration.k8s.io": ("admissionregistration.webhooks", "admissionregistration.policies"),
    "flowcontrol.apiserver.k8s.io": ("flowcontrol.flowschemas", "flowcontrol.prioritylevels"),
    "apiregistration.k8s.io": ("apiregistration.apiservices",),
    "apiextensions.k8s.io": ("apiextensions.definition",),
}  # fmt: skip


@functools.cache
def resources() -> list[dict[str, Any]]:
    """The rows of data/resources.json: what a fresh cluster serves."""
    raw = files.files("jobrelay.kinds").joinpath("data/resources.json").read_bytes()
    rows: list[dict[str, Any]] = msgspec.json.decode(raw)
    return rows


@functools.cache
def strategy(group: str, plural: str) -> Strategy:
    """The strategy of a built-in kind; kinds without rules of their own get the default one."""
    for name in MODULES.get(group, ()):
        module = importlib.import_module(f"jobrelay.kinds.{name}")
        found: Strategy | None = module.STRATEGIES.get((group, plural))
        if found is not None:
            return found
    return Strategy()


def conversion(group: str, version: str, plural: str) -> Conversion | None:
    """For a version that is stored as another one: the storage key and the functions to and from storage."""
    if (group, plural) == ("events.k8s.io", "events"):
        from jobrelay.kinds.events import events

        return "events", events.to_core, events.from_core
    if (group, version, plural) == ("autoscaling", "v1", "horizontalpodautoscalers"):
        from jobrelay.kinds import autoscaling

        return "horizontalpodautoscalers.autoscaling", autoscaling.v1_to_v2, autoscaling.v2_to_v1
    return None
