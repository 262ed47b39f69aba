"""Making a cluster a worker, and letting it go again.

To join, the worker gets an identity for the relay (`identity`), and the management cluster the kubeconfig with a first token of
that identity, which the relay renews from then on. Every step is an apply or a delete of what is named or labelled, so both
commands may be called again at any time and finish what was left undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from jobrelay.fleet.errors import FleetError
from jobrelay.fleet.registry import check_kubeconfig, register
from jobrelay.kube import (
    Client,
    Clock,
    Connection,
    Forbidden,
    Kubeconfig,
    KubeError,
    SystemClock,
    Unauthorized,
    connect,
    server_version,
    serves,
)
from jobrelay.kube.clock import sleep
from jobrelay.kube.resource import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    JOBS,
    NAMESPACES,
    ROLEBINDINGS,
    ROLES,
    SERVICEACCOUNTS,
    VALIDATINGADMISSIONPOLICIES,
    VALIDATINGADMISSIONPOLICYBINDINGS,
)
from jobrelay.operate.applying import Step, Tell, apply, find, remove
from jobrelay.operate.identity import HOME, IDENTITY, WORKER, Identity, manifests
from jobrelay.operate.kubeconfigs import kubeconfig
from jobrelay.operate.manifests import Manifest
from jobrelay.operate.manifests import namespace as namespace_manifest
from jobrelay.operate.trials import refused, trial
from jobrelay.relay.names import NAMESPACES as SERVES
from jobrelay.relay.names import RENEW
from jobrelay.relay.workers.tokens import request_token

__all__ = ["RIGHTS", "Joining", "join"]

RIGHTS: Final = (
    ROLEBINDINGS,
    ROLES,
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    VALIDATINGADMISSIONPOLICYBINDINGS,
    VALIDATINGADMISSIONPOLICIES,
)
"""Where rights of an identity are kept, those that give them first."""
_TRIES: Final = 100
_PAUSE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """What was asked for."""

    name: str
    namespaces: tuple[str, ...]
    relay_namespace: str
    origin: str
    cluster_wide: bool = False
    policy: bool = True
    ttl: float = 86_400.0
    create_namespaces: bool = False
    server: str = ""
    """The address under which the relay reaches the worker, if it is another than ours."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False

    @property
    def identity(self) -> Identity:
        return Identity(self.origin, self.name, self.namespaces, self.cluster_wide, self.policy)


async def join(
    management: Client, worker: Client, way: Connection, asked: Joining, tell: Tell, clock: Clock | None = None
) -> None:
    """Makes the cluster at `way`, which `worker` is an administrator of, a worker; raises FleetError and KubeError."""
    await _examine(worker, asked)
    await apply(worker, await _places(worker, asked), "worker", tell, dry_run=asked.dry_run)
    await apply(worker, manifests(asked.identity), "worker", tell, dry_run=asked.dry_run)
    await _remove_surplus(worker, asked, tell)
    said = "would be registered"
    if not asked.dry_run:
        token = await request_token(worker, HOME, asked.identity.name, asked.ttl)
        text = kubeconfig(asked.name, way, asked.namespaces[0], token, asked.server)
        if problem := check_kubeconfig(text):
            raise FleetError(f"the relay would not use this kubeconfig: {problem}")
        await _wait_for_rights(text, asked, tell, clock or SystemClock())
        new = await register(
            management,
            asked.name,
            text,
            asked.relay_namespace,
            secret_annotations={RENEW: "true"},
            labels=dict(asked.labels),
            annotations={**asked.annotations, SERVES: ",".join(asked.namespaces)},
        )
        said = "registered" if new else "updated"
    tell(
        Step("management", said, f"MultiKueueCluster {asked.name} and its Secret in namespace {asked.relay_namespace}")
    )


async def _examine(worker: Client, asked: Joining) -> None:
    """Whether this can become that worker."""
    account = await find(worker, SERVICEACCOUNTS, asked.identity.name, HOME)
    known_as = account.metadata.annotations.get(WORKER, asked.name) if account is not None else asked.name
    if known_as != asked.name:
        raise FleetError(f"this cluster is already worker {known_as!r}", f"`jobrelay worker leave {known_as}` first")
    if asked.policy and not await serves(worker, VALIDATINGADMISSIONPOLICIES):
        raise FleetError(
            "this cluster has no ValidatingAdmissionPolicies, which need Kubernetes 1.30",
            "--without-policy joins it without the rules that only they can keep",
        )


async def _places(worker: Client, asked: Joining) -> list[Manifest]:
    """The namespaces that are missing. One that is there stays as it is: it may not be ours."""
    home = [] if await find(worker, NAMESPACES, HOME) is not None else [HOME]
    missing = [name for name in asked.namespaces if await find(worker, NAMESPACES, name) is None]
    if missing and not asked.create_namespaces:
        raise FleetError(
            f"the worker has no namespace {', '.join(missing)}", "create it there, or add --create-namespaces"
        )
    return [namespace_manifest(name) for name in (*home, *missing)]


async def _remove_surplus(worker: Client, asked: Joining, tell: Tell) -> None:
    """Takes away what an earlier join gave and this one does not."""
    wanted = {(made["kind"], made["metadata"].get("namespace", "")) for made in manifests(asked.identity)}
    for resource in RIGHTS:
        if not asked.policy and not await serves(worker, resource):
            continue
        held = await worker.list(resource, label_selector=f"{IDENTITY}={asked.origin}")
        surplus = [obj for obj in held.items if (resource.kind, obj.namespace) not in wanted]
        await remove(worker, resource, surplus, "worker", tell, dry_run=asked.dry_run)


async def _wait_for_rights(text: bytes, asked: Joining, tell: Tell, clock: Clock) -> None:
    """API servers learn of roles and policies by watching, so both hold a moment after they were made."""
    way = Kubeconfig.inline(text).connection()
    async with connect(way) as client:
        try:
            for place in asked.namespaces:
                await _wait_for_right(client, place, clock)
            if asked.policy:
                await _wait_for_policy(client, asked.namespaces[0], tell, clock)
        except (Forbidden, Unauthorized):
            raise
        except KubeError:
            if not asked.server:
                raise  # else it is an address that only the relay can reach


async def _wait_for_right(client: Client, place: str, clock: Clock) -> None:
    for tries_left in reversed(range(_TRIES)):
        try:
            await client.call("GET", JOBS.path(place), {"limit": 1})
            return
        except (Forbidden, Unauthorized):
            if not tries_left:
                raise
            await sleep(clock, _PAUSE)


async def _wait_for_policy(client: Client, place: str, tell: Tell, clock: Clock) -> None:
    """The relay gets its token only when the worker refuses what is no mirror. Embedded clusters never do."""
    if (await server_version(client)).compiler != "gc":
        return
    for _ in range(_TRIES):
        if await refused(client, trial(place, "")):
            return
        await sleep(clock, _PAUSE)
    tell(Step("worker", "not obeyed yet", "ValidatingAdmissionPolicy; `jobrelay worker check` tells when it is"))
