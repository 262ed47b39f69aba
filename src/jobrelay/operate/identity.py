"""The relay's identity on a worker, as manifests: a service account, its permissions, and a policy that restricts it.

Each management cluster has its own identity, named after its origin, so several can share a worker without being able
to touch each other's workloads. Permissions are namespaced roles; only `cluster_wide` adds read permissions for all
namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from jobrelay.kube import Resource
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, SERVICEACCOUNTS
from jobrelay.operate.copying import copy_policy, copy_rules
from jobrelay.operate.kinds import installed_kinds, kind_rules
from jobrelay.operate.manifests import Manifest, binding, manifest, role, rule
from jobrelay.operate.policy import policy, policy_binding
from jobrelay.relay.copy_rules import CopyRules
from jobrelay.relay.workers.multikueue import WORKLOADS

__all__ = ["HOME", "IDENTITY", "WORKER", "RelayIdentity", "identity_manifests"]

HOME: Final = "jobrelay-worker"
"""The namespace on a worker that holds the identities."""
IDENTITY: Final = "jobrelay.dev/identity"
"""Label on every object that belongs to an identity."""
WORKER: Final = "jobrelay.dev/worker"
"""Annotation on its ServiceAccount: the name of this cluster as a worker."""
_SYSTEM: Final = "kube-system"


@dataclass(frozen=True, slots=True)
class RelayIdentity:
    """The identity of one management cluster's relay on one worker."""

    origin: str
    worker: str
    namespaces: tuple[str, ...]
    cluster_wide: bool = False
    guarded: bool = True
    """Whether a ValidatingAdmissionPolicy restricts what it creates."""
    home: str = HOME
    copies: CopyRules = field(default_factory=CopyRules)
    """Which objects it may copy there."""
    kinds: tuple[Resource, ...] = field(default_factory=installed_kinds)
    """Which kinds of mirrors it may create there."""
    commands: bool = False
    """Whether it may run commands in pods."""

    @property
    def name(self) -> str:
        return self.origin

    @property
    def username(self) -> str:
        return f"system:serviceaccount:{self.home}:{self.name}"

    @property
    def labels(self) -> dict[str, str]:
        return {IDENTITY: self.origin}


def identity_manifests(identity: RelayIdentity) -> list[Manifest]:
    """All objects, in the order in which they can be applied: the policy comes before any permission.

    The identity's own namespace and those that it works in must exist.
    """
    account = (identity.home, identity.name)
    made = [_account(identity)]
    if identity.guarded:
        kinds = (*identity.kinds, WORKLOADS)
        made.append(policy(identity.name, identity.username, identity.origin, identity.labels, kinds))
        made.append(policy_binding(identity.name, identity.labels))
        made += copy_policy(identity.copies, identity.name, identity.username, identity.origin, identity.labels)
    granted = {
        identity.home: [rule("", "serviceaccounts/token", "create", identity.name)],
        _SYSTEM: [rule("", "namespaces", "get", _SYSTEM)],
    }
    for namespace in identity.namespaces:
        granted[namespace] = [
            *granted.get(namespace, ()),
            *_mirrors(identity.kinds),
            *([rule("", "pods/exec", "create get")] if identity.commands else []),
            *copy_rules(identity.copies, namespace),
        ]
    everywhere = copy_rules(identity.copies, "")
    if identity.cluster_wide:
        everywhere += [
            rule("", "nodes pods namespaces", "get list watch"),
            rule(CUSTOMRESOURCEDEFINITIONS.group, CUSTOMRESOURCEDEFINITIONS.plural, "get list watch"),
        ]
    if everywhere:
        granted[""] = everywhere
    for namespace, rules in granted.items():
        made.append(role(identity.name, namespace, rules, identity.labels))
        made.append(binding(identity.name, namespace, account, identity.labels))
    return made


def _account(identity: RelayIdentity) -> Manifest:
    automount = {"automountServiceAccountToken": False}
    made = manifest(SERVICEACCOUNTS, identity.name, identity.home, identity.labels, **automount)
    made["metadata"]["annotations"] = {WORKER: identity.worker}
    return made


def _mirrors(kinds: Iterable[Resource]) -> list[Manifest]:
    """The permissions in a namespace: mirrors, what queues them where the worker runs Kueue, and read access to pods,
    logs and events; no Secrets."""
    return [
        *kind_rules([*kinds, WORKLOADS], "create get list watch patch delete"),
        *kind_rules([WORKLOADS], "patch", "status"),
        rule("", "pods", "get list watch"),
        rule("", "pods/log", "get"),
        rule("", "events", "list watch"),
    ]
