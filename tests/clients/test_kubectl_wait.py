"""kubectl wait: for conditions, values, creation and deletion."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .kubectl import Kubectl
from .objects import config_map, pod

pytestmark = pytest.mark.kubectl

READY = '{"status":{"conditions":[{"type":"Ready","status":"True"}],"phase":"Running"}}'


@contextmanager
def meanwhile(kubectl: Kubectl, *arguments: str) -> Iterator[None]:
    """Runs another kubectl while the body waits."""
    other = threading.Thread(target=kubectl, args=arguments)
    other.start()
    yield
    other.join()


@pytest.fixture
def waiting(kubectl: Kubectl) -> Kubectl:
    """kubectl in a namespace with a pod."""
    kubectl("create", "-f", "-", given=pod("p"))
    return kubectl


def test_a_condition_that_holds(waiting: Kubectl) -> None:
    waiting("patch", "pod", "p", "--subresource=status", "-p", READY)
    assert waiting("wait", "pod/p", "--for=condition=Ready") == "pod/p condition met\n"


def test_a_condition_that_comes(waiting: Kubectl) -> None:
    with meanwhile(waiting, "patch", "pod", "p", "--subresource=status", "-p", READY):
        assert waiting("wait", "pod", "-l", "app=p", "--for=condition=Ready") == "pod/p condition met\n"


def test_a_condition_that_does_not_come(waiting: Kubectl) -> None:
    error = waiting.error("wait", "pod/p", "--for=condition=Ready", "--timeout=1s")
    assert "timed out waiting for the condition on pods/p" in error


def test_a_condition_that_is_false(waiting: Kubectl) -> None:
    waiting("patch", "pod", "p", "--subresource=status", "-p", READY.replace("True", "False"))
    assert waiting("wait", "pod/p", "--for=condition=ready=false") == "pod/p condition met\n"


def test_a_value(waiting: Kubectl) -> None:
    with meanwhile(waiting, "patch", "pod", "p", "--subresource=status", "-p", READY):
        assert waiting("wait", "pod/p", "--for=jsonpath={.status.phase}=Running") == "pod/p condition met\n"


def test_deletion(waiting: Kubectl) -> None:
    with meanwhile(waiting, "delete", "pod", "p"):
        waiting("wait", "pod/p", "--for=delete")
    assert "NotFound" in waiting.error("get", "pod", "p")


def test_deletion_of_what_is_not_there(kubectl: Kubectl) -> None:
    assert kubectl("wait", "pod/x", "--for=delete") == ""


def test_creation(kubectl: Kubectl) -> None:
    with meanwhile(kubectl, "create", "configmap", "a"):
        assert kubectl("wait", "configmap/a", "--for=create") == "configmap/a condition met\n"


def test_all_of_a_kind(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[config_map(name, labels={"x": "1"}) for name in "ab"])
    answer = kubectl("wait", "cm", "-l", "x=1", "--for=jsonpath={.data.colour}=red")
    assert answer.splitlines() == ["configmap/a condition met", "configmap/b condition met"]


def test_nothing_to_wait_for(kubectl: Kubectl) -> None:
    assert "no matching resources found" in kubectl.error("wait", "pods", "--all", "--for=condition=Ready")
