from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jobrelay.apimachinery import yaml
from jobrelay.cluster import Cluster
from jobrelay.kube import AlreadyExists, Client, FakeClock, Invalid, merge_patch, serves
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.relay.workers import ensure_crds, ensure_namespace
from jobrelay.relay.workers.install import crds
from jobrelay.relay.workers.multikueue import CLUSTERS, CONFIGS

from .fleet import Fleet
from .support import advance, running

KUEUE = Path(__file__).parents[4] / "shared" / "crds" / "kueue"
SECRET = {"location": "s", "locationType": "Secret"}


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Cluster(controllers="none") as cluster:
        made = cluster.client()
        await ensure_crds(made)
        yield made


def worker(spec: dict[str, Any], version: str = "v1beta2", name: str = "w1") -> dict[str, Any]:
    resource = CLUSTERS[version]
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}


def config(*clusters: str) -> dict[str, Any]:
    resource = CONFIGS["v1beta2"]
    spec = {"clusters": list(clusters)}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "c"}, "spec": spec}


async def test_both_kinds_are_served_and_nothing_is_created_twice(client: Client) -> None:
    for resource in (CLUSTERS["v1beta2"], *CONFIGS.values()):
        assert await serves(client, resource)
    assert await ensure_crds(client) == []


async def test_a_definition_that_is_there_is_left_alone(client: Client) -> None:
    name = crds()[0]["metadata"]["name"]
    patch = merge_patch({"metadata": {"annotations": {"by": "kueue"}}})
    before = await client.patch(CUSTOMRESOURCEDEFINITIONS, name, patch)
    await ensure_crds(client)
    assert (await client.get(CUSTOMRESOURCEDEFINITIONS, name)).resource_version == before.resource_version


async def test_clusters_are_not_served_as_v1beta1_where_nothing_converts_them(client: Client) -> None:
    assert not await serves(client, CLUSTERS["v1beta1"])


async def test_a_secret_is_meant_unless_said_otherwise(client: Client) -> None:
    made = await client.create(CLUSTERS["v1beta2"], worker({"clusterSource": {"kubeConfig": {"location": "s"}}}))
    assert made.decode()["spec"]["clusterSource"]["kubeConfig"] == SECRET


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"clusterSource": {}},
        {"kubeConfig": SECRET},
        {"clusterSource": {"kubeConfig": SECRET, "clusterProfileRef": {"name": "p"}}},
        {"clusterSource": {"kubeConfig": {"location": ""}}},
        {"clusterSource": {"kubeConfig": {"location": "x" * 257}}},
        {"clusterSource": {"kubeConfig": {"location": "s", "locationType": "Vault"}}},
    ],
)
async def test_a_worker_is_reached_in_exactly_one_way(client: Client, spec: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        await client.create(CLUSTERS["v1beta2"], worker(spec))


@pytest.mark.parametrize("clusters", [[], ["a", "a"], [f"w{n}" for n in range(21)], ["x" * 257]])
async def test_a_choice_names_each_worker_once(client: Client, clusters: list[str]) -> None:
    await client.create(CONFIGS["v1beta2"], config("b", "a"), dry_run=True)
    with pytest.raises(Invalid):
        await client.create(CONFIGS["v1beta2"], config(*clusters))


async def test_a_namespace_is_created_once(client: Client) -> None:
    assert await ensure_namespace(client, "jobrelay-system")
    assert not await ensure_namespace(client, "jobrelay-system")


async def _install_kueue(client: Client, *, only_old: bool = False) -> None:
    """Kueue's own definitions as its installer brings them, but without its conversion webhook."""
    for path in sorted(KUEUE.rglob("*multikueue*.yaml")):
        definition = yaml.load(path.read_bytes())
        definition["spec"].pop("conversion", None)
        if only_old:
            versions = [one for one in definition["spec"]["versions"] if one["name"] == "v1beta1"]
            definition["spec"]["versions"] = [one | {"storage": True} for one in versions]
        await client.create(CUSTOMRESOURCEDEFINITIONS, definition)


@pytest.mark.shared
@pytest.mark.skipif(not KUEUE.is_dir(), reason="no ../shared folder with Kueue's CRDs beside the repository")
@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
async def test_kueues_own_definitions_are_left_alone_and_used(clock: FakeClock, version: str) -> None:
    async with Cluster(controllers="none") as management, Cluster(controllers="none") as other:
        made = Fleet({"management": management, "w1": other}, clock)
        await _install_kueue(made.outside, only_old=version == "v1beta1")
        assert await ensure_crds(made.outside) == []
        await ensure_namespace(made.outside, "jobrelay-system")
        await made.secret("w1")
        kubeconfig = {"kubeConfig": {"location": "w1-secret", "locationType": "Secret"}}
        spec = kubeconfig if version == "v1beta1" else {"clusterSource": kubeconfig}
        await made.outside.create(CLUSTERS[version], worker(spec, version))
        registry = made.registry()
        async with running(registry.run()):
            await advance(clock, 5)
            assert registry.workers["w1"].connected
            found = (await made.outside.get(CLUSTERS[version], "w1")).decode()["status"]["conditions"]
            assert [one["status"] for one in found] == ["True", "True"]
        with pytest.raises(AlreadyExists):
            await made.outside.create(CUSTOMRESOURCEDEFINITIONS, crds()[0])
