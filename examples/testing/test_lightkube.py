"""lightkube: a client from the kubeconfig, in the namespace of the test.

python -m pytest examples/testing/test_lightkube.py
"""

from __future__ import annotations

import pytest

from jobrelay.testing import EmbeddedFleet

lightkube = pytest.importorskip("lightkube", reason="lightkube is not installed: pip install lightkube")
Job = pytest.importorskip("lightkube.resources.batch_v1").Job


@pytest.fixture
def client(jobrelay_fleet: EmbeddedFleet) -> lightkube.Client:
    return lightkube.Client(config=lightkube.KubeConfig.from_file(jobrelay_fleet.kubeconfig))


def job(name: str) -> Job:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    spec = {"managedBy": "jobrelay.dev/relay", "template": {"spec": pod}}
    return Job.from_dict({"metadata": {"name": name}, "spec": spec})


def test_a_delegated_job_gets_its_status_back(client: lightkube.Client) -> None:
    client.create(job("train"))
    done = client.wait(Job, "train", for_conditions=["Complete"], raise_for_conditions=["Failed"])
    assert done.status.succeeded == 1


def test_the_mirror_is_on_one_worker(jobrelay_fleet: EmbeddedFleet, client: lightkube.Client) -> None:
    client.create(job("train"))
    client.wait(Job, "train", for_conditions=["Complete"])
    workers = [
        lightkube.Client(config=lightkube.KubeConfig.from_file(path)) for path in jobrelay_fleet.workers.values()
    ]
    assert sum(len(list(worker.list(Job))) for worker in workers) == 1
