"""Makes a cluster a worker.

The worker gets an identity for the relay (`identity`). The management cluster gets a kubeconfig with a first token of
that identity, which the relay renews from then on. Each step is an apply, or a delete by label, so `join` can be
repeated at any time and completes what an earlier call did not finish.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from jobrelay.kube import (
    Client,
    Clock,
    Connection,
    Forbidden,
    Kubeconfig,
    KubeError,
    Resource,
    SystemClock,
    Unauthorized,
    connect,
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
from jobrelay.operate.applying import ReportStep, Step, apply, find, remove
from jobrelay.operate.errors import OperateError
from jobrelay.operate.identity import HOME, IDENTITY, WORKER, RelayIdentity, identity_manifests
from jobrelay.operate.kinds import installed_kinds
from jobrelay.operate.kubeconfig import worker_kubeconfig
from jobrelay.operate.manifests import Manifest, manifest
from jobrelay.operate.probes import is_forbidden, probe_job
from jobrelay.operate.registry import check_kubeconfig, register_worker
from jobrelay.relay.copy_rules import CopyRules
from jobrelay.relay.names import NAMESPACES as SERVES
from jobrelay.relay.names import RENEW
from jobrelay.relay.workers.tokens import request_token

__all__ = ["PERMISSION_KINDS", "JoinRequest", "join"]

PERMISSION_KINDS: Final = (
    ROLEBINDINGS,
    ROLES,
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    VALIDATINGADMISSIONPOLICYBINDINGS,
    VALIDATINGADMISSIONPOLICIES,
)
"""The kinds that grant or restrict what an identity may do, in the order in which they are deleted."""
_TRIES: Final = 100
_PAUSE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    """Which worker joins, and what the relay may do there."""

    name: str
    namespaces: tuple[str, ...]
    relay_namespace: str
    origin: str
    cluster_wide: bool = False
    policy: bool = True
    ttl: float = 86_400.0
    create_namespaces: bool = False
    copies: CopyRules = field(default_factory=CopyRules)
    """Which objects that Jobs name the relay may copy there."""
    kinds: tuple[Resource, ...] = field(default_factory=installed_kinds)
    """Which kinds the relay may run there."""
    commands: bool = False
    """Whether the relay may run commands in pods there, for `jobrelay exec`."""
    server: str = ""
    """The address at which the relay reaches the worker, if it differs from the one in our kubeconfig."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False

    @property
    def identity(self) -> RelayIdentity:
        return RelayIdentity(
            self.origin,
            self.name,
            self.namespaces,
            self.cluster_wide,
            self.policy,
            copies=self.copies,
            kinds=self.kinds,
            commands=self.commands,
        )


async def join(
    management: Client,
    worker: Client,
    connection: Connection,
    request: JoinRequest,
    report: ReportStep,
    clock: Clock | None = None,
) -> None:
    """Makes the cluster at `connection` a worker, as its administrator `worker`; raises OperateError and KubeError."""
    await _check_eligible(worker, request)
    await apply(worker, await _missing_namespaces(worker, request), "worker", report, dry_run=request.dry_run)
    await apply(worker, identity_manifests(request.identity), "worker", report, dry_run=request.dry_run)
    await _remove_surplus(worker, request, report)
    action = "would be registered"
    if not request.dry_run:
        token = await request_token(worker, HOME, request.identity.name, request.ttl)
        kubeconfig = worker_kubeconfig(request.name, connection, request.namespaces[0], token, request.server)
        if problem := check_kubeconfig(kubeconfig):
            raise OperateError(f"the relay would refuse the kubeconfig of worker {request.name!r}: {problem}")
        await _wait_until_effective(kubeconfig, request, report, clock or SystemClock())
        action = "registered" if await _register(management, kubeconfig, request) else "updated"
    what = f"MultiKueueCluster {request.name} and its Secret in namespace {request.relay_namespace}"
    report(Step("management", action, what))


async def _register(management: Client, kubeconfig: bytes, request: JoinRequest) -> bool:
    return await register_worker(
        management,
        request.name,
        kubeconfig,
        request.relay_namespace,
        secret_annotations={RENEW: "true"},
        labels=dict(request.labels),
        annotations={**request.annotations, SERVES: ",".join(request.namespaces)},
    )


async def _check_eligible(worker: Client, request: JoinRequest) -> None:
    """Raises OperateError if this cluster cannot become that worker."""
    account = await find(worker, SERVICEACCOUNTS, request.identity.name, HOME)
    known_as = account.metadata.annotations.get(WORKER, request.name) if account is not None else request.name
    if known_as != request.name:
        raise OperateError(
            f"this cluster is already worker {known_as!r}", f"run `jobrelay worker leave {known_as}` first"
        )
    if request.policy and not await serves(worker, VALIDATINGADMISSIONPOLICIES):
        raise OperateError(
            "this cluster does not serve ValidatingAdmissionPolicies, which need Kubernetes 1.30 or newer",
            "--without-policy joins it without the restrictions that only a policy can enforce",
        )


async def _missing_namespaces(worker: Client, request: JoinRequest) -> list[Manifest]:
    """Manifests of the namespaces to create. Existing ones are not changed: they may belong to somebody else."""
    home = [] if await find(worker, NAMESPACES, HOME) is not None else [HOME]
    missing = [name for name in request.namespaces if await find(worker, NAMESPACES, name) is None]
    if missing and not request.create_namespaces:
        raise OperateError(
            f"the worker has no namespace {', '.join(missing)}", "create it there, or add --create-namespaces"
        )
    return [manifest(NAMESPACES, name) for name in (*home, *missing)]


async def _remove_surplus(worker: Client, request: JoinRequest, report: ReportStep) -> None:
    """Removes the permissions that an earlier join granted and this one does not."""
    wanted = {
        (made["kind"], made["metadata"].get("namespace", ""), made["metadata"]["name"])
        for made in identity_manifests(request.identity)
    }
    for resource in PERMISSION_KINDS:
        if not request.policy and not await serves(worker, resource):
            continue
        held = await worker.list(resource, label_selector=f"{IDENTITY}={request.origin}")
        surplus = [obj for obj in held.items if (resource.kind, obj.namespace, obj.name) not in wanted]
        await remove(worker, resource, surplus, "worker", report, dry_run=request.dry_run)


async def _wait_until_effective(kubeconfig: bytes, request: JoinRequest, report: ReportStep, clock: Clock) -> None:
    """Waits for roles and policies: API servers learn about them by watches, so they take effect a little later."""
    async with connect(Kubeconfig.inline(kubeconfig).connection()) as client:
        try:
            for namespace in request.namespaces:
                await _wait_for_roles(client, namespace, clock)
            if request.policy:
                await _wait_for_policy(client, request.namespaces[0], report, clock)
        except (Forbidden, Unauthorized):
            raise
        except KubeError:
            if not request.server:
                raise  # with --server the address may be one that only the relay can reach


async def _wait_for_roles(client: Client, namespace: str, clock: Clock) -> None:
    for tries_left in reversed(range(_TRIES)):
        try:
            await client.call("GET", JOBS.path(namespace), {"limit": 1})
            return
        except (Forbidden, Unauthorized):
            if not tries_left:
                raise
            await sleep(clock, _PAUSE)


async def _wait_for_policy(client: Client, namespace: str, report: ReportStep, clock: Clock) -> None:
    """Returns when the worker refuses a Job that is not a mirror, so that the relay gets no unrestricted token."""
    for _ in range(_TRIES):
        if await is_forbidden(client, probe_job(namespace, "")):
            return
        await sleep(clock, _PAUSE)
    report(Step("worker", "not enforced yet", "ValidatingAdmissionPolicy; `jobrelay worker check` shows when it is"))
