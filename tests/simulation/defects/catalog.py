"""Defects that the relay had, or that programs of its kind have had, each as a patch that puts it back.

Numbers with a # are issues of Kueue, whose MultiKueue does the same job.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec
import pytest
from msgspec import structs

from jobrelay.kube import Cache, Client, KubeError, Object
from jobrelay.kube.object_budget import ObjectBudget
from jobrelay.kube.objects import decode_list, decode_object
from jobrelay.relay import (
    absence,
    mirror_controller,
    reconcile_mirror,
    reconcile_original,
    snapshot,
    snapshot_builder,
    workload_kind,
)
from jobrelay.relay.dispatcher import Dispatcher
from jobrelay.relay.fencing import Lease
from jobrelay.relay.leader_transport import LeaderTransport
from jobrelay.relay.mirror_controller import MirrorController
from jobrelay.relay.mirrors import creating
from jobrelay.relay.model import ClockReading, WorkerFacts
from jobrelay.relay.original_controller import OriginalController
from jobrelay.relay.reconcile_mirror import NOTHING, MirrorDecision
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.relay.worker_assignment import WorkerAssignment
from jobrelay.relay.workers.connection import WorkerConnection
from jobrelay.relay.workers.heartbeat import Heartbeat
from jobrelay.relay.workers.proving import MirrorProver
from jobrelay.relay.workers.unanswered import UnansweredRequests
from jobrelay.relay.workers.worker_clock import WorkerClock
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef, origin_key
from jobrelay.workloads import Workload
from jobrelay.workloads.names import ASSIGNMENT, EPOCH
from tests.simulation.defects.finding import Defect

Patch = pytest.MonkeyPatch


def epoch_kept(patch: Patch) -> None:
    def same(cluster: str, epoch: int, *more: Any, **named: Any) -> WorkerAssignment:
        return WorkerAssignment(cluster, 1, *more, **named)

    patch.setattr(reconcile_original, "WorkerAssignment", same)


def hung_worker_unnoticed(patch: Patch) -> None:
    async def never(self: Heartbeat, within: float) -> bool:
        await asyncio.Event().wait()
        return False

    patch.setattr(UnansweredRequests, "suspicious", property(lambda self: False))
    patch.setattr(UnansweredRequests, "_watch", lambda self, seconds: None)
    patch.setattr(Heartbeat, "_requested", never)


def timeout_ignored(patch: Patch) -> None:
    def at_once(worker: WorkerFacts | None, since: datetime | None, *more: Any) -> datetime | None:
        return since

    patch.setattr(snapshot, "lost_at", at_once)


def lease_ignored(patch: Patch) -> None:
    real = snapshot.lost_at
    patch.setattr(snapshot, "lost_at", lambda worker, since, settings, *more: real(worker, since, settings, None))


def freeze_missing(patch: Patch) -> None:
    patch.setattr(snapshot, "frozen", lambda workers, window: False)


def other_runs_ignored(patch: Patch) -> None:
    """That no mirror is seen is taken for the proof that there is none."""
    patch.setattr(WorkloadSnapshot, "held", ())


def errors_refuse(patch: Patch) -> None:
    """Every error is taken for the answer that nothing was created."""
    patch.setattr(creating, "had_no_effect", lambda error: True)


def names_trusted(patch: Patch) -> None:
    """A cluster is known by the name of its worker."""
    patch.setattr(WorkloadSnapshot, "worker_of", lambda self, run: self.workers.get(run.cluster))


def unseen_starts_waited_out(patch: Patch) -> None:
    patch.setattr(WorkloadSnapshot, "lease_ends", lambda self, run: True)


def leases_in_relay_clock(patch: Patch) -> None:
    patch.setattr(WorkerClock, "reading", property(lambda self: ClockReading(self._clock.now())))


def unseen_workers_forgotten(patch: Patch) -> None:
    patch.setattr(WorkloadSnapshot, "unseen", ())
    unknown_runs_forgotten(patch)


def unknown_runs_forgotten(patch: Patch) -> None:
    patch.setattr(WorkloadSnapshot, "_unknown_runs", ())


def pods_unchecked(patch: Patch) -> None:
    async def trust(*known: Any) -> None:
        return

    patch.setattr(absence, "_check_pods", trust)


def proofs_unchecked(patch: Patch) -> None:
    patch.setattr(MirrorProver, "_verify", lambda self, obj, claim: True)


def retries_sent_late(patch: Patch) -> None:
    """A create that was put off is sent again by the client, whoever leads by then and wherever the Job is."""
    real = WorkerConnection.__init__

    def retrying(self: WorkerConnection, *known: Any, **named: Any) -> None:
        real(self, *known, **named)
        self.client = Client(self._transport, clock=self._clock, timeout=15.0, retries=3)

    patch.setattr(WorkerConnection, "__init__", retrying)
    patch.setattr(LeaderTransport, "_check", lambda self: None)


def epochs_of_nine_digits(patch: Patch) -> None:
    def read(mirror: Object) -> int:
        text = mirror.metadata.annotations.get(EPOCH, "")
        return int(text) if re.fullmatch("[1-9][0-9]{0,8}", text) else 0

    for module in (mirror_controller, snapshot_builder):
        patch.setattr(module, "epoch_of", read)


def forged_assignments_followed(patch: Patch) -> None:
    patch.setattr(WorkloadSnapshot, "forbidden", lambda self, worker: "")


def unbounded(patch: Patch) -> None:
    """A cache holds whatever a worker sends."""
    patch.setattr(ObjectBudget, "_check", lambda *known: None)
    patch.setattr(ObjectBudget, "_check_size", lambda *known: None)


def other_history_unnoticed(patch: Patch) -> None:
    """A cache only notices that versions began again while they are still behind."""
    patch.setattr(Cache, "_soon", lambda self: math.inf)


def ended_mirror_unseen(patch: Patch) -> None:
    """After an assignment was restored nothing is done until its mirror changes."""
    real = OriginalController._commit

    async def commit(self: OriginalController, *known: Any) -> Object:
        adding, self._dispatcher.originals.add = self._dispatcher.originals.add, lambda *ref, **how: None
        try:
            return await real(self, *known)
        finally:
            self._dispatcher.originals.add = adding

    patch.setattr(OriginalController, "_commit", commit)


def thawed_by_the_first(patch: Patch) -> None:
    """The first worker that returns from an outage has the Jobs of the others moved."""
    patch.setattr(WorkerConnection, "_returned_from", lambda self: None)


def pods_left_behind(patch: Patch) -> None:
    pods_unchecked(patch)
    real = reconcile_mirror.DeleteMirror

    def in_background(mirror: Mirror, why: str, *how: Any, exact: bool = False) -> reconcile_mirror.DeleteMirror:
        return real(mirror, why, exact=exact)

    patch.setattr(reconcile_mirror, "DeleteMirror", in_background)


def orphans_left(patch: Patch) -> None:
    for module in (reconcile_mirror, mirror_controller):
        patch.setattr(module, "orphaned", lambda mirror: NOTHING)


def mirrors_kept(patch: Patch) -> None:
    patch.setattr(reconcile_mirror, "_after_end", lambda *known, **more: NOTHING)


def uid_not_compared(patch: Patch) -> None:
    """A mirror belongs to whatever has the name of its original."""

    def mirrors(self: WorkloadKind, uid: str) -> Mapping[str, Object]:
        keys = [original.key for original in self.originals if original.uid == uid]
        return self._mirrors.get(str(keys[0]), {}) if keys else {}

    def decide(
        self: MirrorController, ref: WorkloadRef, kind: WorkloadKind, known: WorkloadSnapshot | None
    ) -> MirrorDecision:
        name = workload_kind.mirror_name(ref.key, own_cluster=False)
        return reconcile_mirror.reconcile_mirror(known, self._worker.name, name) if known is not None else NOTHING

    patch.setattr(workload_kind, "origin_uid", lambda mirror: str(origin_key(mirror)))
    patch.setattr(WorkloadKind, "mirrors", mirrors)
    patch.setattr(MirrorController, "_decide", decide)


def lease_end_reported(patch: Patch) -> None:
    """The deadline by which the relay fences a mirror is taken for one of the user."""
    patch.setattr(reconcile_original, "stopped_by_lease", lambda job, mirror: False)


def commit_assumed(patch: Patch) -> None:
    """An assignment counts as written although the answer was an error."""
    real = OriginalController._patch

    async def assumed(
        self: OriginalController, ref: WorkloadRef, known: WorkloadSnapshot, change: dict[str, Any], *more: Any
    ) -> Object:
        with suppress(KubeError):
            return await real(self, ref, known, change, *more)
        body = known.original.decode()
        text = change.get("metadata", {}).get("annotations", {}).get(ASSIGNMENT)
        if text is not None:
            body["metadata"].setdefault("annotations", {})[ASSIGNMENT] = text
            body["metadata"]["resourceVersion"] = str(int(known.original.resource_version) + 10**6)
        found = decode_object(msgspec.json.encode(body))
        self._state.kinds[ref.kind].originals.observe(found)
        return found

    patch.setattr(OriginalController, "_patch", assumed)


def events_lost_at_reconnect(patch: Patch) -> None:
    """A watch that broke goes on at the newest version, and what happened meanwhile is never seen."""

    async def skip(self: Cache) -> None:
        if self._interrupted and self._version:
            page = await self._client.call("GET", self.resource.path(self.namespace), {"limit": 1})
            self._version = decode_list(page, self.resource).resource_version
        self._interrupted = False

    patch.setattr(Cache, "_check_version", skip)


def restore_unnoticed(patch: Patch) -> None:
    async def trust(self: Cache) -> None:
        self._interrupted = False

    patch.setattr(Cache, "_check_version", trust)


def returned_worker_not_swept(patch: Patch) -> None:
    patch.setattr(Dispatcher, "worker_connected", lambda self, worker: None)


def leases_renewed_all_the_time(patch: Patch) -> None:
    real = Lease.renewed

    def renewed(self: Lease, mirror: Workload | None, *, rests: bool) -> int | None:
        if mirror is None or mirror.started is None or rests or self.clock is None:
            return real(self, mirror, rests=rests)
        return max(1, math.floor((self.clock.earliest - mirror.started).total_seconds() + self.seconds))

    patch.setattr(reconcile_mirror, "renewal", lambda mirror, lease: 0.5 if lease is not None else None)
    patch.setattr(Lease, "renewed", renewed)


def changes_not_reverted(patch: Patch) -> None:
    """What somebody changes on a mirror stays, and what changes on the original is not forwarded."""
    real = reconcile_mirror._keep

    def keep(known: WorkloadSnapshot, mirror: Mirror, name: str) -> MirrorDecision:
        decision = real(known, mirror, name)
        changes = isinstance(decision.action, reconcile_mirror.UpdateMirror) and not decision.action.releases
        return NOTHING if changes else decision

    patch.setattr(reconcile_mirror, "_keep", keep)


def runs_again(patch: Patch) -> None:
    """A mirror that is missing is created, also if its original has ended."""
    real = reconcile_mirror.reconcile_mirror

    def decide(known: WorkloadSnapshot, worker: str, name: str) -> MirrorDecision:
        if worker not in known.mirrors:
            known = structs.replace(known, workload=structs.replace(known.workload, end=None))
        return real(known, worker, name)

    patch.setattr(mirror_controller, "reconcile_mirror", decide)


DEFECTS = (
    Defect("epoch-kept", "a new run has the epoch of the one before", epoch_kept, ("isolate",)),
    Defect("hung-worker", "a worker that hangs is taken for a quiet one (#11206)", hung_worker_unnoticed, ("hang",)),
    Defect("timeout-ignored", "Jobs move when a watch breaks (#11559, #12999)", timeout_ignored, ("isolate", "cut")),
    Defect("lease-ignored", "a Job moves before its lease has ended", lease_ignored, ("write-off",)),
    Defect("freeze-missing", "Jobs move although most workers vanished at once", freeze_missing, ("cut-off",)),
    Defect("other-runs-ignored", "a mirror is created beside another one", other_runs_ignored, ("drain", "drain-late")),
    Defect("errors-refuse", "an error after an effect moves a Job", errors_refuse, ("bad-gateway",)),
    Defect("repointed-name", "a run is looked for by the name of its worker", names_trusted, ("repoint",)),
    Defect("second-name", "a cluster with a second name loses its Jobs", names_trusted, ("second-name",)),
    Defect("unseen-start", "a start that was not seen is waited out", unseen_starts_waited_out, ("late-start",)),
    Defect("relay-clock", "leases end by the relay's clock", leases_in_relay_clock, ("skew", "isolate")),
    Defect(
        "unseen-workers",
        "a Job starts before all workers were seen",
        unseen_workers_forgotten,
        ("blind-restart",),
    ),
    Defect(
        "unknown-runs",
        "a Job without an assignment counts as new",
        unknown_runs_forgotten,
        ("blind-restart", "orphan-mirror"),
    ),
    Defect("pods-unchecked", "a deleted mirror is created while its pods run", pods_unchecked, ("orphan-mirror",)),
    Defect("proofs-unchecked", "what looks like a mirror is one", proofs_unchecked, ("look-alike",)),
    Defect("late-retry", "a leader of before sends a create again", retries_sent_late, ("stale-retry",)),
    Defect("short-epochs", "an epoch of ten digits reads back as 0", epochs_of_nine_digits, ("forge-assignment",)),
    Defect("forged", "a forged assignment overrides a wish", forged_assignments_followed, ("forge-assignment",)),
    Defect("unbounded", "a worker fills the relay's memory", unbounded, ("flood",)),
    Defect(
        "other-history", "a restored cluster that got further", other_history_unnoticed, ("restore-worker", "drain")
    ),
    Defect("ended-unseen", "a restored assignment is not looked at", ended_mirror_unseen, ("blind-restart",)),
    Defect("thawed-early", "Jobs move while workers return", thawed_by_the_first, ("cut-off",)),
    Defect("pods-left-behind", "a run does not wait for the pods of the last (#5452)", pods_left_behind, ("drain",)),
    Defect("orphans-left", "the mirror of a deleted Job stays (#3841)", orphans_left, ("delete-original",)),
    Defect("mirrors-kept", "finished mirrors stay for ever", mirrors_kept),
    Defect("uid-not-compared", "the mirror of a namesake is taken over", uid_not_compared, ("recreate-original",)),
    Defect("lease-end-reported", "a Job fails by a deadline that it does not have", lease_end_reported, ("isolate",)),
    Defect("commit-assumed", "an assignment that was not written is followed", commit_assumed, ("disturb",)),
    Defect("events-lost", "what happens while a watch is down is missed (#1787)", events_lost_at_reconnect, ("cut",)),
    Defect("restore-unnoticed", "a cache waits for versions that are not there", restore_unnoticed, ("restore",)),
    Defect("not-swept", "a worker that returns keeps stale mirrors (#12813)", returned_worker_not_swept, ("isolate",)),
    Defect("not-reverted", "a mirror that somebody suspends stays so", changes_not_reverted, ("edit-mirror",)),
    Defect("runs-again", "a Job runs again when its mirror is gone (#14734)", runs_again),
    Defect("renewals", "leases are renewed all the time", leases_renewed_all_the_time),
)
