"""Jobs and CronJobs that really run, by kubectl alone."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import pytest

from .kubectl import Kubectl

pytestmark = pytest.mark.kubectl

SECONDS = "--timeout=60s"
rooted = pytest.mark.skipif(os.getuid() != 0, reason="volumes at their mount paths need root or user namespaces")


@pytest.fixture
def kubectl(process_kubectl: Kubectl) -> Kubectl:
    return process_kubectl


def job(script: str, *, container: dict[str, Any] | None = None, pod: dict[str, Any] | None = None, **spec: Any) -> Any:
    """Job "j" of one shell script."""
    main = {"name": "main", "image": "busybox", "command": ["sh", "-c", script], **(container or {})}
    template = {"spec": {"restartPolicy": "Never", "containers": [main], **(pod or {})}}
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template, **spec},
    }  # fmt: skip


def complete(kubectl: Kubectl) -> None:
    kubectl("wait", "job/j", "--for=condition=complete", SECONDS)


def running(kubectl: Kubectl) -> None:
    kubectl("wait", "pod", "-l", "job-name=j", "--for=create", SECONDS)
    kubectl("wait", "pod", "-l", "job-name=j", "--for=jsonpath={.status.phase}=Running", SECONDS)


def test_a_job_from_its_creation_to_its_log(kubectl: Kubectl) -> None:
    kubectl("create", "job", "j", "--image=busybox", "--", "sh", "-c", "echo hello")
    complete(kubectl)
    assert kubectl("logs", "job/j") == "hello\n"
    assert kubectl.rows("get", "job", "j")[1][:3] == ["j", "Complete", "1/1"]


def test_a_log_is_followed_to_its_end(kubectl: Kubectl, tmp_path: pathlib.Path) -> None:
    kubectl("create", "-f", "-", given=job(f"echo one; until [ -e {tmp_path}/go ]; do sleep 0.1; done; echo two"))
    running(kubectl)
    with kubectl.following("logs", "-f", "job/j") as lines:
        assert next(lines) == "one\n"
        (tmp_path / "go").touch()
        assert list(lines) == ["two\n"]


def test_an_indexed_job_tells_each_pod_its_index(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=job("echo $JOB_COMPLETION_INDEX", completions=3, parallelism=3,
                                           completionMode="Indexed"))  # fmt: skip
    complete(kubectl)
    assert sorted(kubectl("logs", "-l", "job-name=j").split()) == ["0", "1", "2"]
    assert kubectl.value(".status.completedIndexes", "job", "j") == "0-2"


def test_a_job_that_fails_too_often(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=job("exit 3", backoffLimit=0))
    kubectl("wait", "job/j", "--for=condition=failed", SECONDS)
    assert kubectl.value(".status.conditions[?(@.type=='Failed')].reason", "job", "j") == "BackoffLimitExceeded"
    assert kubectl.value(".items[0].status.containerStatuses[0].state.terminated.exitCode", "pods") == "3"


def test_a_container_that_fails_is_restarted_and_its_last_log_kept(kubectl: Kubectl, tmp_path: pathlib.Path) -> None:
    script = f"echo run; test -e {tmp_path}/again || {{ touch {tmp_path}/again; exit 1; }}"
    kubectl("create", "-f", "-", given=job(script, pod={"restartPolicy": "OnFailure"}))
    complete(kubectl)
    assert kubectl.value(".items[0].status.containerStatuses[0].restartCount", "pods") == "1"
    assert kubectl("logs", "job/j", "--previous") == "run\n"


def test_a_container_that_fails_again_waits(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=job("exit 1", pod={"restartPolicy": "OnFailure"}))
    kubectl("wait", "pod", "-l", "job-name=j", "--for=create", SECONDS)
    state = "{.status.containerStatuses[0].state.waiting.reason}"
    kubectl("wait", "pod", "-l", "job-name=j", f"--for=jsonpath={state}=CrashLoopBackOff", SECONDS)
    with kubectl.following("get", "events", "--watch") as lines:
        assert any("Back-off restarting failed container main in pod j-" in line for line in lines)


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_deleting_a_job_ends_its_processes(kubectl: Kubectl, tmp_path: pathlib.Path, cascade: str) -> None:
    kubectl("create", "-f", "-", given=job(f"trap 'touch {tmp_path}/ended; exit 0' TERM; sleep 1000 & wait"))
    running(kubectl)
    kubectl("delete", "job", "j", f"--cascade={cascade}")
    kubectl("wait", "pod", "-l", "job-name=j", "--for=delete", SECONDS)
    assert (tmp_path / "ended").exists()


def test_orphaned_pods_go_on(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=job("sleep 1000"))
    running(kubectl)
    kubectl("delete", "job", "j", "--cascade=orphan")
    assert kubectl.value(".items[*].status.phase", "pods") == "Running"
    assert kubectl.value(".items[*].metadata.ownerReferences", "pods") == ""
    kubectl("delete", "pods", "--all", "--grace-period=1")


def test_a_process_that_ignores_the_polite_signal_is_killed(kubectl: Kubectl, tmp_path: pathlib.Path) -> None:
    script = f"trap 'touch {tmp_path}/asked' TERM; while true; do sleep 1; done"
    kubectl("create", "-f", "-", given=job(script, pod={"terminationGracePeriodSeconds": 2}))
    running(kubectl)
    kubectl("delete", "job", "j", "--cascade=foreground")
    assert (tmp_path / "asked").exists()


def test_init_containers_come_first(kubectl: Kubectl, tmp_path: pathlib.Path) -> None:
    inits = [
        {"name": name, "image": "busybox", "command": ["sh", "-c", f"echo {name} >> {tmp_path}/order"]}
        for name in ("first", "second")
    ]
    kubectl("create", "-f", "-", given=job(f"cat {tmp_path}/order", pod={"initContainers": inits}))
    complete(kubectl)
    assert kubectl("logs", "job/j") == "first\nsecond\n"


@rooted
def test_config_maps_and_secrets_are_at_their_mount_paths(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "settings", "--from-literal=colour=red")
    kubectl("create", "secret", "generic", "keys", "--from-literal=key=hidden")
    volumes = [
        {"name": "a", "configMap": {"name": "settings"}},
        {"name": "b", "secret": {"secretName": "keys"}},
    ]
    mounts = [{"name": "a", "mountPath": "/etc/settings"}, {"name": "b", "mountPath": "/run/keys", "readOnly": True}]
    script = "cat /etc/settings/colour /run/keys/key"
    kubectl("create", "-f", "-", given=job(script, container={"volumeMounts": mounts}, pod={"volumes": volumes}))
    complete(kubectl)
    assert kubectl("logs", "job/j") == "redhidden"


def test_a_job_from_a_cron_job(kubectl: Kubectl) -> None:
    words = ("--image=busybox", "--schedule=0 0 1 1 *", "--", "sh", "-c", "echo ticked")
    kubectl("create", "cronjob", "x", *words)
    kubectl("create", "job", "j", "--from=cronjob/x")
    complete(kubectl)
    assert kubectl("logs", "job/j") == "ticked\n"
    assert kubectl.value(".metadata.ownerReferences[0].kind", "job", "j") == "CronJob"


def test_the_node_says_that_it_pulls_no_images(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=job("true"))
    complete(kubectl)
    assert "Images are not pulled" in kubectl("get", "events", "--all-namespaces")
