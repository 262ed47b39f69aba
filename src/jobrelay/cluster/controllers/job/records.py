"""What the controller has done that the caches do not show yet, and what it remembers of failures.

Caches lag. A controller that believed them would create a pod twice because it does not see the first, or count one twice
because it does not see that its finalizer is gone. So each Job has a record of what was done, checked against the caches each
time. Versions grow and a cache that has seen one has seen all before it, so pods that were created are visible once the
cache has reached the version of the latest. Deletions and finalizers are looked up pod by pod.

A create whose answer was lost may or may not have happened: the record then says `unsure`, and before anything else the pods
are listed to learn what version the cache must reach.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from jobrelay.cluster.controllers.job.backoff import Backoff
from jobrelay.cluster.controllers.job.pods import is_active, is_tracked
from jobrelay.cluster.controllers.job.situation import Memory
from jobrelay.cluster.controllers.job.views import Pod, Time
from jobrelay.kube.object_index import is_newer
from jobrelay.kube.objects import Key


@dataclass(slots=True)
class Record:
    uid: str
    backoff: Backoff = field(default_factory=Backoff)
    removing: set[str] = field(default_factory=set)
    deleting: set[str] = field(default_factory=set)
    pods_version: str = ""
    job_version: str = ""
    unsure: bool = False
    began: Time | None = None

    def saw_pod(self, version: str) -> None:
        """A pod was written with this version: the cache must reach it."""
        if not self.pods_version or is_newer(version, self.pods_version):
            self.pods_version = version

    def behind(self, job_version: str) -> bool:
        """Whether a Job of this version is older than what was last written to it."""
        return bool(self.job_version) and is_newer(self.job_version, job_version)

    def memory(self, pods: Iterable[Pod], cache_version: str) -> Memory:
        """What to tell the decision, given the pods and the version of their cache."""
        pods = tuple(pods)
        self.removing.intersection_update(pod.uid for pod in pods if is_tracked(pod))
        self.deleting.intersection_update(pod.uid for pod in pods if is_active(pod))
        visible = not self.pods_version or not is_newer(self.pods_version, cache_version)
        satisfied = visible and not self.deleting
        return Memory(self.backoff, frozenset(self.removing), satisfied, self.began)


class Records:
    """The records of all Jobs that are not over."""

    def __init__(self) -> None:
        self._records: dict[Key, Record] = {}

    def __len__(self) -> int:
        return len(self._records)

    def of(self, key: Key, uid: str) -> Record:
        """The record of this very Job, not of one that had its name before."""
        record = self._records.get(key)
        if record is None or record.uid != uid:
            record = self._records[key] = Record(uid)
        return record

    def forget(self, key: Key) -> None:
        self._records.pop(key, None)
