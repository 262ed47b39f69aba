"""Tests of code that talks to Kubernetes, against an API that answers like the real one.

    python -m pytest examples/02_test_with_a_cluster.py

`cluster.kubeconfig` is a file for programs of any language; `cluster.client()` needs no socket.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, Invalid
from jobrelay.kube.resource import CRONJOBS


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Cluster() as cluster:
        yield cluster.client()


def cron_job(schedule: str) -> dict[str, object]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    return {
        "metadata": {"name": "nightly", "namespace": "default"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": {"spec": pod}}}},
    }


async def test_a_schedule_gets_its_defaults(client: Client) -> None:
    made = await client.create(CRONJOBS, cron_job("0 3 * * *"))
    assert made.decode()["spec"]["concurrencyPolicy"] == "Allow"


async def test_a_bad_schedule_is_refused(client: Client) -> None:
    with pytest.raises(Invalid, match=r"spec\.schedule"):
        await client.create(CRONJOBS, cron_job("at night"))
