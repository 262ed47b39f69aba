"""Plays one script to one cluster and looks at the Job, its pods and its events after every step.

Time is real: backoff and deadlines are the controllers' own. After each step the player waits until the controllers have
settled, and takes a picture in which names, uids and times are replaced, so that pictures of two clusters can be compared.
Pods are called by numbers in the order in which they were first seen.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from jobrelay.kube import Client, NotFound, merge_patch
from jobrelay.kube.resource import EVENTS_CORE, JOBS, NAMESPACES, NODES, PODS, SERVICEACCOUNTS, Resource

Obj = dict[str, Any]
NODE = "job-scripts"
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TEMPLATE: Obj = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}


class Player:
    """One script in one namespace of one cluster."""

    def __init__(self, client: Client, namespace: str, settle: float) -> None:
        self.client, self.namespace, self.settle = client, namespace, settle
        self.seen: list[str] = []

    async def play(self, steps: list[Obj]) -> list[Obj]:
        await self._prepare()
        pictures = []
        try:
            for step in steps:
                for verb, what in step.items():
                    await getattr(self, f"do_{verb}")(what)
                await asyncio.sleep(0 if "wait" in step else self.settle)
                pictures.append(await self.picture())
        finally:
            await self._clean_up()
        return pictures

    async def _prepare(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        for _ in range(200):
            try:
                await self.client.get(SERVICEACCOUNTS, "default", self.namespace)
                return
            except NotFound:
                await asyncio.sleep(0.1)

    async def _clean_up(self) -> None:
        for pod in (await self.client.list(PODS, self.namespace)).items:
            try:
                await self.client.patch(PODS, pod.name, merge_patch({"metadata": {"finalizers": None}}), self.namespace)
                await self.client.delete(PODS, pod.name, self.namespace, grace_period=0)
            except NotFound:
                continue
        await self.client.delete(NAMESPACES, self.namespace)

    # Steps.

    async def do_create(self, spec: Obj) -> None:
        """Create the Job: `spec` with a template that is filled in; `name` and `metadata` apart."""
        spec = dict(spec)
        metadata = {"name": spec.pop("name", "j"), **spec.pop("metadata", {})}
        template = spec.pop("template", {})
        full = {"metadata": template.get("metadata", {}), "spec": {**_TEMPLATE["spec"], **template.get("spec", {})}}
        await self.client.create(JOBS, {"metadata": metadata, "spec": {**spec, "template": full}}, self.namespace)

    async def do_pods(self, statuses: Mapping[Any, Any]) -> None:
        """Give pods a status: by number, by `index N`, or `all` that have not ended."""
        for which, status in statuses.items():
            for name in await self.chosen(which):
                await self._set_status(name, status)

    async def do_delete(self, which: Any) -> None:
        for name in await self.chosen(which):
            await self.client.delete(PODS, name, self.namespace)

    async def do_kill(self, which: Any) -> None:
        """What a kubelet does last: delete without grace."""
        for name in await self.chosen(which):
            await self.client.delete(PODS, name, self.namespace, grace_period=0)

    async def do_bind(self, which: Any) -> None:
        for name in await self.chosen(which):
            await self._bind(name)

    async def do_patch(self, change: Obj) -> None:
        await self.client.patch(JOBS, "j", merge_patch(change), self.namespace)

    async def do_status(self, change: Obj) -> None:
        await self.client.patch(
            JOBS, "j", merge_patch({"status": _timed(change)}), self.namespace, subresource="status"
        )

    async def do_patch_pods(self, changes: Mapping[Any, Obj]) -> None:
        for which, change in changes.items():
            for name in await self.chosen(which):
                await self.client.patch(PODS, name, merge_patch(change), self.namespace)

    async def do_create_pod(self, pod: Obj) -> None:
        """Create a pod; `{{uid}}` is the Job's uid."""
        pod = dict(pod)
        status = pod.pop("status", None)
        body = {"metadata": pod, "spec": _TEMPLATE["spec"]}
        uid = (await self.client.get(JOBS, "j", self.namespace)).uid if "{{uid}}" in str(pod) else ""
        created = await self.client.create(PODS, _replaced(body, "{{uid}}", uid), self.namespace)
        if status is not None:
            await self._set_status(created.name, status)

    async def do_delete_job(self, propagation: Any) -> None:
        await self.client.delete(JOBS, "j", self.namespace, propagation=propagation or None)

    async def do_quota(self, pods: int) -> None:
        await self.client.create(
            QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": str(pods)}}}, self.namespace
        )

    async def do_wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def chosen(self, which: Any) -> list[str]:
        pods = await self._pods()
        if which == "all":
            return [name for name in self.seen if name in pods and not _ended(pods[name])]
        if isinstance(which, str) and which.startswith("index "):
            index = which.split()[1]
            key = "batch.kubernetes.io/job-completion-index"
            found = [
                name
                for name in self.seen
                if name in pods
                and pods[name]["metadata"].get("annotations", {}).get(key) == index
                and not _ended(pods[name])
            ]
            return found[-1:]
        numbers = which if isinstance(which, list) else [which]
        return [self.seen[int(number)] for number in numbers if self.seen[int(number)] in pods]

    async def _set_status(self, name: str, status: Any) -> None:
        wanted = _status(status)
        pod = (await self.client.get(PODS, name, self.namespace)).decode()
        if wanted.get("phase") != "Pending" and not pod["spec"].get("nodeName"):
            await self._bind(name)
        await self.client.patch(PODS, name, merge_patch({"status": wanted}), self.namespace, subresource="status")

    async def _bind(self, name: str) -> None:
        body = {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": NODE},
        }
        await self.client.call("POST", f"{PODS.path(self.namespace, name)}/binding", body=_json(body))

    # Looking.

    async def _pods(self) -> dict[str, Obj]:
        pods = [pod.decode() for pod in (await self.client.list(PODS, self.namespace)).items]
        pods.sort(key=lambda pod: (_index(pod), pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
        for pod in pods:
            if pod["metadata"]["name"] not in self.seen:
                self.seen.append(pod["metadata"]["name"])
        return {pod["metadata"]["name"]: pod for pod in pods}

    async def picture(self) -> Obj:
        pods = await self._pods()
        try:
            job: Obj | None = (await self.client.get(JOBS, "j", self.namespace)).decode()
        except NotFound:
            job = None
        events = [event.decode() for event in (await self.client.list(EVENTS_CORE, self.namespace)).items]
        names = sorted(self.seen, key=len, reverse=True)
        shown: Obj = {
            "job": None if job is None else {
                "deleting": "deletionTimestamp" in job["metadata"], "finalizers": job["metadata"].get("finalizers"),
                "status": job["status"],
            },
            "pods": sorted((_pod(pod) for pod in pods.values()), key=str),
            "events": sorted((_event(event) for event in events if event["involvedObject"]["kind"] == "Job"), key=str),
        }  # fmt: skip
        shown = dict(_neutral(shown, names, self.namespace))
        shown["events"].sort(key=str)
        shown["pods"].sort(key=str)
        return shown


async def prepare_node(client: Client) -> None:
    try:
        await client.get(NODES, NODE)
    except NotFound:
        await client.create(NODES, {"metadata": {"name": NODE}})


def _json(body: Obj) -> bytes:
    return msgspec.json.encode(body)


def _ended(pod: Obj) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def _index(pod: Obj) -> int:
    return int(pod["metadata"].get("annotations", {}).get("batch.kubernetes.io/job-completion-index", "-1") or -1)


def _pod(pod: Obj) -> Obj:
    meta, spec = pod["metadata"], pod["spec"]
    return {
        "labels": meta.get("labels"), "annotations": meta.get("annotations"), "finalizers": meta.get("finalizers"),
        "owners": meta.get("ownerReferences"), "deleting": "deletionTimestamp" in meta, "phase": pod["status"].get("phase"),
        "generateName": meta.get("generateName"), "hostname": spec.get("hostname"),
        "env": [container.get("env") for container in spec["containers"]], "restartPolicy": spec["restartPolicy"],
    }  # fmt: skip


def _event(event: Obj) -> Obj:
    about = event["involvedObject"]
    return {
        "type": event["type"], "reason": event["reason"], "message": event["message"], "count": event.get("count"),
        "about": [about.get("apiVersion"), about.get("kind"), about.get("name")], "source": event.get("source"),
        "reporting": [event.get("reportingComponent"), event.get("reportingInstance")],
    }  # fmt: skip


def _neutral(value: Any, names: list[str], namespace: str) -> Any:
    if isinstance(value, dict):
        return {key: _neutral(one, names, namespace) for key, one in value.items()}
    if isinstance(value, list):
        return [_neutral(one, names, namespace) for one in value]
    if not isinstance(value, str):
        return value
    for name in names:
        value = value.replace(name, "POD")
    value = re.sub(r"(pod: |/)[a-z0-9-]+-[a-z0-9]{5}$", r"\1POD", value)
    return _UID.sub("UID", _TIME.sub("TIME", value.replace(namespace, "NS")))


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(one, old, new) for key, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, old, new) for one in value]
    return value.replace(old, new) if isinstance(value, str) else value


def _timed(value: Any) -> Any:
    """`now` and `now-30` as times."""
    if isinstance(value, dict):
        return {key: _timed(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_timed(one) for one in value]
    found = re.fullmatch(r"now([+-]\d+)?", value) if isinstance(value, str) else None
    if found is None:
        return value
    moment = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=int(found.group(1) or 0))
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _status(status: Any) -> Obj:
    """`running`, `ready`, `succeeded`, `failed`, `failed 42` (exit code), `failed 42 -30` (30 s ago), or a status as it is."""
    if isinstance(status, dict):
        return dict(_timed(status))
    word, *rest = status.split()
    if word in ("succeeded", "failed"):
        code, when = (int(rest[0]) if rest else int(word == "failed")), f"now{rest[1] if len(rest) > 1 else ''}"
        state = {"terminated": {"exitCode": code, "finishedAt": when, "startedAt": when}}
        container = _container(state)
        return dict(_timed({"phase": word.capitalize(), "containerStatuses": [container]}))
    ready = {
        "type": "Ready",
        "status": "True" if word == "ready" else "False",
        "lastTransitionTime": f"now{''.join(rest)}",
    }
    if word == "pending":
        return {"phase": "Pending"}
    conditions = [ready] if word == "ready" else []
    return dict(_timed({"phase": "Running", "conditions": conditions}))


def _container(state: Obj) -> Obj:
    return {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": state}
