"""The arithmetic of quota in a tree of cohorts.

Every node, a ClusterQueue or a Cohort, has a *subtree quota*: its own nominal quota plus what its children lend. What a
child keeps for itself by its lending limit is its *local quota*, which nobody else can use. Usage up to the local quota
stays in the node, and the rest counts at its parent too. So the usage of a cohort is a function of the usage of its
queues alone: adding an amount and removing it again leaves the tree as it was, in whatever order that happens.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping

from .model import AdmittedWorkload, ClusterQueueSpec, CohortSpec, FlavorResource, Quota, ResourceGroup

_NONE = Quota(0)


def quotas_of(groups: Iterable[ResourceGroup]) -> dict[FlavorResource, Quota]:
    """The quotas of resource groups, by flavor and resource."""
    return {
        (flavor.flavor, resource): quota
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    }


class QuotaNode(ABC):
    """What queues and cohorts have in common."""

    __slots__ = (
        "_capacities",
        "_lendable",
        "height",
        "local",
        "name",
        "parent",
        "quotas",
        "subtree",
        "usage",
        "weight",
    )

    def __init__(self, name: str, quotas: Mapping[FlavorResource, Quota], weight: float) -> None:
        self.name, self.quotas, self.weight = name, quotas, weight
        self.parent: CohortNode | None = None
        self.subtree: dict[FlavorResource, int] = {}
        self.local: dict[FlavorResource, int] = {}
        self.usage: dict[FlavorResource, int] = {}
        self.height = 0
        self._capacities: dict[FlavorResource, int] = {}
        self._lendable: dict[str, int] | None = None

    def measure(self, children: Iterable[QuotaNode]) -> None:
        """Compute what follows from the quotas of this node and of its children, which are measured already."""
        self.subtree = {each: quota.nominal for each, quota in self.quotas.items()}
        for child in children:
            for each, amount in child.subtree.items():
                self.subtree[each] = self.subtree.get(each, 0) + amount - child.local.get(each, 0)
        self.local = {
            each: max(0, self.subtree[each] - quota.lending_limit)
            for each, quota in self.quotas.items()
            if quota.lending_limit is not None
        }
        self._capacities, self._lendable = {}, None

    def gather(self, children: Iterable[QuotaNode]) -> None:
        """Compute usage from that of the children: what goes beyond their local quotas."""
        self.usage = {}
        for child in children:
            for each, amount in child.usage.items():
                if (beyond := amount - child.local.get(each, 0)) > 0:
                    self.usage[each] = self.usage.get(each, 0) + beyond

    @abstractmethod
    def renew(self) -> None:
        """Compute everything that follows from the quotas of the subtree and the usage of its queues."""

    def local_available(self, each: FlavorResource) -> int:
        """What is left of the local quota."""
        local = self.local.get(each, 0)
        return max(0, local - self.usage.get(each, 0)) if local else 0

    def available(self, each: FlavorResource) -> int:
        """How much more can be used here; negative where quota was taken away from what is used."""
        used, subtree = self.usage.get(each, 0), self.subtree.get(each, 0)
        if self.parent is None:
            return subtree - used
        local, above = self.local.get(each, 0), self.parent.available(each)
        limit = self.quotas.get(each, _NONE).borrowing_limit
        if limit is not None:
            above = min(above, subtree - local - max(0, used - local) + limit)
        return max(0, local - used) + above

    def capacity(self, each: FlavorResource) -> int:
        """How much could be used here if nothing were used anywhere."""
        found = self._capacities.get(each)
        if found is None:
            found = self._capacities[each] = self._capacity(each)
        return found

    def _capacity(self, each: FlavorResource) -> int:
        if self.parent is None:
            return self.subtree.get(each, 0)
        found = self.local.get(each, 0) + self.parent.capacity(each)
        limit = self.quotas.get(each, _NONE).borrowing_limit
        return found if limit is None else min(found, self.subtree.get(each, 0) + limit)

    def lendable(self) -> dict[str, int]:
        """What could be used here at most of each resource, in all flavors of the tree together."""
        if self._lendable is None:
            self._lendable = {}
            for flavor, resource in self.root().subtree:
                amount = self.capacity((flavor, resource))
                self._lendable[resource] = self._lendable.get(resource, 0) + amount
        return self._lendable

    def add(self, each: FlavorResource, amount: int) -> None:
        """Use an amount more, here and as far up as it goes beyond local quotas."""
        beyond = amount - self.local_available(each)
        self.usage[each] = self.usage.get(each, 0) + amount
        if beyond > 0 and self.parent is not None:
            self.parent.add(each, beyond)

    def remove(self, each: FlavorResource, amount: int) -> None:
        """Use an amount less."""
        used = self.usage.get(each, 0)
        beyond = used - self.local.get(each, 0)
        if used == amount:
            del self.usage[each]
        else:
            self.usage[each] = used - amount
        if beyond > 0 and self.parent is not None:
            self.parent.remove(each, min(amount, beyond))

    def exceeds(self, each: FlavorResource, more: int = 0) -> bool:
        """Whether usage, with so much more, is beyond the subtree quota: it borrows."""
        return self.usage.get(each, 0) + more > self.subtree.get(each, 0)

    def within_nominal(self, needed: Iterable[FlavorResource]) -> bool:
        """Whether it borrows none of these."""
        usage, subtree = self.usage, self.subtree
        for each in needed:  # noqa: SIM110
            if usage.get(each, 0) > subtree.get(each, 0):
                return False
        return True

    def ancestors(self) -> Iterator[CohortNode]:
        """From the parent up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def root(self) -> QuotaNode:
        node: QuotaNode = self
        while node.parent is not None:
            node = node.parent
        return node

    def path(self) -> str:
        """The names from the root down to this node, as in `/research/team/queue`."""
        return "/" + "/".join([*reversed([each.name for each in self.ancestors()]), self.name])


class CohortNode(QuotaNode):
    """A Cohort, with the nodes directly below it."""

    __slots__ = ("cohorts", "queues", "spec")

    def __init__(self, spec: CohortSpec) -> None:
        super().__init__(spec.name, quotas_of(spec.groups), spec.weight)
        self.spec = spec
        self.cohorts: list[CohortNode] = []
        self.queues: list[QueueNode] = []

    def members(self) -> Iterator[QueueNode]:
        """All queues of the subtree."""
        yield from self.queues
        for cohort in self.cohorts:
            yield from cohort.members()

    def renew(self) -> None:
        children: list[QuotaNode] = [*self.cohorts, *self.queues]
        for child in children:
            child.renew()
        self.measure(children)
        self.gather(children)
        self.height = max([min(1, len(children)), *(cohort.height + 1 for cohort in self.cohorts)])


class QueueNode(QuotaNode):
    """A ClusterQueue, with the workloads that hold its quota."""

    __slots__ = ("active", "by_priority", "generation", "group_of", "spec", "workloads")

    def __init__(self, spec: ClusterQueueSpec) -> None:
        super().__init__(spec.name, quotas_of(spec.groups), spec.weight)
        self.spec = spec
        self.group_of = {resource: group for group in spec.groups for resource in group.resources}
        self.workloads: dict[str, AdmittedWorkload] = {}
        self.by_priority: dict[int, dict[FlavorResource, int]] = {}
        """What the workloads of each priority use."""
        self.active = spec.takes_workloads
        """Whether it gives quota: it may be stopped, lack something, or its cohorts may form a circle."""
        self.generation = 0
        """Grows when quota may have become free: the progress of searches is void then."""

    def put(self, workload: AdmittedWorkload) -> None:
        """Add a workload that holds quota here; the usage of the cohorts above stays as it is."""
        self.workloads[workload.key] = workload
        for each, amount in workload.usage.items():
            if amount:
                used = self.by_priority.setdefault(workload.priority, {})
                self.usage[each] = self.usage.get(each, 0) + amount
                used = self.by_priority.setdefault(workload.priority, {})
                used[each] = used.get(each, 0) + amount

    def drop(self, key: str) -> AdmittedWorkload:
        """A workload holds no quota here any more; its usage is still counted."""
        workload = self.workloads.pop(key)
        used = self.by_priority.get(workload.priority, {})
        for each, amount in workload.usage.items():
            if amount and used[each] == amount:
                del used[each]
            elif amount:
                used[each] -= amount
        if not used:
            self.by_priority.pop(workload.priority, None)
        return workload

    def renew(self) -> None:
        self.measure(())
        self.generation += 1

    @property
    def reserves(self) -> bool:
        """Whether quota is kept from others of the cohort for a head that finds no candidates for preemption.

        One that can reclaim everything has no need of it.
        """
        return self.parent is not None and self.spec.preemption.reclaim_within_cohort != "Any"

    def nominal(self, each: FlavorResource) -> int:
        """Its own quota."""
        return self.quotas.get(each, _NONE).nominal

    def borrows(self, each: FlavorResource, more: int = 0) -> bool:
        """Whether usage, with so much more, is beyond its own quota."""
        return self.usage.get(each, 0) + more > self.nominal(each)

    def level(self, each: FlavorResource, amount: int) -> tuple[int, bool]:
        """How high the lowest subtree is whose quota holds an amount more, and whether there are nodes above it."""
        if self.parent is None:
            return 0, False
        if not self.borrows(each, amount):
            return 0, True
        rest = amount - self.local_available(each)
        node: CohortNode = self.parent
        while True:
            if not node.exceeds(each, rest):
                return node.height, node.parent is not None
            rest -= node.local_available(each)
            if node.parent is None:
                return node.height, False
            node = node.parent
