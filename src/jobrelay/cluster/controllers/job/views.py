"""Typed views of what the Job controller reads of Jobs and pods, and the status that it writes.

Views are decoded from an object's bytes and name only the fields that the controller uses. They are frozen: a decision
makes a new `BatchJobStatus` and never changes the one it started from.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Final, TypeAlias

import msgspec

from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER
from jobrelay.kinds.batch.job.views import JobCondition, JobStatus
from jobrelay.kube.objects import OwnerReference

TRACKING_FINALIZER: Final = "batch.kubernetes.io/job-tracking"
FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT: Final = "batch.kubernetes.io/job-index-ignored-failure-count"

Time = dt.datetime
Condition: TypeAlias = JobCondition[Time]


class ObjectMeta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None


class Terminated(msgspec.Struct, frozen=True, rename="camel"):
    exit_code: int = 0
    finished_at: Time | None = None


class ContainerState(msgspec.Struct, frozen=True):
    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodCondition(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: Time | None = None


class InitContainer(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    restart_policy: str | None = None


class PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    init_containers: tuple[InitContainer, ...] = ()


class PodStatus(msgspec.Struct, frozen=True, rename="camel"):
    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def name(self) -> str:
        return self.metadata.name


class ExitCodes(msgspec.Struct, frozen=True, rename="camel"):
    operator: str = ""
    values: tuple[int, ...] = ()
    container_name: str | None = None


class ConditionPattern(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""


class PodFailurePolicyRule(msgspec.Struct, frozen=True, rename="camel"):
    action: str = ""
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[ConditionPattern, ...] = ()


class PodFailurePolicy(msgspec.Struct, frozen=True):
    rules: tuple[PodFailurePolicyRule, ...] = ()


class SuccessRule(msgspec.Struct, frozen=True, rename="camel"):
    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(msgspec.Struct, frozen=True):
    rules: tuple[SuccessRule, ...] = ()


class JobSpec(msgspec.Struct, frozen=True, rename="camel"):
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    suspend: bool = False
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None
    selector: dict[str, Any] | None = None
    template: msgspec.Raw = msgspec.Raw(b"{}")


class BatchJobStatus(JobStatus[Time], frozen=True):
    """The status that the controller writes."""


class Job(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: BatchJobStatus = BatchJobStatus()

    @property
    def indexed(self) -> bool:
        return self.spec.completion_mode == "Indexed"

    @property
    def completions(self) -> int:
        """The number of indexes of an Indexed Job."""
        return self.spec.completions or 0

    @property
    def per_index(self) -> bool:
        """Whether failures are counted index by index."""
        return self.spec.backoff_limit_per_index is not None

    @property
    def deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def replaces_only_failed(self) -> bool:
        """Whether a terminating pod counts as failed and is replaced only when its phase is terminal."""
        return self.spec.pod_replacement_policy == "Failed" or self.spec.pod_failure_policy is not None

    @property
    def controller(self) -> str:
        """The controller that manages this Job, as `.spec.managedBy` names it."""
        return BUILT_IN_CONTROLLER if self.spec.managed_by is None else self.spec.managed_by
