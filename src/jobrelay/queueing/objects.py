"""The caches of Kueue's objects on the management cluster, and what is looked up in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Final

from jobrelay.kube import Cache, Client, Clock, Object, Resource
from jobrelay.kube.objects import Key
from jobrelay.queueing import names
from jobrelay.queueing.conditions import holds
from jobrelay.queueing.core import AdmissionCheckRule
from jobrelay.queueing.lifecycle import QueueFacts
from jobrelay.queueing.pod_rules import PodRules, together
from jobrelay.queueing.priorities import Priority
from jobrelay.queueing.queue_conditions import QueueParts, inactive_reasons
from jobrelay.queueing.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    GROUP,
    LIMIT_RANGES,
    LOCAL_QUEUES,
    POD_PRIORITY_CLASSES,
    PRIORITY_CLASSES,
    RESOURCE_FLAVORS,
    RUNTIME_CLASSES,
    TOPOLOGIES,
    WORKLOADS,
)
from jobrelay.queueing.views import (
    CheckRuleView,
    CheckView,
    ClusterQueueSpecView,
    ClusterQueueView,
    FlavorView,
    LimitRangeView,
    LocalQueueView,
    PriorityClassRef,
    PriorityClassView,
    RuntimeClassView,
    WorkloadView,
)

SILENCE: Final = 150.0
"""How long a watch may be silent; it sends a bookmark about every minute."""
_OWNER, _QUEUE, _HOLDER, _NAMESPACE = "owner", "queue", "holder", "namespace"
_PROVISIONING = "kueue.x-k8s.io/provisioning-request"
"""The controller of checks that have nodes provisioned."""


class QueueObjects:
    """All queues, flavors and Workloads."""

    def __init__(self, client: Client, namespaces: Cache, clock: Clock, random: Random) -> None:
        def cache(resource: Resource) -> Cache:
            return Cache(client, resource, clock=clock, random=random, idle_timeout=SILENCE)

        self.namespaces = namespaces
        self.flavors, self.cluster_queues, self.cohorts = map(cache, (RESOURCE_FLAVORS, CLUSTER_QUEUES, COHORTS))
        self.local_queues, self.workloads = map(cache, (LOCAL_QUEUES, WORKLOADS))
        self.priority_classes, self.checks, self.topologies = map(
            cache, (PRIORITY_CLASSES, ADMISSION_CHECKS, TOPOLOGIES)
        )
        self.pod_priority_classes = cache(POD_PRIORITY_CLASSES)
        self.limit_ranges, self.runtime_classes = map(cache, (LIMIT_RANGES, RUNTIME_CLASSES))
        for of_namespace in (self.limit_ranges, self.workloads):
            of_namespace.add_index(_NAMESPACE, lambda obj: (obj.namespace,))
        self.workloads.add_index(_OWNER, _owner)
        self.workloads.add_index(_QUEUE, lambda obj: (f"{obj.namespace}/{obj.decode(WorkloadView).spec.queue_name}",))
        self.workloads.add_index(_HOLDER, _held_queue)
        self.local_queues.add_index(_QUEUE, lambda obj: (obj.decode(LocalQueueView).spec.cluster_queue,))

    @property
    def caches(self) -> tuple[Cache, ...]:
        return (
            self.flavors,
            self.cluster_queues,
            self.cohorts,
            self.local_queues,
            self.workloads,
            self.priority_classes,
            self.checks,
            self.topologies,
            self.pod_priority_classes,
            self.limit_ranges,
            self.runtime_classes,
        )

    def workload_of(self, uid: str) -> Object | None:
        """The Workload of the object with this uid."""
        return next(iter(self.workloads.by_index(_OWNER, uid)), None)

    def workloads_in(self, local_queue: Key) -> tuple[Object, ...]:
        """The Workloads that name a LocalQueue."""
        return self.workloads.by_index(_QUEUE, str(local_queue))

    def workloads_of(self, namespace: str) -> tuple[Object, ...]:
        """The Workloads of a namespace."""
        return self.workloads.by_index(_NAMESPACE, namespace)

    def pod_rules(self, namespace: str) -> PodRules:
        """What is done to the pods of a namespace."""
        ranges = self.limit_ranges.by_index(_NAMESPACE, namespace)
        return PodRules(together(each.decode(LimitRangeView) for each in ranges), self._overhead)

    def _overhead(self, runtime_class: str) -> dict[str, str]:
        found = self.runtime_classes.get(Key("", runtime_class))
        return found.decode(RuntimeClassView).overhead.pod_fixed if found is not None else {}

    def holders_of(self, cluster_queue: str) -> tuple[Object, ...]:
        """The Workloads that hold quota of a ClusterQueue."""
        return self.workloads.by_index(_HOLDER, cluster_queue)

    def local_queues_of(self, cluster_queue: str) -> tuple[Object, ...]:
        return self.local_queues.by_index(_QUEUE, cluster_queue)

    def local_queue(self, namespace: str, name: str) -> Object | None:
        return self.local_queues.get(Key(namespace, name)) if name else None

    def cluster_queue(self, name: str) -> Object | None:
        return self.cluster_queues.get(Key("", name))

    def waiting_for(self, cluster_queue: str) -> Iterator[Object]:
        """The Workloads whose LocalQueue sends to a ClusterQueue."""
        for queue in self.local_queues_of(cluster_queue):
            yield from self.workloads_in(queue.key)

    def parts_of(self, queue: Object) -> QueueParts:
        """What of the objects that a ClusterQueue names exists."""
        spec = queue.decode(ClusterQueueView).spec
        flavors = [each.name for group in spec.resource_groups for each in group.flavors]
        found = {name: self.flavors.get(Key("", name)) for name in flavors}
        checks = {each.name: self.checks.get(Key("", each.name)) for each in spec.checks}
        topologies = [
            (name, topology)
            for name, flavor in found.items()
            if flavor is not None and (topology := flavor.decode(FlavorView).spec.topology_name)
        ]
        present = {name: check for name, check in checks.items() if check is not None}
        others = [name for name, check in present.items() if is_multikueue(check)]
        per_flavor = {each.name for each in spec.checks if each.on_flavors}
        return QueueParts(
            tuple(name for name, flavor in found.items() if flavor is None),
            tuple(name for name in checks if name not in present),
            tuple(name for name, check in present.items() if not _active(check)),
            tuple((flavor, name) for flavor, name in topologies if Key("", name) not in self.topologies),
            tuple(others),
            tuple(name for name in others if name in per_flavor),
            tuple(name for name, check in present.items() if _controller(check) == _PROVISIONING),
        )

    def facts_of(self, namespace: str, local_queue: str) -> QueueFacts:
        """The queues of the Workloads of one LocalQueue."""
        queue = self.local_queue(namespace, local_queue)
        if queue is None:
            return QueueFacts(local_queue)
        spec = queue.decode(LocalQueueView).spec
        target = self.cluster_queue(spec.cluster_queue)
        of_target = target.decode(ClusterQueueView).spec if target is not None else ClusterQueueSpecView()
        active = target is not None and not inactive_reasons(target, self.parts_of(target))
        return QueueFacts(
            local_queue,
            spec.cluster_queue,
            exists=target is not None,
            active=active,
            stop_policy=of_target.stop_policy,
            local_stop_policy=spec.stop_policy,
            checks=tuple(self._waited_for(of_target.checks)),
            flavors=frozenset(each.name for group in of_target.resource_groups for each in group.flavors),
        )

    def sends_on(self, namespace: str, local_queue: str) -> bool:
        """Whether what is admitted through a LocalQueue is for other clusters: its ClusterQueue has such a check."""
        queue = self.local_queue(namespace, local_queue)
        target = self.cluster_queue(queue.decode(LocalQueueView).spec.cluster_queue) if queue is not None else None
        rules = target.decode(ClusterQueueView).spec.checks if target is not None else ()
        found = (self.checks.get(Key("", each.name)) for each in rules)
        return any(check is not None and is_multikueue(check) for check in found)

    def _waited_for(self, checks: Iterable[CheckRuleView]) -> Iterator[AdmissionCheckRule]:
        """The rules of checks but those for other clusters, where the relay sends what is admitted."""
        for each in checks:
            found = self.checks.get(Key("", each.name))
            if found is None or not is_multikueue(found):
                yield AdmissionCheckRule(each.name, frozenset(each.on_flavors))

    def priority(self, group: str, name: str) -> int | None:
        """The value of a WorkloadPriorityClass, or of a PriorityClass of pods."""
        classes = self.priority_classes if group == GROUP else self.pod_priority_classes
        found = classes.get(Key("", name))
        return found.decode(PriorityClassView).value if found is not None else None

    def default_priority(self) -> Priority:
        """The PriorityClass that pods without one get."""
        for each in self.pod_priority_classes:
            view = each.decode(PriorityClassView)
            if view.global_default:
                return Priority(view.value, PriorityClassRef("scheduling.k8s.io", "PriorityClass", each.name))
        return Priority()


def is_multikueue(check: Object) -> bool:
    """Whether a check stands for sending workloads to other clusters, which the relay does after admission."""
    return _controller(check) == "kueue.x-k8s.io/multikueue"


def _controller(check: Object) -> str:
    return check.decode(CheckView).spec.controller_name


def _active(check: Object) -> bool:
    if is_multikueue(check):
        return True
    return any(each.type == "Active" and each.holds for each in check.decode(CheckView).status.conditions)


def _owner(workload: Object) -> tuple[str, ...]:
    owner = workload.metadata.controller
    return (owner.uid,) if owner is not None else ()


def _held_queue(workload: Object) -> tuple[str, ...]:
    status = workload.decode(WorkloadView).status
    if status.admission is None or holds(status.conditions, names.FINISHED):
        return ()
    return (status.admission.cluster_queue,)
