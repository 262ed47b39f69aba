"""What every action on the mirrors of one worker needs, and how the worker's refusals are remembered and reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from jobrelay.kube import ConnectError, EventNote, EventRecorder, KubeError, NotFound, StatusError
from jobrelay.kube.resource import NAMESPACES
from jobrelay.relay.dispatcher import MirrorQueue
from jobrelay.relay.leader_transport import NotLeading
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.model import Refusal
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.state import RelayState
from jobrelay.relay.workers import WorkerConnection
from jobrelay.relay.workload_kind import WorkloadRef

FIELD_MANAGER: Final = "jobrelay"


@dataclass(frozen=True, slots=True)
class MirrorContext:
    """One worker with its queue, and where what comes of its answers goes.

    `enqueue_original` has an original reconciled, `enqueue_run` the mirror of its current run.
    """

    state: RelayState
    worker: WorkerConnection
    queue: MirrorQueue
    recorder: EventRecorder
    metrics: RelayMetrics
    enqueue_original: Callable[[WorkloadRef], None]
    enqueue_run: Callable[[WorkloadRef], None]

    def refused(
        self,
        snapshot: WorkloadSnapshot,
        cause: KubeError | str,
        *,
        same_shape: bool,
        retry_after: float | None = None,
        event: str = "Refused",
    ) -> None:
        """Remember a refusal for this workload, or for all workloads of its shape too."""
        message, reason = str(cause), "foreign" if isinstance(cause, str) else type(cause).__name__
        if isinstance(cause, StatusError):
            reason = cause.status.reason
        refusal = self._refusal(snapshot, message, _missing_namespace(cause), retry_after)
        self.state.record(snapshot.original.uid).refused(self.worker.name, refusal)
        if same_shape:
            self.state.shape_answered(self.worker.name, snapshot.demand.shape, refusal)
        self.metrics.refusals.labels(self.worker.name, reason).inc()
        self.recorder.record(snapshot.original, [EventNote(event, f"{self.worker.name}: {message}", "Warning")])

    def _refusal(self, snapshot: WorkloadSnapshot, message: str, namespace: str, retry_after: float | None) -> Refusal:
        """A refusal from now on. A missing namespace is waited for, and asked for again soon, then less often."""
        settings, times = self.state.settings, 1
        wait = settings.ask_again if retry_after is None else retry_after
        if namespace:
            before = self.state.shapes.get(self.worker.name, {}).get(snapshot.demand.shape)
            times = before.times + 1 if before is not None and before.missing_namespace == namespace else 1
            wait = min(settings.ask_missing * 2.0 ** min(times - 1, 10), settings.ask_again)
            self.worker.missing_namespaces.missed(namespace)
        return Refusal(message, self.state.clock.now() + timedelta(seconds=wait), namespace, times)


def _missing_namespace(cause: KubeError | str) -> str:
    """The namespace that does not exist, if an error says so."""
    details = cause.status.details if isinstance(cause, NotFound) else None
    return details.name if details is not None and details.kind == NAMESPACES.plural else ""


def had_no_effect(error: KubeError) -> bool:
    """Whether an error says that the request was not carried out, and will not be."""
    if isinstance(error, StatusError):
        return error.code < 500
    return isinstance(error, ConnectError | NotLeading)


def may_be_transient(error: KubeError) -> bool:
    return not isinstance(error, StatusError) or error.code >= 500 or error.code == 429
