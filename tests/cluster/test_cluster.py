"""A cluster as a value: what is kept, what is found again, and how it says that it cannot start."""

from __future__ import annotations

import asyncio
import json
import pathlib
import socket
import stat
from collections.abc import Iterator

import pytest

from jobrelay.cluster import Cluster
from jobrelay.cluster.errors import AlreadyRunning, FolderError, PortTaken
from jobrelay.kube import NotFound, connect
from jobrelay.kube.resource import CONFIGMAPS, NAMESPACES

CONFIG = {"metadata": {"name": "a", "namespace": "default"}}


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


async def test_a_fresh_cluster_has_its_namespaces() -> None:
    async with Cluster() as cluster:
        names = [item.name for item in (await cluster.client().list(NAMESPACES)).items]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


async def test_the_kubeconfig_is_private_and_leads_to_the_cluster() -> None:
    async with Cluster() as cluster:
        assert stat.S_IMODE(cluster.kubeconfig.stat().st_mode) == 0o600
        assert json.loads(cluster.kubeconfig.read_bytes())["clusters"][0]["cluster"]["server"] == cluster.url


async def test_objects_keys_and_port_are_found_again(tmp_path: pathlib.Path) -> None:
    async with Cluster("dev", tmp_path) as cluster:
        created = await cluster.client().create(CONFIGMAPS, CONFIG)
        first = (cluster.url, cluster.kubeconfig.read_bytes())
    async with Cluster("dev", tmp_path) as cluster:
        assert (cluster.url, cluster.kubeconfig.read_bytes()) == first
        found = await cluster.client().get(CONFIGMAPS, "a", "default")
    assert (found.uid, found.metadata.resource_version) == (created.uid, created.metadata.resource_version)


async def test_memory_keeps_no_objects(tmp_path: pathlib.Path) -> None:
    async with Cluster("dev", tmp_path, memory=True) as cluster:
        await cluster.client().create(CONFIGMAPS, CONFIG)
    async with Cluster("dev", tmp_path, memory=True) as cluster:
        with pytest.raises(NotFound):
            await cluster.client().get(CONFIGMAPS, "a", "default")


def test_a_cluster_that_never_starts_leaves_nothing() -> None:
    assert not Cluster().kubeconfig.parent.exists()


async def test_nothing_is_left_of_a_cluster_without_a_folder() -> None:
    async with Cluster() as cluster:
        folder = cluster.kubeconfig.parent
        assert folder.exists()
    assert not folder.exists()


async def test_a_taken_port_is_an_error_and_frees_the_folder(tmp_path: pathlib.Path, taken: int) -> None:
    with pytest.raises(PortTaken, match=f"port {taken} on 127.0.0.1 is taken"):
        await Cluster("dev", tmp_path, port=taken).start()
    async with Cluster("dev", tmp_path):
        pass


async def test_the_port_of_the_last_start_may_be_taken(tmp_path: pathlib.Path) -> None:
    async with Cluster("dev", tmp_path) as cluster:
        port = int(cluster.url.rpartition(":")[2])
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        with pytest.raises(PortTaken) as refused:
            await Cluster("dev", tmp_path).start()
    assert "had it at its last start" in refused.value.hint


async def test_a_cluster_starts_once_per_folder(tmp_path: pathlib.Path) -> None:
    async with Cluster("dev", tmp_path):
        with pytest.raises(AlreadyRunning):
            await Cluster("dev", tmp_path).start()


async def test_a_start_that_is_cancelled_frees_folder_and_port(tmp_path: pathlib.Path) -> None:
    starting = asyncio.ensure_future(Cluster("dev", tmp_path).start())
    await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait({starting})
    assert starting.cancelled()
    async with Cluster("dev", tmp_path):
        pass


async def test_a_broken_store_is_an_error(tmp_path: pathlib.Path) -> None:
    async with Cluster("dev", tmp_path):
        pass
    (tmp_path / "dev" / "store.sqlite").write_text("no longer a database" * 500)
    with pytest.raises(FolderError, match="cannot be opened"):
        await Cluster("dev", tmp_path).start()


@pytest.mark.parametrize("name", ["ca.key", "ca.crt", "apiserver.key", "serviceaccounts.key"])
async def test_broken_keys_are_an_error(tmp_path: pathlib.Path, name: str) -> None:
    async with Cluster("dev", tmp_path):
        pass
    (tmp_path / "dev" / "pki" / name).write_text("no longer a key")
    with pytest.raises(FolderError, match="cannot be used"):
        await Cluster("dev", tmp_path).start()


async def test_a_kubeconfig_that_cannot_be_written_is_an_error(tmp_path: pathlib.Path) -> None:
    (tmp_path / ".dev.kubeconfig.new").mkdir()
    with pytest.raises(FolderError, match="cannot be used"):
        await Cluster("dev", tmp_path).start()


@pytest.mark.parametrize("name", ["", "Dev", "a_b", "-a", "../a", "a" * 64])
def test_names_are_like_those_of_kubernetes(name: str) -> None:
    with pytest.raises(ValueError, match="cluster name"):
        Cluster(name)


async def test_a_cluster_that_is_stopped_twice_stays_stopped() -> None:
    cluster = Cluster()
    await cluster.start()
    await cluster.stop()
    await cluster.stop()
    with pytest.raises(RuntimeError, match="not running"):
        _ = cluster.api


async def test_the_kubeconfig_works_for_our_own_client() -> None:
    async with Cluster() as cluster, connect(cluster.kubeconfig) as client:
        assert "default" in [item.name for item in (await client.list(NAMESPACES)).items]
