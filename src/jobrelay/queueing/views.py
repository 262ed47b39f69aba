"""What is read of Kueue's objects, by the names that they have in v1beta2."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from jobrelay.queueing.conditions import Conditions

Amount = str | int | float


class _View(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    pass


class ResourceQuotaView(_View, frozen=True):
    name: str
    nominal_quota: Amount = 0
    borrowing_limit: Amount | None = None
    lending_limit: Amount | None = None


class FlavorQuotasView(_View, frozen=True):
    name: str
    resources: tuple[ResourceQuotaView, ...] = ()


class ResourceGroupView(_View, frozen=True):
    covered_resources: tuple[str, ...] = ()
    flavors: tuple[FlavorQuotasView, ...] = ()


class WeightView(_View, frozen=True):
    weight: Amount = 1


class FungibilityView(_View, frozen=True):
    when_can_borrow: Literal["MayStopSearch", "TryNextFlavor"] = "MayStopSearch"
    when_can_preempt: Literal["MayStopSearch", "TryNextFlavor"] = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] = "BorrowingOverPreemption"


class BorrowWithinCohortView(_View, frozen=True):
    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: int | None = None


class PreemptionView(_View, frozen=True):
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    borrow_within_cohort: BorrowWithinCohortView = BorrowWithinCohortView()


class CheckRuleView(_View, frozen=True):
    name: str
    on_flavors: tuple[str, ...] = ()


class ChecksStrategyView(_View, frozen=True):
    admission_checks: tuple[CheckRuleView, ...] = ()


class ClusterQueueSpecView(_View, frozen=True):
    cohort_name: str | None = None
    resource_groups: tuple[ResourceGroupView, ...] = ()
    queueing_strategy: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    namespace_selector: dict[str, Any] | None = None
    flavor_fungibility: FungibilityView = FungibilityView()
    preemption: PreemptionView = PreemptionView()
    admission_checks_strategy: ChecksStrategyView = ChecksStrategyView()
    stop_policy: Literal["None", "Hold", "HoldAndDrain"] = "None"
    fair_sharing: WeightView = WeightView()

    @property
    def checks(self) -> tuple[CheckRuleView, ...]:
        """The admission checks, each with the flavors that it is about."""
        return self.admission_checks_strategy.admission_checks


class ConditionsView(_View, frozen=True):
    conditions: Conditions = ()


class ClusterQueueView(_View, frozen=True):
    spec: ClusterQueueSpecView = ClusterQueueSpecView()
    status: ConditionsView = ConditionsView()


class CohortSpecView(_View, frozen=True):
    parent_name: str | None = None
    resource_groups: tuple[ResourceGroupView, ...] = ()
    fair_sharing: WeightView = WeightView()


class CohortView(_View, frozen=True):
    spec: CohortSpecView = CohortSpecView()


class LocalQueueSpecView(_View, frozen=True):
    cluster_queue: str = ""
    stop_policy: Literal["None", "Hold", "HoldAndDrain"] = "None"


class LocalQueueView(_View, frozen=True):
    spec: LocalQueueSpecView = LocalQueueSpecView()
    status: ConditionsView = ConditionsView()


class FlavorSpecView(_View, frozen=True):
    node_labels: dict[str, str] = {}
    node_taints: tuple[dict[str, Any], ...] = ()
    tolerations: tuple[dict[str, Any], ...] = ()
    topology_name: str | None = None


class FlavorView(_View, frozen=True):
    spec: FlavorSpecView = FlavorSpecView()


class CheckSpecView(_View, frozen=True):
    controller_name: str = ""


class CheckView(_View, frozen=True):
    """An AdmissionCheck."""

    spec: CheckSpecView = CheckSpecView()
    status: ConditionsView = ConditionsView()


class PriorityClassView(_View, frozen=True):
    """A WorkloadPriorityClass or a PriorityClass."""

    value: int = 0
    global_default: bool = False


class LimitsView(_View, frozen=True):
    """One item of a LimitRange."""

    type: str = ""
    max: dict[str, str] = {}
    min: dict[str, str] = {}
    default: dict[str, str] = {}
    default_request: dict[str, str] = {}


class LimitRangeSpecView(_View, frozen=True):
    limits: tuple[LimitsView, ...] = ()


class LimitRangeView(_View, frozen=True):
    spec: LimitRangeSpecView = LimitRangeSpecView()


class OverheadView(_View, frozen=True):
    pod_fixed: dict[str, str] = {}


class RuntimeClassView(_View, frozen=True):
    overhead: OverheadView = OverheadView()


class PodSetView(_View, frozen=True):
    name: str = "main"
    count: int = 1
    min_count: int | None = None
    template: dict[str, Any] = {}


class PriorityClassRef(_View, frozen=True):
    group: str
    kind: str
    name: str


class WorkloadSpecView(_View, frozen=True):
    active: bool = True
    queue_name: str = ""
    priority: int = 0
    priority_class_ref: PriorityClassRef | None = None
    pod_sets: tuple[PodSetView, ...] = ()
    maximum_execution_time_seconds: int | None = None


class AssignmentView(_View, frozen=True):
    name: str = "main"
    flavors: dict[str, str] = {}
    resource_usage: dict[str, Amount] = {}
    count: int | None = None


class AdmissionView(_View, frozen=True):
    cluster_queue: str = ""
    pod_set_assignments: tuple[AssignmentView, ...] = ()


class PodSetUpdate(_View, frozen=True):
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, Any], ...] = ()


class CheckStateView(_View, frozen=True):
    name: str
    state: str
    last_transition_time: str
    message: str
    requeue_after_seconds: int | None = None
    pod_set_updates: tuple[PodSetUpdate, ...] = ()


class NamedCount(_View, frozen=True):
    name: str
    count: int


class RequeueStateView(_View, frozen=True):
    count: int = 0
    requeue_at: str | None = None


class WorkloadStatusView(_View, frozen=True):
    conditions: Conditions = ()
    admission: AdmissionView | None = None
    admission_checks: tuple[CheckStateView, ...] = ()
    reclaimable_pods: tuple[NamedCount, ...] = ()
    requeue_state: RequeueStateView | None = None
    accumulated_past_execution_time_seconds: int = 0


class WorkloadMetadataView(_View, frozen=True):
    owner_references: tuple[dict[str, Any], ...] = ()
    annotations: dict[str, str] = {}


class WorkloadView(_View, frozen=True):
    spec: WorkloadSpecView = WorkloadSpecView()
    status: WorkloadStatusView = WorkloadStatusView()
    metadata: WorkloadMetadataView = WorkloadMetadataView()

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.annotations

    @property
    def owned(self) -> bool:
        """Whether it stands for an object, which is said to be ready or not."""
        return bool(self.metadata.owner_references)
