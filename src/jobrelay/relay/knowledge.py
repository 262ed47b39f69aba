"""All that the relay knows, kept current by watches: the originals, the mirrors on every worker, the workers.

`situation` cuts out what concerns one workload. Originals and mirrors of one kind are in one `Kind`; a mirror finds its
original by the uid that it carries, so that a mirror of an earlier object of the same name is never taken for its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from jobrelay.kube import Cache, Clock, Object
from jobrelay.kube.objects import Key
from jobrelay.relay.assignment import assignment_of, epoch_of
from jobrelay.relay.ledger import Ledger
from jobrelay.relay.memory import Memories
from jobrelay.relay.model import Refusal, WorkerFacts
from jobrelay.relay.names import ORIGIN_NAME, ORIGIN_UID
from jobrelay.relay.placement import PlacementPolicy, Placer
from jobrelay.relay.settings import Settings
from jobrelay.relay.situation import Mirror, Situation
from jobrelay.relay.workers import Registry, WorkerLink
from jobrelay.workloads import Adapter

__all__ = ["Kind", "Knowledge", "Policies", "origin_key"]

Policies = Callable[[str], tuple[PlacementPolicy, Mapping[str, str]]]
"""From a namespace to its placement policy and its annotations."""


def origin_key(mirror: Object) -> Key:
    """The original that a mirror says it is of."""
    return Key(mirror.namespace, mirror.metadata.annotations.get(ORIGIN_NAME) or mirror.name)


class Kind:
    """One workload kind: its originals, and their mirrors by uid and worker."""

    def __init__(self, adapter: Adapter, originals: Cache) -> None:
        self.adapter, self.originals = adapter, originals
        self._mirrors: dict[str, dict[str, Object]] = {}

    def mirrors(self, uid: str) -> Mapping[str, Object]:
        """The mirrors of an original, by worker."""
        return self._mirrors.get(uid, {})

    def changed(self, worker: str, old: Object | None, new: Object | None) -> None:
        """Keeps up with one worker's mirrors."""
        if old is not None:
            uid = old.metadata.annotations.get(ORIGIN_UID, "")
            held = self._mirrors.get(uid)
            if held is not None:
                held.pop(worker, None)
                if not held:
                    del self._mirrors[uid]
        if new is not None:
            self._mirrors.setdefault(new.metadata.annotations.get(ORIGIN_UID, ""), {})[worker] = new

    def drop(self, worker: str) -> None:
        """A worker is no longer registered."""
        for uid in [uid for uid, held in self._mirrors.items() if worker in held]:
            held = self._mirrors[uid]
            del held[worker]
            if not held:
                del self._mirrors[uid]


class _Facts(Mapping[str, WorkerFacts]):
    """The workers of one moment, each made a value when it is first looked at."""

    def __init__(self, links: Mapping[str, WorkerLink], make: Callable[[WorkerLink], WorkerFacts]) -> None:
        self._links, self._make = links, make
        self._made: dict[str, WorkerFacts] = {}

    def __getitem__(self, name: str) -> WorkerFacts:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(self._links[name])
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._links)

    def __len__(self) -> int:
        return len(self._links)


class Knowledge:
    """The relay's view of the world."""

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        kinds: Mapping[str, Kind],
        placer: Placer,
        policies: Policies,
        clock: Clock,
    ) -> None:
        self.settings, self.registry, self.kinds, self.clock = settings, registry, kinds, clock
        self.ledger = Ledger()
        self.memories = Memories()
        self.shapes: dict[str, dict[str, Refusal | None]] = {}
        self.stale: dict[str, set[str]] = {}
        """By worker: uids of the mirrors that must be stopped there first."""
        self.backlog: Callable[[str], int] = lambda worker: 0
        self._placer, self._policies = placer, policies

    def situation(self, kind: Kind, obj: Object) -> Situation:
        """Everything about one original, now."""
        adapter, now = kind.adapter, self.clock.now()
        memory = self.memories.peek(obj.uid)
        policy, annotations = self._policies(obj.namespace)
        since = memory.status_since
        return Situation(
            adapter,
            obj,
            adapter.read(obj),
            assignment_of(obj),
            {
                worker: Mirror(worker, mirror, adapter.read(mirror), epoch_of(mirror))
                for worker, mirror in kind.mirrors(obj.uid).items()
            },
            _Facts(self.registry.links, self._facts),
            self.registry.removed,
            self.settings,
            self._placer,
            policy,
            now,
            memory.refusals,
            self.shapes,
            annotations,
            self.clock.monotonic() - since if since is not None else 0.0,
            memory.trouble,
        )

    def _facts(self, link: WorkerLink) -> WorkerFacts:
        name, ledger = link.name, self.ledger
        return link.facts(ledger.live(name), ledger.reserved(name), len(self.stale.get(name, ())), self.backlog(name))

    def workers(self) -> list[WorkerFacts]:
        return [self._facts(link) for link in self.registry.links.values()]

    def now(self) -> datetime:
        return self.clock.now()
