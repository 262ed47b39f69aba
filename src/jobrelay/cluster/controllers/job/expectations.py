"""Expectations: what the controller has done to a Job and its pods that the caches do not show yet.

Caches lag. A controller that trusted them would create a pod twice because it does not see the first, or count one
twice because it does not see that its finalizer is gone. So the writes to each Job and its pods are recorded and
compared with the caches in each sync. Resource versions grow, and a cache that has reached one has seen all earlier
changes: created pods are visible once the cache has reached the highest of their versions. Deletions and finalizers are
compared pod by pod.

A create request without a response may or may not have succeeded. The next sync then first lists the pods, to learn
which version the cache has to reach.
"""

from __future__ import annotations

from collections.abc import Iterable

from jobrelay.cluster.controllers.job.backoff import NEVER_FAILED, BackoffRecord
from jobrelay.cluster.controllers.job.pods import is_active, is_tracked
from jobrelay.cluster.controllers.job.snapshot import SyncState
from jobrelay.cluster.controllers.job.views import Pod, Time
from jobrelay.kube.object_index import is_newer
from jobrelay.kube.objects import Key


class JobExpectations:
    """Recent writes to one Job and its pods, and its backoff.

    `needs_list` says that a create request got no response; `start_postponed` that the Job has started and its status
    does not say so yet.
    """

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self._backoff = NEVER_FAILED
        self._removals: set[str] = set()
        self._deletions: set[str] = set()
        self._pods_version = self._job_version = ""
        self.needs_list = self.start_postponed = False
        self._started_at: Time | None = None

    def pod_written(self, version: str) -> None:
        if not self._pods_version or is_newer(version, self._pods_version):
            self._pods_version = version

    def create_unanswered(self) -> None:
        self.needs_list = True

    def pods_listed(self, versions: Iterable[str]) -> None:
        """The pods have these versions on the server."""
        for version in versions:
            self.pod_written(version)
        self.needs_list = False

    def expect_deletions(self, uids: Iterable[str]) -> None:
        self._deletions.update(uids)

    def deletions_failed(self, uids: Iterable[str]) -> None:
        self._deletions.difference_update(uids)

    def expect_removals(self, uids: Iterable[str]) -> None:
        """The finalizers of these pods are about to be removed."""
        self._removals.update(uids)

    def removal_failed(self, uid: str) -> None:
        self._removals.discard(uid)

    def postpone_start(self, start: Time | None) -> None:
        self._started_at, self.start_postponed = start, start is not None

    def job_written(self, version: str) -> None:
        self._job_version = version

    def status_reported(self, backoff: BackoffRecord) -> None:
        """The status is written: its failures are part of the backoff, and its start time is stored."""
        self._backoff, self._started_at, self.start_postponed = backoff, None, False

    def is_ahead_of(self, job_version: str) -> bool:
        """Whether a Job of this version is older than the last write to it."""
        return bool(self._job_version) and is_newer(self._job_version, job_version)

    def sync_state(self, pods: Iterable[Pod], cache_version: str) -> SyncState:
        """What a sync needs to know, given the pods and the version of their cache."""
        pods = tuple(pods)
        self._removals.intersection_update(pod.uid for pod in pods if is_tracked(pod))
        self._deletions.intersection_update(pod.uid for pod in pods if is_active(pod))
        visible = not self._pods_version or not is_newer(self._pods_version, cache_version)
        satisfied = visible and not self._deletions
        return SyncState(self._backoff, frozenset(self._removals), satisfied, self._started_at)


class ExpectationStore:
    """The expectations of all unfinished Jobs."""

    def __init__(self) -> None:
        self._jobs: dict[Key, JobExpectations] = {}

    def __len__(self) -> int:
        return len(self._jobs)

    def of(self, key: Key, uid: str) -> JobExpectations:
        """The expectations of the Job with this uid, not of an earlier one with the same name."""
        found = self._jobs.get(key)
        if found is None or found.uid != uid:
            found = self._jobs[key] = JobExpectations(uid)
        return found

    def forget(self, key: Key) -> None:
        self._jobs.pop(key, None)
