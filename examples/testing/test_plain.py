"""Plain pytest, no client library: a Job is delegated to a fleet, and what a cluster answers is checked.

python -m pytest examples/testing/test_plain.py
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from jobrelay.kube import Invalid
from jobrelay.kube.resource import JOBS
from jobrelay.testing import EmbeddedCluster, EmbeddedFleet


def job(name: str, **annotations: str) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    spec = {"backoffLimit": 0, "template": {"metadata": {"annotations": annotations}, "spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def test_a_delegated_job_succeeds(jobrelay_fleet: EmbeddedFleet) -> None:
    submitted = jobrelay_fleet.relay.submit(job("train"))
    assert jobrelay_fleet.relay.wait(submitted, within=120).succeeded


def test_a_scripted_failure_comes_back(jobrelay_fleet: EmbeddedFleet) -> None:
    submitted = jobrelay_fleet.relay.submit(job("train", **{"jobrelay.dev/exit-code": "3"}))
    result = jobrelay_fleet.relay.wait(submitted, within=120)
    assert (result.succeeded, result.reason) == (False, "BackoffLimitExceeded")


def test_the_api_refuses_what_kubernetes_refuses(jobrelay_cluster: EmbeddedCluster) -> None:
    broken = job("train") | {"spec": {"parallelism": -1}}
    with pytest.raises(Invalid, match=r"spec\.parallelism"):
        jobrelay_cluster.call(lambda client: client.create(JOBS, broken, namespace=jobrelay_cluster.namespace))


@pytest.mark.usefixtures("jobrelay_kubeconfig")
def test_other_programs_find_the_cluster_by_kubeconfig(jobrelay_fleet: EmbeddedFleet) -> None:
    command = [sys.executable, "-m", "jobrelay", "get", "workers", "-o", "name"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert sorted(listed.split()) == [f"worker/{name}" for name in sorted(jobrelay_fleet.workers)]
