"""One worker cannot fill the relay's memory, stop its loop or send it elsewhere."""

from __future__ import annotations

import asyncio
import gzip
import os
from pathlib import Path

import pytest
from aiohttp import web

from jobrelay.kube import Connection, FakeClock, ProtocolError, Request, merge_patch
from jobrelay.kube.credentials import TokenFile
from jobrelay.kube.errors import CredentialsError
from jobrelay.kube.exec_plugin import API_VERSIONS, ExecConfig, ExecPlugin
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import JOBS, NODES
from jobrelay.relay.workers import RejectedKubeconfig
from jobrelay.relay.workers.access import from_file, from_text
from jobrelay.relay.workers.bounds import Bounds
from jobrelay.relay.workers.conditions import conditions
from jobrelay.relay.workers.kubeconfig_file import read_foreign
from tests.kube.serving import serving

from .support import advance, job, kubeconfig, node, settle, worker


async def test_too_many_mirrors_set_a_worker_aside_until_there_are_fewer(clock: FakeClock) -> None:
    async with worker(clock, bounds=Bounds(max_mirrors=3)) as w:
        for number in range(3):
            await w.client.create(JOBS, job(f"j{number}"))
        await settle(clock)
        assert w.link.connected
        await w.client.create(JOBS, job("one-more"))
        await settle(clock)
        assert not w.link.connected
        assert w.link.reason == "it is set aside: it has more than 3 mirrors"
        assert next(entry[1:] for entry in conditions(w.link)) == ("False", "ClientConnectionFailed", w.link.reason)
        await advance(clock, 300)
        assert not w.link.connected
        assert w.link.reason == "it is set aside: it has more than 3 mirrors"
        assert len(w.link.mirrors[JOBS]) == 3
        await w.client.delete(JOBS, "one-more", "default", propagation="Background")
        await advance(clock, 60)
        assert w.link.connected


async def test_it_is_not_connected_again_while_there_are_too_many(clock: FakeClock) -> None:
    async with worker(clock, bounds=Bounds(max_mirrors=3)) as w:
        w.faults.partition()
        await settle(clock)
        for number in range(5):
            await w.client.create(JOBS, job(f"j{number}"))
        w.faults.heal()
        await advance(clock, 5)
        seen: set[bool] = set()
        w.link.subscribe(lambda: seen.add(w.link.connected))
        await advance(clock, 200)
        assert seen == {False}
        assert len(w.link.mirrors[JOBS]) <= 3


async def test_huge_mirrors_set_a_worker_aside(clock: FakeClock) -> None:
    async with worker(clock, bounds=Bounds(max_object_bytes=10_000)) as w:
        await w.client.create(JOBS, job("small"))
        await settle(clock)
        assert w.link.connected
        note = merge_patch({"metadata": {"annotations": {"note": "x" * 10_000}}})
        await w.client.patch(JOBS, "small", note, "default")
        await settle(clock)
        assert not w.link.connected
        assert w.link.reason.startswith("it is set aside: one of its mirrors, default/small, has 1")
        assert all(len(obj.raw) < 10_000 for obj in w.link.mirrors[JOBS])


async def test_many_bytes_set_a_worker_aside(clock: FakeClock) -> None:
    async with worker(clock, bounds=Bounds(max_mirror_bytes=5_000)) as w:
        for number in range(20):
            await w.client.create(JOBS, job(f"j{number}"))
        await settle(clock)
        assert w.link.reason == "it is set aside: its mirrors take more than 5000 bytes"
        assert sum(len(obj.raw) for obj in w.link.mirrors[JOBS]) <= 5_000


async def test_too_many_nodes_set_a_worker_aside(clock: FakeClock) -> None:
    async with worker(clock, bounds=Bounds(max_nodes_and_pods=2)) as w:
        for number in range(3):
            await w.client.create(NODES, node(f"n{number}"))
        await advance(clock, 5)
        assert not w.link.connected
        assert w.link.reason == "it is set aside: it has more than 2 nodes and pods"


async def test_an_inflated_answer_is_not_unpacked() -> None:
    async def inflated(request: web.Request) -> web.StreamResponse:
        return web.Response(body=gzip.compress(bytes(50_000_000)), headers={"Content-Encoding": "gzip"})

    async with serving(inflated) as url, NetworkTransport(Connection(url)) as transport:
        with pytest.raises(ProtocolError, match="compressed"):
            await transport.send(Request("GET", "/apis/batch/v1/jobs"))


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize("read", [from_file, lambda path: read_foreign(path, frozenset())])
@pytest.mark.parametrize("what", ["pipe", "/dev/zero"])
async def test_only_regular_files_are_read(pipe: Path, read: object, what: str) -> None:
    path = pipe if what == "pipe" else Path(what)
    found = await asyncio.wait_for(asyncio.to_thread(read, path), 5)  # type: ignore[arg-type]
    assert isinstance(found, RejectedKubeconfig)
    assert "it is not a regular file" in found.message


async def test_files_that_a_kubeconfig_names_are_regular_too(pipe: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_bytes(kubeconfig({"certificate-authority": "pipe"}))
    found = await asyncio.wait_for(asyncio.to_thread(from_file, config), 5)
    assert isinstance(found, RejectedKubeconfig)
    assert "it is not a regular file" in found.message
    with pytest.raises(CredentialsError, match="it is not a regular file"):
        await asyncio.wait_for(TokenFile(pipe).current(), 5)


async def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_bytes(b"#" * 1024 * 1025)
    found = from_file(config)
    assert isinstance(found, RejectedKubeconfig)
    assert "it is larger than 1048576 bytes" in found.message


@pytest.mark.parametrize("proxy", ["http://proxy:3128", "socks5://proxy", "file:///etc/passwd"])
def test_a_kubeconfig_of_somebody_else_names_no_proxy(proxy: str) -> None:
    found = from_text(kubeconfig({"proxy-url": proxy}))
    assert isinstance(found, RejectedKubeconfig)
    assert (found.reason, "proxy-url is not allowed" in found.message) == ("InsecureKubeConfig", True)


async def test_the_output_of_a_plugin_is_bounded() -> None:
    endless = ExecConfig("yes", API_VERSIONS[0], interactive_mode="Never")
    with pytest.raises(CredentialsError, match="printed more than 1048576 bytes"):
        await asyncio.wait_for(ExecPlugin(endless).current(), 20)
