"""What the relay reads for a caller: the workloads that they may see, and one of them with its pods on its worker.

The caller's rights are those to the originals. A caller who may not list a kind in a namespace sees none of it, and is
told so. Workers are read as the relay, by a connection of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from jobrelay.kube import Client, ConnectError, Connection, KubeError
from jobrelay.kube.resource import JOBS
from jobrelay.relay.api.activity import Activity
from jobrelay.relay.api.callers import Caller
from jobrelay.relay.api.failures import ApiFailure, bad_request, not_found, not_started, unanswered
from jobrelay.relay.api.names import API_VERSION, GROUP
from jobrelay.relay.api.paging import Page, PageRequest, choose_page
from jobrelay.relay.api.previews import kind_of, read_preview
from jobrelay.relay.api.reviews import AccessReviews, ResourceAttributes
from jobrelay.relay.api.sessions import ExecRequest, failure_of
from jobrelay.relay.api.workloads import Found, find, short_names, workload_object
from jobrelay.relay.explain import workload_view
from jobrelay.relay.kept_logs.kept import KeptLog
from jobrelay.relay.kept_logs.reading import read_kept
from jobrelay.relay.mirror_pods.choosing import Chosen, NotChosen, choose_pod
from jobrelay.relay.mirror_pods.events import events_of
from jobrelay.relay.mirror_pods.listing import MirrorPods
from jobrelay.relay.original_decision import Stage
from jobrelay.relay.overview import delegated, on_worker_of, worker_views
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.relay.worker_view import WorkerView
from jobrelay.relay.workload_kind import WorkloadKind


class Reading:
    """Reads one relay for one caller; `client` reaches the management cluster as the relay."""

    def __init__(
        self, relay: RelayManager, caller: Caller, reviews: AccessReviews, client: Client, activity: Activity
    ) -> None:
        self._relay, self._caller, self._reviews, self._client = relay, caller, reviews, client
        self._activity = activity

    async def find(self, namespace: str, name: str) -> Found:
        """The workload that a request names, if the caller may get its original; raises ApiFailure."""
        kind, key = find(self._relay.state.kinds, namespace, name)
        resource = kind.adapter.resource
        await self._reviews.require(
            self._caller, ResourceAttributes("get", resource.group, resource.plural, key.namespace, key.name)
        )
        original = kind.originals.get(key)
        if original is None:
            raise not_found(f"there is no {resource.kind} {key}")
        return Found(kind, original)

    async def seen_kinds(self, namespace: str) -> tuple[list[WorkloadKind], list[str]]:
        """The kinds in use that the caller may list, and the names of the others; raises ApiFailure if it is none."""
        seen: list[WorkloadKind] = []
        unseen: list[WorkloadKind] = []
        for kind in self._relay.state.kinds.values():
            resource = kind.adapter.resource
            if resource == JOBS or len(kind.originals):
                wanted = ResourceAttributes("list", resource.group, resource.plural, namespace)
                (seen if await self._reviews.allows(self._caller, wanted) else unseen).append(kind)
        if not seen:
            await self._reviews.require(self._caller, ResourceAttributes("list", JOBS.group, JOBS.plural, namespace))
        return seen, [kind.name for kind in unseen]

    async def workloads(self, namespace: str) -> tuple[list[dict[str, Any]], list[str]]:
        """All workloads of a namespace, or of all, that the caller may list, and the kinds that they may not."""
        seen, unseen = await self.seen_kinds(namespace)
        short = short_names(self._relay.state.kinds)
        found = [
            workload_object(short[kind.name], original, view)
            async for kind, original, view in delegated(self._relay, namespace, seen)
        ]
        return found, unseen

    async def page(self, namespace: str, asked: PageRequest) -> tuple[list[dict[str, Any]], Page, list[str]]:
        """A page of them; what is decided about each is found for these alone."""
        seen, unseen = await self.seen_kinds(namespace)
        index = await self._activity.index(self._relay)
        page = choose_page(index.rows(namespace, _names(seen)), asked)
        kinds, short = self._relay.state.kinds, short_names(self._relay.state.kinds)
        found = []
        for row in page.rows:
            original, decided = kinds[row.ref.kind].originals.get(row.ref.key), self._relay.originals.decision(row.ref)
            if original is not None and decided is not None:
                made = workload_object(short[row.ref.kind], original, workload_view(*decided))
                found.append(made | {"summary": {"status": row.status, "started": row.started, "ended": row.ended}})
        return found, page, unseen

    async def activity(self, namespace: str) -> dict[str, Any]:
        """How many workloads have each status, now and in the past hour, and the workers."""
        seen, unseen = await self.seen_kinds(namespace)
        index, kinds = await self._activity.index(self._relay), _names(seen)
        metadata = {"name": namespace or "all", "resourceVersion": str(self._activity.version(namespace))}
        count = index.count(namespace, kinds)
        everything = await self._reviews.allows(self._caller, ResourceAttributes("list", GROUP, "workers"))
        workers = [each if everything else _recent(each, count.live) for each in worker_views(self._relay)]
        oldest, short = count.oldest, short_names(self._relay.state.kinds)
        return {
            "apiVersion": API_VERSION,
            "kind": "Activity",
            "metadata": metadata | ({"namespace": namespace} if namespace else {}),
            "statuses": dict(sorted(count.statuses.items())),
            "kinds": sorted(short[name] for name in kinds),
            "history": self._activity.history(namespace, kinds),
            "oldestWaiting": None if oldest is None else {
                "name": f"{short[oldest.ref.kind]}:{oldest.ref.key.name}",
                "namespace": oldest.namespace,
                "created": oldest.created,
            },
            "workers": [msgspec.to_builtins(each) for each in workers],
            **({"unseen": unseen} if unseen else {}),
        }  # fmt: skip

    async def overview(self, namespace: str) -> dict[str, Any]:
        """How many workloads are in each stage, and the workers: the public part of each, or everything."""
        seen, _ = await self.seen_kinds(namespace)
        views = [view async for _, _, view in delegated(self._relay, namespace, seen)]
        live = Counter(view.cluster for view in views if view.stage != Stage.FINISHED)
        everything = await self._reviews.allows(self._caller, ResourceAttributes("list", GROUP, "workers"))
        workers = worker_views(self._relay)
        return {
            "apiVersion": API_VERSION,
            "kind": "Overview",
            "metadata": {"name": namespace or "all", **({"namespace": namespace} if namespace else {})},
            "stages": dict(sorted(Counter(view.stage for view in views).items())),
            "workers": [msgspec.to_builtins(each if everything else _limited(each, live)) for each in workers],
        }

    async def preview(self, namespace: str, body: bytes) -> dict[str, Any]:
        """What would be decided about the workload in a Preview, if the caller may create such a one; raises ApiFailure
        for one that cannot be read."""
        asked = read_preview(body, namespace)
        kind = kind_of(self._relay.state.kinds, asked.api_version, asked.kind)
        resource = kind.adapter.resource
        await self._reviews.require(
            self._caller, ResourceAttributes("create", resource.group, resource.plural, namespace)
        )
        return asked.answered(self._relay.preview, kind.name)

    async def workload(self, namespace: str, name: str, changes: Sequence[str] = ()) -> dict[str, Any]:
        """One workload with the verdicts on all workers, its runs, and what is true on its worker; with `changes` of
        quotas or workers also what would be after them."""
        found = await self.find(namespace, name)
        on_worker = await on_worker_of(self._relay, found.ref)
        try:
            view = self._relay.explain(found.ref, changes)
        except ValueError as error:
            raise bad_request(str(error)) from None
        if view is None:
            raise not_found(f"there is no {found.described}")
        short = short_names(self._relay.state.kinds)[found.kind.name]
        made = workload_object(short, found.original, view)
        made["status"] |= on_worker
        return made

    async def events(self, namespace: str, name: str) -> list[dict[str, Any]]:
        """The events about a workload: on the management cluster, and on its worker if that answers."""
        found = await self.find(namespace, name)
        events = await events_of(self._client, [found.original])
        to = assignment_of(found.original)
        if to is None:
            return events
        try:
            async with self.pods(found) as pods:
                return events + await events_of(pods.client, [pods.mirror, *await pods.list()], to.cluster)
        except (KubeError, ApiFailure):
            return events

    async def kept(self, found: Found, *, follow: bool) -> KeptLog | None:
        """What is kept of the log of its last run that is gone; None if there is nothing. A client that follows a
        workload that goes on waits for its next run instead."""
        if follow and found.kind.adapter.read(found.original).end is None:
            return None
        return await read_kept(self._client, self._relay.namespace, found.original.uid)

    async def pod_of(self, found: Found, asked: ExecRequest) -> tuple[str, Connection, Chosen]:
        """The worker, how it is reached, and the pod there in which a command is to run; raises ApiFailure, and
        KubeError."""
        async with self.pods(found) as pods:
            chosen = choose_pod(
                await pods.list(), found.described, pod=asked.pod, index=asked.index, container=asked.container
            )
            if isinstance(chosen, NotChosen):
                raise failure_of(chosen)
            to = assignment_of(found.original)
            assert to is not None
            return to.cluster, self._relay.connection_to(to.cluster), chosen

    @asynccontextmanager
    async def pods(self, found: Found) -> AsyncIterator[MirrorPods]:
        """The pods of a workload's present run; raises ApiFailure if it has none, and KubeError."""
        to = assignment_of(found.original)
        if to is None:
            raise not_started(f"no worker runs {found.described} yet")
        mirror = found.kind.mirrors(found.original.uid).get(to.cluster)
        if mirror is None:
            raise not_started(
                f"{found.described} has no mirror on worker {to.cluster}: it was removed, or is not created yet"
            )
        try:
            async with self._relay.reach(to.cluster) as client:
                yield MirrorPods(client, found.kind.adapter, mirror)
        except ConnectError as error:
            raise unanswered(f"worker {to.cluster} cannot be reached: {error}") from error


def _names(kinds: Iterable[WorkloadKind]) -> frozenset[str]:
    return frozenset(kind.name for kind in kinds)


def _recent(worker: WorkerView, live: Mapping[str, int]) -> WorkerView:
    """The same with how old its news is."""
    return msgspec.structs.replace(_limited(worker, live), heard=worker.heard)


def _limited(worker: WorkerView, live: Mapping[str, int]) -> WorkerView:
    """What users may see of a worker: its name and state, and how many of the workloads that they may see run there."""
    return WorkerView(
        worker.name, worker.connected, worker.state, live.get(worker.name, 0), lost_since=worker.lost_since
    )
