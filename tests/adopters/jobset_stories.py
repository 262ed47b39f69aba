"""Plays JobSets to a cluster, whoever runs them there, and tells what became of them."""

from __future__ import annotations

import asyncio
import json
import pathlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import yaml

from jobrelay.kube import AlreadyExists, Client, EventType, Resource, connect, merge_patch
from jobrelay.kube.resource import EVENTS, JOBS, NAMESPACES, PERSISTENTVOLUMECLAIMS, SERVICES

from .managers import Obj, contains

JOBSETS: Final = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
STORIES: Final[Mapping[str, Obj]] = yaml.safe_load(pathlib.Path(__file__).with_name("jobset_stories.yaml").read_text())
NAME: Final = "it"
END_SECONDS, CALM_SECONDS = 90.0, 2.0
SERVERS_OWN: Final = (
    "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields", "generation", "namespace",
)  # fmt: skip


@dataclass
class Seen:
    """A status, and how long it lasted."""

    status: Obj
    since: float
    seconds: float = 0.0


@dataclass
class Told:
    """The statuses of a JobSet in their order, its Jobs as they were created and as they were at last, and the rest."""

    statuses: list[Seen] = field(default_factory=list)
    jobs: dict[str, Obj] = field(default_factory=dict)
    last_jobs: dict[str, Obj] = field(default_factory=dict)
    events: dict[str, Obj] = field(default_factory=dict)
    others: dict[str, Obj] = field(default_factory=dict)
    spec: Obj = field(default_factory=dict)


class Story:
    """One JobSet in a namespace of its own."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self.name, self._plan = client, name, STORIES[name]
        self.told = Told()
        self._status: Obj = {}
        self._gone = False
        self._changed = asyncio.Event()

    async def play(self) -> Told:
        await self._create_namespace()
        watches = [
            asyncio.create_task(self._follow(each)) for each in (JOBSETS, JOBS, SERVICES, PERSISTENTVOLUMECLAIMS)
        ]
        try:
            await asyncio.wait_for(self._play(), END_SECONDS)
            await asyncio.sleep(CALM_SECONDS)
        except TimeoutError:
            raise AssertionError(f"{self.name}: {json.dumps(self._status)}") from None
        finally:
            for watch in watches:
                watch.cancel()
            await asyncio.wait(watches)
        self.told.events = await self._events()
        return self.told

    async def _create_namespace(self) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}}
        try:
            await self._client.create(NAMESPACES, body)
        except AlreadyExists:
            raise AssertionError("each story needs a new cluster") from None

    async def _play(self) -> None:
        kind = {"apiVersion": JOBSETS.api_version, "kind": JOBSETS.kind}
        metadata = {"name": NAME, "namespace": self.name, "annotations": self._plan.get("annotations", {})}
        await self._client.create(JOBSETS, {**kind, "metadata": metadata, "spec": self._plan["spec"]})
        for step in self._plan.get("steps", ()):
            await self._until(step["until"])
            await self._client.patch(JOBSETS, NAME, merge_patch(step["patch"]), self.name)
        if "end" in self._plan:
            await self._until(self._plan["end"])
        elif self._plan.get("gone"):
            while not self._gone:
                await self._wait()
        await asyncio.sleep(self._plan.get("quiet", 0))

    async def _until(self, wanted: Obj) -> None:
        while not contains(self._status, wanted):
            await self._wait()

    async def _wait(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    async def _follow(self, resource: Resource) -> None:
        version = (await self._client.list(resource, self.name)).resource_version
        async with self._client.watch(resource, self.name, resource_version=version) as events:
            async for event in events:
                if event.type is not EventType.BOOKMARK:
                    self._note(resource, event.type, event.object.decode())

    def _note(self, resource: Resource, type_: EventType, obj: Obj) -> None:
        if resource == JOBSETS:
            self._note_jobset(type_, obj)
        elif resource == JOBS:
            attempt = obj["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"]
            key = f"{obj['metadata']['name']}, attempt {attempt}"
            self.told.jobs.setdefault(key, _neutral(obj))
            self.told.last_jobs[key] = _neutral(obj)
        else:
            self.told.others.setdefault(f"{obj['kind']} {obj['metadata']['name']}", _neutral(obj))

    def _note_jobset(self, type_: EventType, obj: Obj) -> None:
        self.told.spec = obj["spec"]
        self._status, self._gone = obj.get("status") or {}, type_ is EventType.DELETED
        shown, now = _without_times(self._status), time.monotonic()
        last = self.told.statuses[-1] if self.told.statuses else None
        if last is None or last.status != shown:
            self.told.statuses.append(Seen(shown, now))
            if last is not None:
                last.seconds = now - last.since
        self._changed.set()

    async def _events(self) -> dict[str, Obj]:
        """What was told about the JobSet, by reasons in the order of their first time; repetitions may be one Event."""
        found = [each.decode() for each in (await self._client.list(EVENTS, self.name)).items]
        about = [each for each in found if each["regarding"]["kind"] == JOBSETS.kind]
        shown = ("type", "note", "action", "reportingController")
        told: dict[str, Obj] = {}
        for each in sorted(about, key=lambda one: str(one["eventTime"])):
            told.setdefault(each["reason"], {"place": len(told), **{key: each.get(key) for key in shown}})
        return told


def _without_times(status: Obj) -> Obj:
    conditions = [
        {key: value for key, value in each.items() if key != "lastTransitionTime"}
        for each in status.get("conditions", ())
    ]
    return {**status, "conditions": conditions}


def _neutral(obj: Obj) -> Obj:
    """An object without its status and what the server gives it; uids are named by whose they are."""
    own = obj["metadata"]["uid"]
    owners = [each["uid"] for each in obj["metadata"].get("ownerReferences", ())]
    metadata = {key: value for key, value in obj["metadata"].items() if key not in SERVERS_OWN}
    text = json.dumps({"metadata": metadata, "spec": obj["spec"]}).replace(own, "OWN")
    for uid in owners:
        text = text.replace(uid, "OWNER")
    found: Obj = json.loads(text)
    for key in ("clusterIP", "clusterIPs"):
        if found["spec"].get(key) not in (None, "None", ["None"]):
            found["spec"].pop(key)
    return found


async def play_all(kubeconfig: pathlib.Path) -> dict[str, Told]:
    """All stories side by side on one cluster."""
    async with connect(kubeconfig) as client:
        told = await asyncio.gather(*(Story(client, name).play() for name in STORIES))
    return dict(zip(STORIES, told, strict=True))
