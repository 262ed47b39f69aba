"""Whether the relay runs a workload at all: what its managedBy says, and what became of that later.

Most kinds keep the field as it was when the object was created. Some let it be removed, changed or added afterwards.
An object that is taken away from the relay is run by its own controller from then on, so its mirror is stopped and
removed, and its assignment dropped. One that is handed over after its own controller had started it is not run a second
time. And since that controller leaves it alone now, nobody else removes its finalizer when it is deleted.
"""

from __future__ import annotations

from jobrelay.kube import EventNote, Resource
from jobrelay.relay.admission import Admitted
from jobrelay.relay.original_decision import DropAssignment, OriginalDecision, PatchOriginal, Stage
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.workload_kind import is_built_in
from jobrelay.workloads import Adapter, Workload
from jobrelay.workloads.names import ASSIGNMENT, RELAY


def not_delegated(adapter: Adapter, workload: Workload) -> str:
    """That an object is not delegated, and by which value of managedBy it would be."""
    wanted = RELAY if RELAY in adapter.managers else min(adapter.managers)
    return f"It is not delegated to the relay: {_managed_by(adapter, workload)}, and would have to be {wanted}."


def _managed_by(adapter: Adapter, workload: Workload) -> str:
    return f"{adapter.managed_by_path} is {workload.managed_by or 'not set'}"


def own_finalizers(resource: Resource, finalizers: tuple[str, ...]) -> tuple[str, ...]:
    """The finalizers of a kind's own controller: their domain is the kind's API group."""
    return tuple(each for each in finalizers if not is_built_in(resource) and each.split("/")[0] == resource.group)


def not_ours(snapshot: WorkloadSnapshot) -> OriginalDecision:
    """An object that is not delegated; its assignment and its mirrors are from when it was."""
    adapter, value = snapshot.adapter, snapshot.workload.managed_by
    if snapshot.assignment is None and not snapshot.mirrors:
        return OriginalDecision(Stage.NOT_OURS, not_delegated(adapter, snapshot.workload))
    who = "its own controller runs it" if value in (None, "", adapter.native) else f"{value} runs it"
    where = f"; its mirror on {', '.join(snapshot.mirrors)} is removed" if snapshot.mirrors else ""
    sentence = f"It was taken away from the relay: {_managed_by(adapter, snapshot.workload)}, so {who} now{where}."
    if snapshot.assignment is None:
        return OriginalDecision(Stage.NOT_OURS, sentence)
    return OriginalDecision(Stage.NOT_OURS, sentence, DropAssignment(), (EventNote("TakenAway", sentence, "Warning"),))


def deleting(snapshot: WorkloadSnapshot) -> OriginalDecision | None:
    """What becomes of an object that is being deleted; None if it has ended and nothing holds it.

    When its mirrors are gone, what its own controller left on it is removed.
    """
    metadata = snapshot.original.metadata
    left = own_finalizers(snapshot.adapter.resource, metadata.finalizers)
    if not left and snapshot.workload.end is not None:
        return None
    if not left or snapshot.mirrors:
        return OriginalDecision(Stage.DELETING, "It is being deleted, and its mirror with it.")
    names = ", ".join(left)
    sentence = f"It is being deleted; {names} is removed, since its own controller leaves it alone."
    kept = [each for each in metadata.finalizers if each not in left]
    told = (EventNote("FinalizerRemoved", sentence, "Warning"),)
    return OriginalDecision(Stage.DELETING, sentence, PatchOriginal({"metadata": {"finalizers": kept}}), told)


def refused(snapshot: WorkloadSnapshot) -> OriginalDecision | None:
    """Why the relay does not take an object that is delegated to it; None if it does."""
    adapter = snapshot.adapter
    if (why := adapter.runs_anyway) and not snapshot.mirrors:
        return _refuse("NotTaken", f"It is not run by the relay, since it would run twice: {why}.")
    if not started_before(snapshot):
        return None
    back = f"set it back to {adapter.native}" if adapter.native else "remove it"
    return _refuse(
        "StartedBefore",
        f"It is not run by the relay, since its own controller had started it before {adapter.managed_by_path} was set "
        f"(or somebody removed its annotation {ASSIGNMENT}): {back}, or delete it and create it again.",
    )


def _refuse(reason: str, sentence: str) -> OriginalDecision:
    return OriginalDecision(Stage.REFUSED, sentence, events=(EventNote(reason, sentence, "Warning"),))


def started_before(snapshot: WorkloadSnapshot) -> bool:
    """Whether an object had been started before it was handed to the relay.

    The relay assigns an object before anything else. API servers keep the managedBy of the kinds that they have built
    in as it was at creation.
    """
    if is_built_in(snapshot.adapter.resource) or snapshot.assignment is not None:
        return False
    if snapshot.mirrors or snapshot.remembered is not None:
        return False
    if isinstance(snapshot.admission, Admitted) and snapshot.admission.chosen:
        return False  # a worker runs it already, for another controller of its admission
    metadata, workload = snapshot.original.metadata, snapshot.workload
    return workload.started is not None or bool(own_finalizers(snapshot.adapter.resource, metadata.finalizers))
