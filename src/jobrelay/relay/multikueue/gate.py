"""Whether Kueue lets an original be placed, and where: the relay's gate where Kueue admits.

An original without a Workload is not queued, unless it names a queue: then Kueue has not made its Workload yet. With
one, it is placed when its quota is reserved, all other checks are ready, and the check that the relay is the controller
of is pending. That choice is what makes the check ready, and Kueue resume the original. When the quota is not reserved
any more, the run is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from jobrelay.kube import Object
from jobrelay.relay.admission import ADMITTED, Admission, Admitted, NotAdmitted
from jobrelay.relay.multikueue.claims import CheckClaims
from jobrelay.relay.multikueue.objects import KueueObjects, owner_of
from jobrelay.relay.multikueue.views import PENDING, QUEUE_NAME, READY, RETRY, CheckState, QueuedWorkload, read_workload
from jobrelay.relay.signal import Signal
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef
from jobrelay.workloads import Adapter


class KueueGate:
    """Answers for originals from Kueue's objects, and tells whose answers may have changed."""

    def __init__(self, objects: KueueObjects, kinds: Mapping[str, WorkloadKind], claims: CheckClaims) -> None:
        self._objects, self._claims = objects, claims
        self._kinds = {(kind.adapter.resource.group, kind.adapter.resource.kind): kind for kind in kinds.values()}
        self._changed: Signal[[WorkloadRef]] = Signal()
        objects.workloads.subscribe(self._workload_changed)
        objects.configs.subscribe(lambda old, new: self.all_changed())

    def subscribe(self, changed: Callable[[WorkloadRef], None]) -> Callable[[], None]:
        return self._changed.subscribe(changed)

    def admission(self, adapter: Adapter, original: Object) -> Admission:
        if not self._objects.in_place:
            return ADMITTED if self._objects.known else NotAdmitted("Kueue's objects have not been read yet.")
        found = self._objects.workload_of(original)
        if found is None:
            queue = original.metadata.labels.get(QUEUE_NAME)
            return NotAdmitted(f"Kueue has not made a Workload for it yet, for queue {queue}.") if queue else ADMITTED
        return self._answer(found[1])

    def _answer(self, workload: QueuedWorkload) -> Admission:
        if workload.finished:
            why = workload.message("Finished")
            return NotAdmitted(f"Its Workload {workload.name} is finished: {why}", taken_back=True)
        if not workload.reserved:
            why = workload.message("QuotaReserved") or f"it waits in queue {workload.queue}"
            return NotAdmitted(f"Kueue has not reserved quota for it: {why.rstrip('.')}.", taken_back=True)
        own = self.own_check(workload)
        if own is None:
            return self._unchecked(workload)
        if not self._claims.is_ours(own.name):
            return NotAdmitted(f"AdmissionCheck {own.name}: {self._not_ours(own.name)}.")
        others = [each.name for each in workload.checks if each.name != own.name and each.state != READY]
        if own.state == PENDING and others:
            return NotAdmitted(f"It waits for AdmissionCheck {', '.join(others)}.")
        return self._checked(workload, own)

    def _unchecked(self, workload: QueuedWorkload) -> Admission:
        if workload.admitted:
            return Admitted(id=workload.id)
        waits = ", ".join(each.name for each in workload.checks if each.state != READY)
        return NotAdmitted(f"Kueue has not admitted it yet{f': it waits for AdmissionCheck {waits}' if waits else ''}.")

    def _not_ours(self, check: str) -> str:
        if self._claims.stays_out(check):
            return "Kueue's own MultiKueue controller is at work, so the relay stays out"
        return "it is being found out whether Kueue's own MultiKueue controller is at work"

    def _checked(self, workload: QueuedWorkload, own: CheckState) -> Admission:
        why = f"AdmissionCheck {own.name} does not allow it"
        if own.state not in (PENDING, READY):
            left = own.state if own.state != RETRY else "Retry, and Kueue evicts it"
            return Admitted(frozenset(), workload.id, while_suspended=True, why=f"AdmissionCheck {own.name} is {left}")
        if own.state == READY and workload.cluster:
            why = f"it was admitted on {workload.cluster}"
            return Admitted(frozenset({workload.cluster}), workload.id, while_suspended=True, why=why)
        clusters = self._objects.clusters(self._objects.check(own.name).config)
        return Admitted(frozenset(clusters or ()), workload.id, while_suspended=True, why=why)

    def own_check(self, workload: QueuedWorkload) -> CheckState | None:
        """The check of a Workload that is MultiKueue's, if it has one."""
        return next((each for each in workload.checks if self._objects.check(each.name).is_multikueue), None)

    def is_checked(self, workload: Object) -> bool:
        """Whether a Workload has a check of MultiKueue."""
        view = read_workload(workload)
        return view is not None and self.own_check(view) is not None

    def original_of(self, workload: Object) -> tuple[WorkloadKind, Object] | None:
        """The original that a Workload queues, if the relay knows its kind and it exists."""
        owner = owner_of(workload)
        kind = self._kinds.get((owner.api_version.rpartition("/")[0], owner.kind)) if owner is not None else None
        original = kind.original_with(owner.uid) if kind is not None and owner is not None else None
        return (kind, original) if kind is not None and original is not None else None

    def knows(self, workload: Object) -> bool:
        """Whether the relay knows the kind that a Workload queues."""
        owner = owner_of(workload)
        return owner is not None and (owner.api_version.rpartition("/")[0], owner.kind) in self._kinds

    def all_changed(self) -> None:
        """Have all queued originals looked at again."""
        for workload in self._objects.workloads:
            self._workload_changed(None, workload)

    def _workload_changed(self, old: Object | None, new: Object | None) -> None:
        for ref in set(self._refs(old, new)):
            self._changed(ref)

    def _refs(self, old: Object | None, new: Object | None) -> Iterator[WorkloadRef]:
        if old is not None and new is not None and read_workload(old) == read_workload(new):
            return
        for obj in (old, new):
            if obj is not None and (found := self.original_of(obj)) is not None:
                kind, original = found
                yield WorkloadRef(kind.name, original.key)
