"""kubectl logs, exec and attach on containers that are processes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from .kubectl import Kubectl

pytestmark = pytest.mark.kubectl


@pytest.fixture
def kubectl(process_kubectl: Kubectl) -> Kubectl:
    return process_kubectl


def run(kubectl: Kubectl, script: str, phase: str = "Running", **container: Any) -> None:
    """Makes pod "p" and waits for a phase of it."""
    main = {"name": "main", "image": "busybox", "command": ["sh", "-c", script], **container}
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"restartPolicy": "Never", "containers": [main], "terminationGracePeriodSeconds": 1},
    }  # fmt: skip
    kubectl("create", "-f", "-", given=pod)
    kubectl("wait", "pod/p", f"--for=jsonpath={{.status.phase}}={phase}", "--timeout=60s")


def test_the_last_lines_of_a_log(kubectl: Kubectl) -> None:
    run(kubectl, "seq 10", "Succeeded")
    assert kubectl("logs", "p", "--tail=2") == "9\n10\n"
    assert kubectl("logs", "p", "--limit-bytes=3") == "1\n2"


def test_a_log_since_a_moment(kubectl: Kubectl) -> None:
    run(kubectl, "echo old; sleep 4; echo new", "Succeeded")
    assert kubectl("logs", "p", "--since=1h") == "old\nnew\n"
    moment = kubectl.value(".status.containerStatuses[0].state.terminated.finishedAt", "pod", "p")
    assert kubectl("logs", "p", f"--since-time={moment}") == "new\n"


def test_a_log_with_timestamps(kubectl: Kubectl) -> None:
    run(kubectl, "echo line", "Succeeded")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z line\n", kubectl("logs", "p", "--timestamps"))


def test_there_is_no_previous_log_of_a_first_run(kubectl: Kubectl) -> None:
    run(kubectl, "true", "Succeeded")
    error = kubectl.error("logs", "p", "--previous")
    assert 'previous terminated container "main" in pod "p" not found' in error


def test_a_command_gets_the_containers_variables(kubectl: Kubectl) -> None:
    run(kubectl, "sleep 1000", env=[{"name": "COLOUR", "value": "red"}])
    assert kubectl("exec", "p", "--", "sh", "-c", "echo $COLOUR") == "red\n"


def test_a_command_reads_what_is_typed(kubectl: Kubectl) -> None:
    run(kubectl, "sleep 1000")
    assert kubectl("exec", "-i", "p", "--", "wc", "-c", given="x" * 100_000).strip() == "100000"


def test_a_commands_exit_code_is_kubectls(kubectl: Kubectl) -> None:
    run(kubectl, "sleep 1000")
    done = kubectl.run("exec", "p", "--", "sh", "-c", "echo aside >&2; exit 42")
    assert (done.returncode, done.stdout) == (42, "")
    assert done.stderr == "aside\ncommand terminated with exit code 42\n"


def test_a_pod_that_has_ended_takes_no_commands(kubectl: Kubectl) -> None:
    run(kubectl, "true", "Succeeded")
    error = kubectl.error("exec", "p", "--", "true")
    assert "cannot exec into a container in a completed pod; current phase is Succeeded" in error


def test_attach_shows_what_comes(kubectl: Kubectl) -> None:
    run(kubectl, "i=0; while true; do i=$((i+1)); echo line $i; sleep 0.2; done")
    with kubectl.following("attach", "p") as lines:
        found = [next(lines).split()[0] for _ in range(2)]
    assert found == ["line", "line"]


def test_attach_carries_what_is_typed(kubectl: Kubectl) -> None:
    run(kubectl, "read line; echo got $line; sleep 1", stdin=True)
    assert "got this\n" in kubectl("attach", "-i", "p", given="this\n")


def test_run_attaches_and_gives_back_the_exit_code(kubectl: Kubectl) -> None:
    words = (
        "--image=busybox",
        "--restart=Never",
        "-i",
        "--rm",
        "--quiet",
        "--command",
        "--",
        "sh",
        "-c",
        "wc -l; exit 5",
    )
    done = kubectl.run("run", "p", *words, given="one\ntwo\n")
    assert (done.returncode, done.stdout.split()[0]) == (5, "2")
    assert "NotFound" in kubectl.error("get", "pod", "p")
