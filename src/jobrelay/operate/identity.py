"""Who the relay is on a worker, as manifests: a service account, what it may do, and a policy over it.

One identity for each management cluster, named by its origin, so that several of them can share a worker and none can touch
what another has there. All rights are in roles of single namespaces; only `cluster_wide` adds reading rights for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jobrelay.operate.manifests import Manifest, binding, role, rule, service_account
from jobrelay.operate.policy import policy, policy_binding

__all__ = ["HOME", "IDENTITY", "WORKER", "Identity", "manifests"]

HOME: Final = "jobrelay-worker"
"""The namespace on a worker that identities live in."""
IDENTITY: Final = "jobrelay.dev/identity"
"""Label on everything that belongs to an identity."""
WORKER: Final = "jobrelay.dev/worker"
"""Annotation on its ServiceAccount: the name that this cluster has as a worker."""
_SYSTEM: Final = "kube-system"


@dataclass(frozen=True, slots=True)
class Identity:
    """The relay of one management cluster on one worker."""

    origin: str
    worker: str
    namespaces: tuple[str, ...]
    cluster_wide: bool = False
    guarded: bool = True
    """Whether a policy looks at what it creates."""
    home: str = HOME

    @property
    def name(self) -> str:
        return self.origin

    @property
    def username(self) -> str:
        return f"system:serviceaccount:{self.home}:{self.name}"

    @property
    def labels(self) -> dict[str, str]:
        return {IDENTITY: self.origin}


def manifests(who: Identity) -> list[Manifest]:
    """Everything, in the order in which it can be applied; the policy is there before any right is.

    The namespace that the identity lives in, and those that it may work in, must be there.
    """
    account = (who.home, who.name)
    made = [_account(who)]
    if who.guarded:
        made += [policy(who.name, who.username, who.origin, who.labels), policy_binding(who.name, who.labels)]
    granted = {
        who.home: [rule("", "serviceaccounts/token", "create", who.name)],
        _SYSTEM: [rule("", "namespaces", "get", _SYSTEM)],
    }
    for place in who.namespaces:
        granted[place] = [*granted.get(place, ()), *_mirrors()]
    if who.cluster_wide:
        granted[""] = [rule("", "nodes pods namespaces", "get list watch")]
    for place, rules in granted.items():
        made += [role(who.name, place, rules, who.labels), binding(who.name, place, account, who.labels)]
    return made


def _account(who: Identity) -> Manifest:
    made = service_account(who.name, who.home, who.labels)
    made["metadata"]["annotations"] = {WORKER: who.worker}
    return {**made, "automountServiceAccountToken": False}


def _mirrors() -> list[Manifest]:
    """What the relay does in a namespace: no Secrets, no pods but to look at them and their logs."""
    return [
        rule("batch", "jobs", "create get list watch patch delete"),
        rule("", "pods", "get list watch"),
        rule("", "pods/log", "get"),
        rule("", "events", "list watch"),
    ]
