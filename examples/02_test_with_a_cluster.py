"""Tests of code that talks to Kubernetes, against an API that answers like the real one. Plain pytest is enough:

    python -m pytest examples/02_test_with_a_cluster.py

`cluster.client()` needs no socket; `cluster.kubeconfig` is a file for programs in any language. With pytest-asyncio or
anyio, tests and fixtures can be coroutines, and `async with Cluster() as cluster:` replaces the two fixtures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, Invalid
from jobrelay.kube.resource import CRONJOBS


@pytest.fixture
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def client(loop: asyncio.Runner) -> Iterator[Client]:
    cluster = Cluster()
    loop.run(cluster.start())
    yield cluster.client()
    loop.run(cluster.stop())


def cron_job(schedule: str) -> dict[str, object]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    return {
        "metadata": {"name": "nightly", "namespace": "default"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": {"spec": pod}}}},
    }


def test_a_schedule_gets_its_defaults(loop: asyncio.Runner, client: Client) -> None:
    made = loop.run(client.create(CRONJOBS, cron_job("0 3 * * *")))
    assert made.decode()["spec"]["concurrencyPolicy"] == "Allow"


def test_a_bad_schedule_is_refused(loop: asyncio.Runner, client: Client) -> None:
    with pytest.raises(Invalid, match=r"spec\.schedule"):
        loop.run(client.create(CRONJOBS, cron_job("at night")))
