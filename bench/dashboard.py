"""The dashboard with 50,000 workloads: how long each page takes, from the request to the last byte.

A management cluster, the relay and the dashboard work on it, each in its own process but for the last, which is in this
one. So a page includes the way through the API server to the relay and back, over TLS.
"""

from __future__ import annotations

import asyncio
import pathlib
import statistics
import time
from typing import Final

import aiohttp
from yarl import URL

from bench.process import helper
from bench.relayfleet import RelayProcess, relay, servers
from bench.report import Figure
from jobrelay.kube import SystemClock, connect
from jobrelay.kube.resource import JOBS
from jobrelay.web.serving import local_dashboard

WORKLOADS: Final = 50_000
BATCH: Final = 10_000
CLIENTS: Final = 20
ROUNDS: Final = 9
TARGET: Final = 300.0  # milliseconds
PAGES: Final = {
    "overview": "/",
    "workloads": "/workloads",
    "workloads, searched and sorted": "/workloads?search=49&sort=-name",
    "workloads, the last page": "/workloads?page=1000&status=suspended",
    "one workload": "/workloads/{namespace}/job:{name}",
    "workers": "/workers",
}


def pages(folder: pathlib.Path) -> list[Figure]:
    """The median time of each page."""
    with servers(folder, [["management", "worker"]], "--memory") as (running,):
        management, worker = running.clusters
        with helper("bench.load", management.url, management.kubeconfig, str(CLIENTS)) as load:
            load.hear()
            load.ask(do="namespace")
            for first in range(0, WORKLOADS, BATCH):
                load.ask(do="create", first=first, count=BATCH)
        options = ("--api-listen=127.0.0.1:0", "--api-host=localhost", "--multikueue=off")
        with relay(management, [worker], *options) as ours:
            return asyncio.run(_measure(management.kubeconfig, ours))


async def _measure(kubeconfig: str, ours: RelayProcess) -> list[Figure]:
    async with connect(pathlib.Path(kubeconfig)) as client:
        one = (await client.call("GET", JOBS.path(), {"limit": 1})).decode()
        name, namespace = _field(one, "name"), _field(one, "namespace")
        async with (
            local_dashboard(client, "default", 0, SystemClock()) as url,
            aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session,
        ):
            await _get(session, URL(url))
            await _all_there(session, URL(url))
            return [
                await _page(session, URL(url).join(URL(path.format(namespace=namespace, name=name))), what, ours)
                for what, path in PAGES.items()
            ]


def _field(text: str, name: str) -> str:
    """The first field of this name in the metadata of a list's only object."""
    return text.partition('"items":')[2].partition(f'"{name}":"')[2].partition('"')[0]


async def _all_there(session: aiohttp.ClientSession, url: URL) -> None:
    """Waits until the relay knows all workloads."""
    async with asyncio.timeout(300):
        while f"{WORKLOADS:,}".replace(",", "\u202f") not in await _get(session, url.join(URL("/"))):
            await asyncio.sleep(1)


async def _get(session: aiohttp.ClientSession, url: URL) -> str:
    async with session.get(url) as answer:
        text = await answer.text()
        assert answer.status in (200, 503), text
        return text


async def _page(session: aiohttp.ClientSession, url: URL, what: str, ours: RelayProcess) -> Figure:
    taken, cpu, size = [], ours.cpu(), 0
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        size = len(await _get(session, url))
        taken.append((time.perf_counter() - begin) * 1e3)
    used = (ours.cpu() - cpu) / ROUNDS * 1e3
    note = f"{WORKLOADS:,} workloads; slowest {max(taken):.0f} ms, {used:.0f} ms CPU of the relay, {size / 1000:.0f} kB"
    return Figure(f"dashboard: {what}", statistics.median(taken), "ms", TARGET, note=note)
