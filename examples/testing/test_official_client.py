"""The official Python client: `kubernetes.config` reads the kubeconfig of the test's own namespace.

python -m pytest examples/testing/test_official_client.py
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobrelay.testing import EmbeddedCluster

kubernetes = pytest.importorskip("kubernetes", reason="the official client is not installed: pip install kubernetes")


@pytest.fixture
def api(jobrelay_cluster: EmbeddedCluster) -> Iterator[kubernetes.client.BatchV1Api]:
    with kubernetes.config.new_client_from_config(str(jobrelay_cluster.kubeconfig)) as client:
        yield kubernetes.client.BatchV1Api(client)


def job(name: str) -> dict[str, object]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    return {"metadata": {"name": name}, "spec": {"template": {"spec": pod}}}


def test_a_job_completes(jobrelay_cluster: EmbeddedCluster, api: kubernetes.client.BatchV1Api) -> None:
    api.create_namespaced_job(jobrelay_cluster.namespace, job("train"))
    watch = kubernetes.watch.Watch()
    for event in watch.stream(api.list_namespaced_job, jobrelay_cluster.namespace, timeout_seconds=120):
        if event["object"].status.completion_time:
            watch.stop()
    assert api.read_namespaced_job_status("train", jobrelay_cluster.namespace).status.succeeded == 1


def test_every_test_has_a_namespace_of_its_own(
    jobrelay_cluster: EmbeddedCluster, api: kubernetes.client.BatchV1Api
) -> None:
    assert api.list_namespaced_job(jobrelay_cluster.namespace).items == []
