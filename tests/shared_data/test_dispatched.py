"""Every manifest of a relayed kind, dispatched: from a management cluster to a mirror that a worker has accepted.

Both are embedded clusters with the real definitions. What stands beside a workload in the manifests of its project is
on the management cluster and copied. What is not copied is on the worker. Some manifests name objects that none of them
has: they wait until these are there. Those that cannot be dispatched at all are listed with the reason.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobrelay.apimachinery import yaml
from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import Invalid, NotFound, Object, Resource
from jobrelay.kube.resource import CONFIGMAPS, CUSTOMRESOURCEDEFINITIONS, PERSISTENTVOLUMECLAIMS, SERVICEACCOUNTS
from jobrelay.relay.copy_rules import COPYABLE, parse_rules
from jobrelay.relay.dependencies.copies import RESOURCES
from jobrelay.relay.explain import Explanation
from jobrelay.relay.original_decision import Stage
from jobrelay.relay.workload_kind import WorkloadRef, is_built_in
from jobrelay.workloads import Adapter, ObjectName, load_adapters
from jobrelay.workloads.builtin import built_in_descriptions
from jobrelay.workloads.declared import paths
from jobrelay.workloads.names import MULTIKUEUE
from jobrelay.workloads.references import RESOURCECLAIMTEMPLATES
from tests.apimachinery.documents import documents
from tests.relay.fleets import Fleet, fleet

from .test_custom_resources import EXAMPLE_FILES, SHARED, name_of
from .test_own_definitions import RELEASES

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared folder with CRDs and manifests beside the repository"),
]
Obj = dict[str, Any]

ADAPTERS = {each.resource.kind: each for each in load_adapters(())}
RAYCLUSTERS = ADAPTERS["RayCluster"].resource
NODES = NodeSettings(
    runtime="scripted", cpu="10000", memory="10000Gi", pods=10000,
    extended={"nvidia.com/gpu": "1000", "google.com/tpu": "1000"},
    labels={
        "node-type": "training",
        "cloud.google.com/gke-tpu-accelerator": "tpu-v4-podslice",
        "cloud.google.com/gke-tpu-topology": "2x2x2",
    },
)  # fmt: skip
ON_WORKER = {
    each.kind: each for each in (PERSISTENTVOLUMECLAIMS, RESOURCECLAIMTEMPLATES, RESOURCES["Task"])
}  # fmt: skip
"""What a worker has to have itself. The Tasks of all manifests are named by Pipelines, and so cannot be copied."""
COMPANIONS = RESOURCES | ON_WORKER
ELSEWHERE: Mapping[str, tuple[Resource, str, Obj]] = {
    "kuberay/samples__ray-job.use-existing-raycluster.yaml-0": (
        RAYCLUSTERS, "ray-cluster-kuberay",
        {"spec": {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "head"}]}}}}},
    ),
    "kueue/jobs__ray-job-autoscaling-sample.yaml-0": (CONFIGMAPS, "ray-job-autoscaling-code-sample", {}),
    "kueue/jobs__ray-job-sample.yaml-0": (CONFIGMAPS, "ray-job-code-sample", {}),
    "trainer/yaml__02-runtime-patches.yaml-0": (SERVICEACCOUNTS, "training-sa", {}),
    "training-operator/distribution_strategy__multi_worker_tfjob.yaml-0": (
        PERSISTENTVOLUMECLAIMS, "strategy-volume", {},
    ),
    "training-operator/mnist_with_summaries__tf_job_mnist.yaml-0": (PERSISTENTVOLUMECLAIMS, "tfevent-volume", {}),
}  # fmt: skip
"""What manifests name although none of their project's manifests has it."""
_CLAIM: Obj = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
_TWICE = "It is not run by the relay, since it would run twice: the training operator does not look at managedBy"
REFUSED: Mapping[str, str] = {
    "kueue/jobs__sample-jaxjob.yaml-0": _TWICE,
    "training-operator/cpu-demo__demo.yaml-0": _TWICE,
    "training-operator/jax-dist-spmd-mnist__jaxjob_dist_spmd_mnist_gloo.yaml-0": _TWICE,
}
"""What the relay does not take, and what it says about it."""
INVALID: Mapping[str, str] = {
    "kueue/jobs__sample-xgboostjob.yaml-0": ('resources.requests.cpu in body must be of type integer,string: "number"'),
}
"""What the management cluster does not take, by its definition: a number of CPUs with a fraction."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One workload of an example, where it is from, and the namespace that it gets."""

    id: str
    path: Path
    namespace: str
    body: Obj


def manifests(adapter: Adapter) -> list[Manifest]:
    """All manifests of a kind, in whatever version they are."""
    found = []
    for path in EXAMPLE_FILES:
        for number, obj in enumerate(documents(path.read_text())):
            if isinstance(obj, dict) and _is_of(obj, adapter):
                namespace = f"example-{len(found)}"
                found.append(Manifest(f"{name_of(path)}-{number}", path, namespace, obj))
    return found


def _is_of(obj: Obj, adapter: Adapter) -> bool:
    group = str(obj.get("apiVersion")).rpartition("/")[0]
    return (group, obj.get("kind")) == (adapter.resource.group, adapter.resource.kind)


def companions(adapter: Adapter, manifest: Manifest) -> list[Obj]:
    """The objects in the manifests of the same project that workloads may name; those of its own file come first."""
    beside = [path for path in EXAMPLE_FILES if path.parts[-3] == manifest.path.parts[-3] and path != manifest.path]
    found: dict[tuple[str, str], Obj] = {}
    for path in (manifest.path, *beside):
        for obj in documents(path.read_text()):
            if isinstance(obj, dict) and _may_be_named(obj, adapter):
                found.setdefault((obj["kind"], obj["metadata"]["name"]), obj)
    return list(found.values())


def _may_be_named(obj: Obj, adapter: Adapter) -> bool:
    resource = COMPANIONS.get(obj["kind"])
    return resource is not None and (
        is_built_in(resource) or resource.group in ("resource.k8s.io", adapter.resource.group)
    )


def delegated(adapter: Adapter, manifest: Manifest) -> Obj:
    """A manifest with managedBy, not suspended."""
    body = copy.deepcopy(manifest.body)
    body["metadata"]["namespace"] = manifest.namespace
    paths.put(paths.plain(adapter.managed_by_path), body, MULTIKUEUE)
    description = built_in_descriptions().get(adapter.resource.kind)
    rule = description.suspension if description is not None else None
    paths.remove(rule.path if rule is not None else "spec.suspend", body)
    return body


def definitions(adapter: Adapter) -> list[Obj]:
    """The real definitions of a kind, and of what such workloads may name."""
    files = (path for each in RELEASES.items() for path in sorted(SHARED.joinpath("crds", *each).glob("*.yaml")))
    wanted = {adapter.resource.kind, RAYCLUSTERS.kind, *COMPANIONS}
    found = [yaml.load(path.read_bytes()) for path in files]
    return [
        each
        for each in found
        if each["spec"]["group"] == adapter.resource.group and each["spec"]["names"]["kind"] in wanted
    ]


@asynccontextmanager
async def examples_fleet(adapter: Adapter, found: list[Manifest]) -> AsyncIterator[Fleet]:
    """A fleet whose clusters have the real definitions, and everything that stands beside these manifests."""
    namespaces = ",".join(each.namespace for each in found)
    rules = parse_rules(f"{kind}:{namespaces}" if kind == "Secret" else kind for kind in COPYABLE)
    async with fleet(1, start=False, nodes=NODES, copies=rules, ask_missing=0.1, ask_again=0.2) as it:
        for each in definitions(adapter):
            for client in (it.client, it.on("worker-1")):
                await client.create(CUSTOMRESOURCEDEFINITIONS, each)
        for manifest in found:
            await it.open_namespace(manifest.namespace, "worker-1")
            await _put_companions(it, adapter, manifest)
        await it.start()
        yield it


async def _put_companions(it: Fleet, adapter: Adapter, manifest: Manifest) -> None:
    for obj in companions(adapter, manifest):
        resource = COMPANIONS[obj["kind"]]
        client = it.on("worker-1") if resource.kind in ON_WORKER else it.client
        if resource.namespaced:
            await client.create(resource, {**obj, "metadata": {**obj["metadata"], "namespace": manifest.namespace}})
        elif manifest.namespace.endswith("-0"):
            await client.create(resource, obj)


class Dispatch:
    """One manifest on its way."""

    def __init__(self, it: Fleet, adapter: Adapter, manifest: Manifest, original: Object) -> None:
        self.it, self.adapter, self.manifest, self.original = it, adapter, manifest, original

    def explanation(self) -> Explanation | None:
        assert self.it.relay is not None
        return self.it.relay.explain(WorkloadRef(str(self.adapter.resource), self.original.key))

    async def explained(self, text: str, stage: Stage) -> None:
        async def told() -> bool:
            found = self.explanation()
            return found is not None and found.stage == stage and text in found.sentence

        await self.until(told)

    async def until(self, what: Callable[[], Any]) -> None:
        try:
            await self.it.until(what)
        except TimeoutError:
            found = self.explanation()
            pytest.fail(f"{self.manifest.id}: {found.sentence if found is not None else 'not seen by the relay'}")

    async def missed(self, resource: Resource, name: str, body: Obj) -> None:
        """Wait until the relay misses an object, and create it."""
        namespace = self.manifest.namespace
        await self.explained(f"lacks {ObjectName(resource, namespace, name)}", Stage.PLACING)
        body = body or (_CLAIM if resource == PERSISTENTVOLUMECLAIMS else {})
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        metadata = {"name": name, "namespace": namespace}
        await self.it.on("worker-1").create(resource, {**head, "metadata": metadata, **body})

    async def mirrored(self) -> bool:
        try:
            mirror = await self.it.on("worker-1").get(self.adapter.resource, *reversed(self.original.key))
        except NotFound:
            return False
        return self.adapter.read(mirror).managed_by in (None, self.adapter.native)


@pytest.mark.parametrize("kind", sorted(ADAPTERS))
async def test_every_manifest_of_a_kind_gets_a_mirror(kind: str) -> None:
    adapter = ADAPTERS[kind]
    found = manifests(adapter)
    assert found
    async with examples_fleet(adapter, found) as it:
        for manifest in found:
            body = delegated(adapter, manifest)
            if manifest.id in INVALID:
                with pytest.raises(Invalid) as error:
                    await it.client.create(adapter.resource, body)
                assert INVALID[manifest.id] in str(error.value)
                continue
            one = Dispatch(it, adapter, manifest, await it.client.create(adapter.resource, body))
            if manifest.id in REFUSED:
                await one.explained(REFUSED[manifest.id], Stage.REFUSED)
                continue
            if manifest.id in ELSEWHERE:
                await one.missed(*ELSEWHERE[manifest.id])
            await one.until(one.mirrored)


def test_the_lists_name_manifests() -> None:
    known = {each.id for adapter in ADAPTERS.values() for each in manifests(adapter)}
    assert {*ELSEWHERE, *REFUSED, *INVALID} <= known


def test_every_manifest_has_the_version_that_is_relayed() -> None:
    found = [(adapter, each) for adapter in ADAPTERS.values() for each in manifests(adapter)]
    assert [each.id for adapter, each in found if each.body["apiVersion"] != adapter.resource.api_version] == []
