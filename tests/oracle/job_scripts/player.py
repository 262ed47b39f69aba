"""Plays one script to one cluster and looks at Jobs, CronJobs, pods and events after every step.

Time is real: backoff and deadlines are the controllers' own. Pods are called by numbers in the order in which they were
first seen. A step that the API server refuses is no end of a script: its answer belongs to the picture.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from jobrelay.kube import Client, NotFound, merge_patch
from jobrelay.kube.errors import StatusError
from jobrelay.kube.resource import (
    CRONJOBS,
    EVENTS_CORE,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    SERVICEACCOUNTS,
    Resource,
)

from .picture import picture
from .statuses import pod_status, timed

Obj = dict[str, Any]
NODE = "job-scripts"
INDEX = "batch.kubernetes.io/job-completion-index"
TEMPLATE: Obj = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}
SHOWN = (JOBS, CRONJOBS, PODS, EVENTS_CORE)
LIMITRANGES = Resource("", "v1", "limitranges", "LimitRange")
RESOURCEQUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
PRIORITYCLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
DISRUPTIONBUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
KINDS = {
    one.kind: one
    for one in (
        *SHOWN,
        LIMITRANGES,
        NAMESPACES,
        NODES,
        PRIORITYCLASSES,
        RESOURCEQUOTAS,
        SERVICEACCOUNTS,
        DISRUPTIONBUDGETS,
    )
}


class Player:
    """One script in one namespace of one cluster."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client, self.namespace = client, namespace
        self.seen: list[str] = []
        self.begins: list[dt.datetime] = []
        self.error: Obj | None = None

    async def play(self, step: Obj) -> None:
        """Do what one step says."""
        self.begins.append(dt.datetime.now(dt.UTC))
        self.error = None
        try:
            for verb, what in step.items():
                await getattr(self, f"do_{verb}")(what)
        except StatusError as error:
            self.error = {"code": error.code, "reason": error.reason, "message": str(error)}

    async def prepare(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        for _ in range(400):
            try:
                await self.client.get(SERVICEACCOUNTS, "default", self.namespace)
                return
            except NotFound:
                await asyncio.sleep(0.1)

    async def clean_up(self) -> None:
        """Let go of everything; what goes by itself meanwhile is no error."""
        free = merge_patch({"metadata": {"finalizers": None}})
        for resource in (CRONJOBS, JOBS):
            with suppress(StatusError):
                await self.client.delete_collection(resource, self.namespace, propagation="Background")
        for resource in (PODS, JOBS):
            for one in (await self.client.list(resource, self.namespace)).items:
                with suppress(StatusError):
                    if one.metadata.finalizers:
                        await self.client.patch(resource, one.name, free, self.namespace)
                    if resource == PODS:
                        await self.client.delete(PODS, one.name, self.namespace, grace_period=0)
        with suppress(StatusError):
            await self.client.delete(NAMESPACES, self.namespace)

    # Steps about Jobs.

    async def do_create(self, spec: Obj) -> None:
        """Create a Job: `spec` with a template that is filled in; `name` and `metadata` apart."""
        spec = dict(spec)
        metadata = {"name": spec.pop("name", "j"), **spec.pop("metadata", {})}
        await self.client.create(JOBS, {"metadata": metadata, "spec": job_spec(spec)}, self.namespace)

    async def do_patch(self, change: Obj) -> None:
        await self.client.patch(JOBS, "j", merge_patch(change), self.namespace)

    async def do_status(self, change: Obj) -> None:
        await self.client.patch(JOBS, "j", merge_patch({"status": timed(change)}), self.namespace, subresource="status")

    async def do_delete_job(self, propagation: Any) -> None:
        await self.client.delete(JOBS, "j", self.namespace, propagation=propagation or None)

    async def do_create_cronjob(self, spec: Obj) -> None:
        """Create a CronJob `c`; its `job` is the spec of its Jobs."""
        spec = dict(spec)
        template = {**spec.pop("jobTemplate", {}), "spec": job_spec(spec.pop("job", {}))}
        body = {"metadata": {"name": "c", **spec.pop("metadata", {})}, "spec": {**spec, "jobTemplate": template}}
        await self.client.create(CRONJOBS, body, self.namespace)

    # Steps about pods.

    async def do_pods(self, statuses: Mapping[Any, Any]) -> None:
        """Give pods a status: by number, by `index N`, or `all` that have not ended."""
        for which, status in statuses.items():
            names = await self.chosen(which)
            done = await asyncio.gather(*(self._set_status(name, status) for name in names), return_exceptions=True)
            for problem in done:
                if problem is not None:
                    raise problem

    async def do_delete(self, which: Any) -> None:
        for name in await self.chosen(which):
            await self.client.delete(PODS, name, self.namespace)

    async def do_kill(self, which: Any) -> None:
        """What a kubelet does last: delete without grace."""
        for name in await self.chosen(which):
            await self.client.delete(PODS, name, self.namespace, grace_period=0)

    async def do_evict(self, which: Any) -> None:
        for name in await self.chosen(which):
            body = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": name, "namespace": self.namespace},
            }
            await self.client.create(PODS, body, self.namespace, name=name, subresource="eviction")

    async def do_bind(self, which: Any) -> None:
        for name in await self.chosen(which):
            await self._bind(name)

    async def do_bind_to(self, nodes: Mapping[Any, str]) -> None:
        for which, node in nodes.items():
            for name in await self.chosen(which):
                await self._bind(name, node.replace("{{ns}}", self.namespace))

    async def do_patch_pods(self, changes: Mapping[Any, Obj]) -> None:
        for which, change in changes.items():
            for name in await self.chosen(which):
                await self.client.patch(PODS, name, merge_patch(change), self.namespace)

    async def do_create_pod(self, pod: Obj) -> None:
        """Create a pod; `{{uid}}` is the Job's uid. With a status it gets its labels last: no Job sees it before it is
        complete."""
        uid = (await self.client.get(JOBS, "j", self.namespace)).uid if "{{uid}}" in str(pod) else ""
        metadata: Obj = {**_replaced(pod, "{{uid}}", uid)}
        spec, status = {**TEMPLATE["spec"], **metadata.pop("spec", {})}, metadata.pop("status", None)
        labels = metadata.pop("labels", {}) if status is not None else {}
        created = await self.client.create(PODS, {"metadata": metadata, "spec": spec}, self.namespace)
        if status is not None:
            await self._set_status(created.name, status)
            await self.client.patch(PODS, created.name, merge_patch({"metadata": {"labels": labels}}), self.namespace)

    # Steps about anything.

    async def do_make(self, body: Obj) -> None:
        resource = KINDS[body["kind"]]
        place = self.namespace if resource.namespaced else None
        await self.client.create(resource, _replaced(body, "{{ns}}", self.namespace), place)

    async def do_change(self, what: Obj) -> None:
        """Patch any object: `kind`, `name`, `patch`, and `subresource` if need be."""
        resource, patch = KINDS[what["kind"]], merge_patch(timed(what["patch"]))
        place = self.namespace if resource.namespaced else None
        name = what["name"].replace("{{ns}}", self.namespace)
        await self.client.patch(resource, name, patch, place, subresource=what.get("subresource"))

    async def do_remove(self, what: Obj) -> None:
        resource = KINDS[what["kind"]]
        place = self.namespace if resource.namespaced else None
        name = what["name"].replace("{{ns}}", self.namespace)
        await self.client.delete(resource, name, place, propagation=what.get("propagation"))

    async def do_remove_all(self, what: Obj) -> None:
        resource, propagation = KINDS[what["kind"]], what.get("propagation")
        await self.client.delete_collection(resource, self.namespace, propagation=propagation)

    async def do_quota(self, pods: int) -> None:
        body = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": str(pods)}}}
        await self.client.create(RESOURCEQUOTAS, body, self.namespace)

    async def do_wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def do_until_second(self, second: int) -> None:
        """Wait for a second of the minute, to be clear of the moments at which CronJobs act."""
        await asyncio.sleep((second - dt.datetime.now(dt.UTC).timestamp()) % 60)

    async def chosen(self, which: Any) -> list[str]:
        pods = await self.pods()
        if which == "all":
            return [name for name in self.seen if name in pods and not _ended(pods[name])]
        if isinstance(which, str) and which.startswith(("any ", "all ")):
            found = [name for name in self.seen if name in pods and _is(pods[name], which[4:])]
            return found if which.startswith("all ") else found[:1]
        if isinstance(which, str) and which.startswith("index "):
            index = int(which.split()[1])
            open_ = [name for name in self.seen if name in pods and not _ended(pods[name])]
            return [name for name in open_ if _index(pods[name]) == index][-1:]
        numbers = which if isinstance(which, list) else [which]
        known = [self.seen[int(number)] for number in numbers if int(number) < len(self.seen)]
        return [name for name in known if name in pods]

    async def _set_status(self, name: str, status: Any) -> None:
        wanted = pod_status(status)
        pod = (await self.client.get(PODS, name, self.namespace)).decode()
        if wanted.get("phase") != "Pending" and not pod["spec"].get("nodeName"):
            await self._bind(name)
        await self.client.patch(PODS, name, merge_patch({"status": wanted}), self.namespace, subresource="status")

    async def _bind(self, name: str, node: str = NODE) -> None:
        target = {"kind": "Node", "name": node}
        body = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": name}, "target": target}
        await self.client.create(PODS, body, self.namespace, name=name, subresource="binding")

    # Looking.

    async def pods(self) -> dict[str, Obj]:
        pods = [pod.decode() for pod in (await self.client.list(PODS, self.namespace)).items]
        pods.sort(key=lambda pod: (_index(pod), pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
        for pod in pods:
            if pod["metadata"]["name"] not in self.seen:
                self.seen.append(pod["metadata"]["name"])
        return {pod["metadata"]["name"]: pod for pod in pods}

    async def look(self) -> Obj:
        await self.pods()
        found = {
            resource.plural: [one.decode() for one in (await self.client.list(resource, self.namespace)).items]
            for resource in SHOWN
        }
        return picture(found, self.namespace, self.begins, self.error)


async def prepare_node(client: Client) -> None:
    try:
        await client.get(NODES, NODE)
    except NotFound:
        await client.create(NODES, {"metadata": {"name": NODE}})


def job_spec(spec: Obj) -> Obj:
    """A spec whose pod template is filled in."""
    template = spec.get("template", {})
    full = {"metadata": template.get("metadata", {}), "spec": {**TEMPLATE["spec"], **template.get("spec", {})}}
    return {**spec, "template": full}


def _ended(pod: Obj) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def _is(pod: Obj, word: str) -> bool:
    """Whether a pod is `pending`, `running`, `ready`, `active` or `terminating`."""
    if _ended(pod):
        return False
    if "deletionTimestamp" in pod["metadata"] or word == "terminating":
        return word == "terminating" and "deletionTimestamp" in pod["metadata"]
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))
    return word in ("active", "ready" if ready else str(pod["status"].get("phase")).lower())


def _index(pod: Obj) -> int:
    text = pod["metadata"].get("annotations", {}).get(INDEX, "-1")
    return int(text) if text.lstrip("-").isdigit() else -1


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(one, old, new) for key, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, old, new) for one in value]
    return value.replace(old, new) if isinstance(value, str) else value
