"""All queues, cohorts and flavors at one moment, with what is used of every quota.

A `Snapshot` is kept up to date workload by workload: `hold` and `release` change usage from the queue up to the root of
its tree, which costs as much as the tree is high. It is always equal to one that is built anew from the same objects.
A change of quotas or of the tree rebuilds the trees that it touches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .model import AdmittedWorkload, ClusterQueueSpec, CohortSpec, FlavorSpec, Usage
from .tree import CohortNode, QueueNode


class Snapshot:
    """Quotas and their usage. `schedule` leaves it as it was."""

    def __init__(
        self,
        queues: Iterable[ClusterQueueSpec] = (),
        cohorts: Iterable[CohortSpec] = (),
        flavors: Iterable[FlavorSpec] = (),
        workloads: Iterable[AdmittedWorkload] = (),
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.flavors = {each.name: each for each in flavors}
        self._namespaces = dict(namespaces or {})
        self.queues = {each.name: QueueNode(each) for each in queues}
        self.not_ready: set[str] = set()
        """Workloads that hold quota and whose pods are not all ready."""
        self._queue_of: dict[str, str] = {}
        self._orphans: dict[str, AdmittedWorkload] = {}
        self._cohort_specs = {each.name: each for each in cohorts}
        self.cohorts: dict[str, CohortNode] = {}
        self._cyclic: frozenset[str] = frozenset()
        for each in workloads:
            self._place(each)
        self._link()

    def set_queue(self, spec: ClusterQueueSpec) -> None:
        """Add or change a ClusterQueue; workloads that hold its quota keep it."""
        before, node = self.queues.get(spec.name), QueueNode(spec)
        if before is not None:
            node.workloads, node.by_priority = before.workloads, before.by_priority
            node.usage, node.generation = before.usage, before.generation
        self.queues[spec.name] = node
        if before is None:
            for each in [one for one in self._orphans.values() if one.cluster_queue == spec.name]:
                del self._orphans[each.key]
                self._place(each)
        elif before.spec.cohort == spec.cohort:
            self._exchange(before, node)
            return
        self._link()

    def remove_queue(self, name: str) -> None:
        """Forget a ClusterQueue. Workloads that hold its quota hold it again when it comes back."""
        node = self.queues.pop(name, None)
        if node is not None:
            self._orphans |= node.workloads
            for key in node.workloads:
                del self._queue_of[key]
            self._link()

    def set_cohort(self, spec: CohortSpec) -> None:
        self._cohort_specs[spec.name] = spec
        self._link()

    def remove_cohort(self, name: str) -> None:
        """Forget a Cohort; it remains, without quota and parent, while a queue or another cohort names it."""
        if self._cohort_specs.pop(name, None) is not None:
            self._link()

    def set_flavor(self, spec: FlavorSpec) -> None:
        self.flavors[spec.name] = spec

    def remove_flavor(self, name: str) -> None:
        self.flavors.pop(name, None)

    @property
    def namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of namespaces, by name."""
        return self._namespaces

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """The labels of a namespace; None if it is gone."""
        if labels is None:
            self._namespaces.pop(name, None)
        else:
            self._namespaces[name] = labels

    def hold(self, workload: AdmittedWorkload) -> None:
        """A workload holds quota, or holds it in another way than before."""
        self.release(workload.key)
        node = self._place(workload)
        if node is not None and node.parent is not None:
            for each, amount in workload.usage.items():
                beyond = min(amount, node.usage.get(each, 0) - node.local.get(each, 0))
                if beyond > 0:
                    node.parent.add(each, beyond)

    def release(self, key: str) -> AdmittedWorkload | None:
        """A workload holds quota no more; the workload as it was, if it held any."""
        self._orphans.pop(key, None)
        node = self.queues.get(self._queue_of.pop(key, ""))
        self.not_ready.discard(key)
        if node is None:
            return None
        workload = node.drop(key)
        self.take_back(node, workload.usage)
        node.generation += 1
        return workload

    def holder(self, key: str) -> AdmittedWorkload | None:
        """The workload of this key, if it holds quota."""
        node = self.queues.get(self._queue_of.get(key, ""))
        return node.workloads.get(key) if node is not None else self._orphans.get(key)

    def holders(self) -> Iterator[AdmittedWorkload]:
        """All workloads that hold quota."""
        for node in self.queues.values():
            yield from node.workloads.values()

    @staticmethod
    def use(node: QueueNode, usage: Usage) -> None:
        """Count an amount as used, without a workload that holds it: for what is tried out."""
        for each, amount in usage.items():
            if amount:
                node.add(each, amount)

    @staticmethod
    def take_back(node: QueueNode, usage: Usage) -> None:
        """The opposite of `use`."""
        for each, amount in usage.items():
            if amount:
                node.remove(each, amount)

    def _place(self, workload: AdmittedWorkload) -> QueueNode | None:
        """Put a workload into its queue and count its usage there, but not above."""
        node = self.queues.get(workload.cluster_queue)
        if not workload.pods_ready:
            self.not_ready.add(workload.key)
        if node is None:
            self._orphans[workload.key] = workload
            return None
        node.put(workload)
        self._queue_of[workload.key] = workload.cluster_queue
        return node

    def _link(self) -> None:
        """Put the trees together, and compute everything that follows from them."""
        names = {spec.cohort for spec in (node.spec for node in self.queues.values()) if spec.cohort}
        names |= {spec.parent for spec in self._cohort_specs.values() if spec.parent}
        specs = {name: CohortSpec(name) for name in sorted(names)} | self._cohort_specs
        self._cyclic = frozenset(name for name in specs if _in_circle(name, specs))
        self.cohorts = {name: CohortNode(spec) for name, spec in specs.items() if name not in self._cyclic}
        for cohort in self.cohorts.values():
            if cohort.spec.parent:
                cohort.parent = self.cohorts[cohort.spec.parent]
                cohort.parent.cohorts.append(cohort)
        for node in self.queues.values():
            node.parent = self.cohorts.get(node.spec.cohort or "")
            node.active = node.spec.takes_workloads and node.spec.cohort not in self._cyclic
            if node.parent is None:
                node.renew()
            else:
                node.parent.queues.append(node)
        for cohort in self.cohorts.values():
            if cohort.parent is None:
                cohort.renew()

    def _exchange(self, before: QueueNode, node: QueueNode) -> None:
        """Put a changed queue into the place of the one before."""
        node.parent, node.active = before.parent, node.spec.takes_workloads and node.spec.cohort not in self._cyclic
        if node.parent is not None:
            node.parent.queues[node.parent.queues.index(before)] = node
        node.root().renew()


def _in_circle(name: str, specs: Mapping[str, CohortSpec]) -> bool:
    """Whether following parents from here never ends."""
    seen: set[str] = set()
    at: str | None = name
    while at:
        if at in seen:
            return True
        seen.add(at)
        at = specs[at].parent
    return False
