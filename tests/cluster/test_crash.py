"""`kill -9` under load, many times: what was acknowledged is there, and nothing is there by half."""

from __future__ import annotations

import asyncio
import os
import pathlib
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from jobrelay.cluster.store import SqliteBackend, Store
from jobrelay.kube import Client, TransportError, connect
from jobrelay.kube.resource import CONFIGMAPS

from .crashing import NUMBERS, RESOURCE, text_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
STORE_KILLS = 15
WRITERS = 8
SERVER_KILLS = int(os.environ.get("JOBRELAY_KILLS", "4"))


def write_until_killed(store: pathlib.Path, acknowledgements: int) -> dict[str, tuple[int, str]]:
    """Runs a writer, kills it after some acknowledgements, and returns the last one of each pair."""
    command = [sys.executable, "-m", "tests.cluster.crashing", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(acknowledgements)]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines(keepends=True)
    whole = [line.split() for line in lines if line.endswith("\n")]
    return {number: (int(version), state) for number, version, state in whole}


def check_pairs(store: Store, acknowledged: dict[str, tuple[int, str]]) -> None:
    for number in map(str, range(NUMBERS)):
        left, right = (store.get(RESOURCE, side, number) for side in ("left", "right"))
        assert (left and left.raw) == (right and right.raw)
        version, state = acknowledged.get(number, (0, "gone"))
        if right is None:
            assert state == "gone" or store.committed > version
        else:
            assert right.version >= version
            assert right.raw == text_of(int(number), int(right.raw.partition(b";")[0].split(b":")[1]))


def test_a_store_survives_being_killed(tmp_path: pathlib.Path) -> None:
    chance, path = random.Random(7), tmp_path / "store.sqlite"
    highest, acknowledged = 0, {}
    for _ in range(STORE_KILLS):
        acknowledged |= write_until_killed(path, chance.randrange(1, 400))
        store = Store(SqliteBackend(path))
        highest = max(highest, *(version for version, _ in acknowledged.values()))
        assert store.committed >= highest
        check_pairs(store, acknowledged)
        highest = store.committed
        store.close()


@asynccontextmanager
async def running_server(folder: pathlib.Path) -> AsyncIterator[asyncio.subprocess.Process]:
    command = [sys.executable, "-m", "jobrelay", "cluster", "start", "dev", "--dir", str(folder)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=ENVIRONMENT)
    assert process.stdout is not None
    assert (await process.stdout.readline()).startswith(b"dev ready")
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


class Writers:
    """Clients that increment their own objects, and remember what they sent and what was acknowledged."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, int] = {}
        self.asked: dict[str, int] = {}
        self.versions: list[int] = []

    async def write(self, client: Client, name: str) -> None:
        while True:
            self.asked[name] = number = max(self.asked.get(name, 0), self.acknowledged.get(name, 0)) + 1
            data = {f"k{index}": str(number) for index in range(50)}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
            try:
                made = await client.apply(CONFIGMAPS, body | {"data": data}, field_manager="w", force=True)
            except TransportError:
                return
            self.acknowledged[name] = number
            self.versions.append(int(made.metadata.resource_version))

    async def check(self, client: Client) -> None:
        found = await client.list(CONFIGMAPS, "default")
        assert int(found.resource_version) >= max(self.versions)
        kept = {item.name: item.decode()["data"] for item in found.items if item.name.startswith("w")}
        for name, number in self.acknowledged.items():
            values = set(kept[name].values())
            assert len(values) == 1, "an object is there by half"
            assert number <= int(values.pop()) <= self.asked[name]


async def test_a_server_survives_being_killed(tmp_path: pathlib.Path) -> None:
    chance, clients = random.Random(7), Writers()
    for _ in range(SERVER_KILLS):
        async with running_server(tmp_path) as process, connect(tmp_path / "dev.kubeconfig") as client:
            if clients.versions:
                await clients.check(client)
            enough = len(clients.versions) + chance.randrange(20, 300)
            writing = [asyncio.create_task(clients.write(client, f"w{number}")) for number in range(WRITERS)]
            while len(clients.versions) < enough:
                await asyncio.sleep(0.01)
            process.kill()
            await asyncio.gather(*writing)
    async with running_server(tmp_path), connect(tmp_path / "dev.kubeconfig") as client:
        await clients.check(client)
