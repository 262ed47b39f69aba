"""A JobSet as the controller reads it.

JobSet's webhook fills in defaults when a JobSet is created. Where there is no webhook, absent fields have the same
defaults here. A definition with an open schema accepts anything, so all that is read has a type here: a JobSet that
does not fit is refused as a whole, with the path of what is wrong.
"""

from __future__ import annotations

from typing import Any

import msgspec

from jobrelay.cluster.controllers.jobset.names import COMPLETED, CONTROLLER, FAILED

__all__ = ["ClaimTemplate", "Dependency", "FailurePolicy", "FailurePolicyRule", "JobSet", "ReplicatedJob"]

Obj = dict[str, Any]


class _View(msgspec.Struct, frozen=True, rename="camel"):
    pass


def _check(what: str, raw: Obj, view: type[_View]) -> None:
    """Raises ValueError, which names its place, for a raw value that does not fit."""
    try:
        msgspec.convert(raw, view)
    except msgspec.ValidationError as error:
        raise ValueError(f"{what}: {error}") from error


class _Marks(_View, frozen=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Mount(_View, frozen=True):
    name: str = ""


class _Container(_View, frozen=True):
    volume_mounts: tuple[_Mount, ...] | None = ()


class _PodSpec(_View, frozen=True):
    containers: tuple[_Container, ...] | None = ()
    init_containers: tuple[_Container, ...] | None = ()
    volumes: tuple[Obj, ...] | None = ()
    tolerations: tuple[Obj, ...] | None = ()
    scheduling_gates: tuple[Obj, ...] | None = ()
    node_selector: dict[str, str] | None = None


class _PodTemplate(_View, frozen=True):
    metadata: _Marks | None = None
    spec: _PodSpec | None = None


class _JobSpec(_View, frozen=True):
    template: _PodTemplate | None = None


class _JobTemplate(_View, frozen=True):
    """What is read of the template of Jobs."""

    metadata: _Marks | None = None
    spec: _JobSpec | None = None


class Dependency(_View, frozen=True):
    name: str
    status: str


class ReplicatedJob(_View, frozen=True):
    """Jobs of one template, which is raw, because Jobs are made of all of it."""

    name: str
    template: Obj
    replicas: int = 1
    group_name: str = "default"
    depends_on: tuple[Dependency, ...] | None = ()

    def __post_init__(self) -> None:
        _check("template", self.template, _JobTemplate)

    @property
    def mounted(self) -> frozenset[str]:
        """The volumes that its containers mount."""
        job = msgspec.convert(self.template, _JobTemplate).spec or _JobSpec()
        pod = (job.template or _PodTemplate()).spec or _PodSpec()
        containers = (*(pod.containers or ()), *(pod.init_containers or ()))
        return frozenset(mount.name for each in containers for mount in each.volume_mounts or ())


class JobSetNetwork(_View, frozen=True):
    enable_dns_hostnames: bool | None = msgspec.field(default=True, name="enableDNSHostnames")
    publish_not_ready_addresses: bool | None = True
    subdomain: str = ""


class StartupPolicy(_View, frozen=True):
    startup_policy_order: str = "AnyOrder"


class JobSetSuccessPolicy(_View, frozen=True):
    operator: str = "All"
    target_replicated_jobs: tuple[str, ...] | None = ()


class FailurePolicyRule(_View, frozen=True):
    action: str
    name: str = ""
    on_job_failure_reasons: tuple[str, ...] | None = ()
    on_job_failure_message_patterns: tuple[str, ...] | None = ()
    target_replicated_jobs: tuple[str, ...] | None = ()


class FailurePolicy(_View, frozen=True):
    max_restarts: int = 0
    restart_strategy: str = "Recreate"
    rules: tuple[FailurePolicyRule, ...] | None = ()


class Coordinator(_View, frozen=True):
    replicated_job: str
    job_index: int = 0
    pod_index: int = 0


class RetentionPolicy(_View, frozen=True):
    when_deleted: str = "Delete"


class _ClaimMetadata(_Marks, frozen=True, kw_only=True):
    name: str


class ClaimTemplate(_View, frozen=True):
    metadata: _ClaimMetadata
    spec: Obj | None = None


class VolumeClaimPolicy(_View, frozen=True):
    templates: tuple[ClaimTemplate, ...] | None = ()
    retention_policy: RetentionPolicy | None = None


class Spec(_View, frozen=True):
    replicated_jobs: tuple[ReplicatedJob, ...] | None = ()
    network: JobSetNetwork | None = None
    startup_policy: StartupPolicy | None = None
    success_policy: JobSetSuccessPolicy | None = None
    failure_policy: FailurePolicy | None = None
    suspend: bool | None = False
    coordinator: Coordinator | None = None
    managed_by: str | None = None
    ttl_seconds_after_finished: int | None = None
    volume_claim_policies: tuple[VolumeClaimPolicy, ...] | None = ()


class JobSetMetadata(_View, frozen=True):
    name: str
    namespace: str
    uid: str
    annotations: dict[str, str] | None = None
    deletion_timestamp: str | None = None


class _Condition(_View, frozen=True):
    type: str
    status: str
    last_transition_time: str


class _Status(_View, frozen=True):
    """What is read of a status."""

    conditions: tuple[_Condition, ...] | None = ()
    restarts: int | None = 0
    restarts_count_towards_max: int | None = 0


class JobSet(_View, frozen=True):
    """A JobSet; its `status` is raw, because all of it is written back."""

    metadata: JobSetMetadata
    spec: Spec = Spec()
    status: Obj | None = None

    def __post_init__(self) -> None:
        _check("status", self.status or {}, _Status)

    @property
    def replicated_jobs(self) -> tuple[ReplicatedJob, ...]:
        return self.spec.replicated_jobs or ()

    @property
    def network(self) -> JobSetNetwork:
        return self.spec.network or JobSetNetwork()

    @property
    def success_policy(self) -> JobSetSuccessPolicy:
        return self.spec.success_policy or JobSetSuccessPolicy()

    @property
    def suspended(self) -> bool:
        return bool(self.spec.suspend)

    @property
    def starts_in_order(self) -> bool:
        return self.spec.startup_policy is not None and self.spec.startup_policy.startup_policy_order == "InOrder"

    @property
    def external(self) -> bool:
        """Whether another controller manages it."""
        return self.spec.managed_by is not None and self.spec.managed_by != CONTROLLER

    @property
    def _recorded(self) -> _Status:
        return msgspec.convert(self.status or {}, _Status)

    @property
    def restarts(self) -> int:
        return self._recorded.restarts or 0

    @property
    def restarts_towards_max(self) -> int:
        return self._recorded.restarts_count_towards_max or 0

    @property
    def subdomain(self) -> str:
        return self.network.subdomain or self.metadata.name

    @property
    def finished_at(self) -> str | None:
        """When it completed or failed; None if it has not."""
        for condition in self._recorded.conditions or ():
            if condition.type in (COMPLETED, FAILED) and condition.status == "True":
                return condition.last_transition_time
        return None
