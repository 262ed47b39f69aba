"""Custom resources that workloads name: copied like other objects, and followed to what they name in turn."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kube import Client, NotFound, Object
from jobrelay.kube.resource import CONFIGMAPS, CUSTOMRESOURCEDEFINITIONS, JOBS
from jobrelay.relay.copy_rules import parse_rules
from jobrelay.relay.dependencies.copies import COPY, RESOURCES
from jobrelay.workloads import NOTHING_FOUND, Found, JobAdapter, Reference
from tests.relay.fleets import Fleet, fleet, job
from tests.relay.test_dependencies import placed, put, waits

PIPELINES = RESOURCES["Pipeline"]
NAMED = "example.com/pipeline"
PATH = ("spec", "template", "metadata", "annotations", NAMED)


class NamesPipelines(JobAdapter):
    """Jobs whose pods say by an annotation which pipeline they run; a pipeline names a ConfigMap."""

    def references(self, original: Object, found: Found = NOTHING_FOUND) -> tuple[Reference, ...]:
        metadata = original.decode()["spec"]["template"].get("metadata", {})
        name = metadata.get("annotations", {}).get(NAMED, "")
        own = (Reference(PIPELINES, name, original.namespace, paths=(PATH,)),) if name else ()
        specs = [obj.decode()["spec"] for (resource, _), obj in found.items() if resource == PIPELINES]
        deep = (Reference(CONFIGMAPS, spec["settings"], original.namespace) for spec in specs if "settings" in spec)
        return (*own, *deep)


@pytest.fixture(autouse=True)
def _adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobrelay.relay.relay.load_adapters", lambda: (NamesPipelines(),))


async def define(*clients: Client) -> None:
    """Have clusters serve pipelines."""
    for client in clients:
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        spec = {
            "group": PIPELINES.group,
            "scope": "Namespaced",
            "names": {"plural": PIPELINES.plural, "kind": PIPELINES.kind, "singular": "pipeline"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        }
        metadata = {"name": str(PIPELINES)}
        await client.create(CUSTOMRESOURCEDEFINITIONS, {"metadata": metadata, "spec": spec})
        while not await _served(client):
            pass


async def _served(client: Client) -> bool:
    try:
        return bool((await client.list(PIPELINES, "default")).resource_version)
    except NotFound:
        return False


async def submit(it: Fleet, seconds: float = 0, **spec: Any) -> None:
    """A pipeline on the management cluster, and a Job that names it."""
    metadata = {"name": "build", "namespace": "default"}
    kind = {"apiVersion": PIPELINES.api_version, "kind": PIPELINES.kind}
    await it.client.create(PIPELINES, {**kind, "metadata": metadata, "spec": spec})
    template = job(seconds=seconds)["spec"]["template"]
    template["metadata"]["annotations"][NAMED] = "build"
    await it.submit(template=template)


async def test_a_custom_resource_is_copied_and_its_name_replaced() -> None:
    async with fleet(1, start=False, copies=parse_rules(["Pipeline"]), copy_grace=0.4, keep_finished=0.0) as it:
        await define(it.client, it.on("worker-1"))
        await it.start()
        await submit(it, seconds=1000, steps=["a"])
        await it.runs()
        (copy,) = (await it.on("worker-1").list(PIPELINES, "default", label_selector=COPY)).items
        assert copy.decode()["spec"] == {"steps": ["a"]}
        mirror = (await it.mirrors())["worker-1"].decode()
        assert mirror["spec"]["template"]["metadata"]["annotations"][NAMED] == copy.name
        await it.client.delete(JOBS, "train", "default", propagation="Background")

        async def removed() -> bool:
            return not (await it.on("worker-1").list(PIPELINES, "default")).items

        await it.until(removed)


async def test_what_it_names_in_turn_has_to_be_there_too() -> None:
    async with fleet(1, start=False, ask_missing=0.05, ask_again=0.2) as it:
        await define(it.client)
        await it.start()
        await submit(it, settings="settings")
        found = await it.until(lambda: waits(it))
        assert found.workers[0].sentence == "lacks ConfigMap default/settings"
        unchecked = {each.object: dict(each.unchecked) for each in found.dependencies}
        assert unchecked["Pipeline default/build"] == {"worker-1": "it does not serve tekton.dev/v1 Pipeline"}
        await put(it, "worker-1")
        await it.until(lambda: placed(it))
