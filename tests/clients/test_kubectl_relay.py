"""Delegated Jobs as a user sees them: kubectl on a fleet of clusters over HTTPS, with real processes."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import jobrelay

from .kubectl import Kubectl

pytestmark = pytest.mark.kubectl


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """Of a fleet with two workers; a worker that is gone for three seconds is lost."""
    path = tmp_path_factory.mktemp("fleet")
    command = [sys.executable, "-m", "jobrelay", "up", "--workers", "2", "--memory", "--worker-lost-timeout", "3s"]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(jobrelay.__file__).parents[1])}
    process = subprocess.Popen([*command, "--dir", str(path)], stdout=subprocess.PIPE, text=True, env=environment)
    with process:
        assert process.stdout is not None
        assert any(line.startswith("fleet ready") for line in process.stdout)
        yield path
        process.terminate()
        process.stdout.read()


@pytest.fixture(scope="module")
def management(program: pathlib.Path, folder: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(program, folder / "management.kubeconfig", tmp_path_factory.mktemp("home"))


def job(name: str, script: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", script]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"managedBy": "jobrelay.dev/relay", "template": template, **spec},
    }


def cluster(management: Kubectl, name: str) -> str:
    annotations = management.object("get", "job", name)["metadata"]["annotations"]
    return str(json.loads(annotations["jobrelay.dev/assignment"])["cluster"])


def test_a_delegated_job_runs_on_a_worker_and_everything_is_seen_on_the_one_job(
    management: Kubectl, folder: pathlib.Path
) -> None:
    management("create", "-f", "-", given=job("hello", "echo hello from $HOSTNAME; sleep 1", completions=2))
    management("wait", "--for=condition=complete", "job/hello", "--timeout=60s")
    status = management.object("get", "job", "hello")["status"]
    assert (status["succeeded"], status.get("active", 0)) == (2, 0)
    worker = management.using(folder / f"{cluster(management, 'hello')}.kubeconfig")
    assert "hello from hello-" in worker("logs", "job/hello")
    assert management("get", "pods") == ""


def test_a_failing_job_says_why(management: Kubectl) -> None:
    management("create", "-f", "-", given=job("broken", "exit 3", backoffLimit=0))
    management("wait", "--for=condition=failed", "job/broken", "--timeout=60s")
    conditions = management.object("get", "job", "broken")["status"]["conditions"]
    assert {one["reason"] for one in conditions} == {"BackoffLimitExceeded"}


def test_the_deletion_of_a_job_ends_its_processes(management: Kubectl, folder: pathlib.Path) -> None:
    management("create", "-f", "-", given=job("long", "sleep 1000"))
    management("wait", "--for=jsonpath={.status.ready}=1", "job/long", "--timeout=60s")
    worker = management.using(folder / f"{cluster(management, 'long')}.kubeconfig")
    management("delete", "job", "long")
    worker("wait", "--for=delete", "job/long", "--timeout=60s")
    worker("wait", "--for=delete", "pod", "-l", "job-name=long", "--timeout=60s")


def test_a_standard_job_runs_on_the_management_cluster(management: Kubectl) -> None:
    management("create", "job", "here", "--image=busybox", "--", "sh", "-c", "echo here")
    management("wait", "--for=condition=complete", "job/here", "--timeout=60s")
    assert "here" in management("logs", "job/here")


def test_a_killed_worker_loses_its_jobs_to_the_other(management: Kubectl, folder: pathlib.Path) -> None:
    management("create", "-f", "-", given=job("moving", "sleep 6; echo done"))
    management("wait", "--for=jsonpath={.status.ready}=1", "job/moving", "--timeout=60s")
    killed = cluster(management, "moving")
    os.kill(int((folder / f"{killed}.pid").read_text()), signal.SIGKILL)
    management("wait", "--for=condition=complete", "job/moving", "--timeout=60s")
    assert cluster(management, "moving") != killed
    reasons = {event["reason"] for event in management.object("events", "--for", "job/moving")["items"]}
    assert "Redispatched" in reasons
