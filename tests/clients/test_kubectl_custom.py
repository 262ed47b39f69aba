"""kubectl with a kind that a definition adds."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from .kubectl import Kubectl
from .objects import widgets

pytestmark = pytest.mark.kubectl


@pytest.fixture(scope="module")
def group(admin: Kubectl) -> Iterator[str]:
    """The API group of a definition of widgets."""
    name = f"g{uuid.uuid4().hex[:6]}.example.com"
    admin("apply", "-f", "-", given=widgets(name))
    admin("wait", f"crd/widgets.{name}", "--for=condition=Established")
    yield name
    admin("delete", "crd", f"widgets.{name}")


@pytest.fixture
def widget(group: str) -> Any:
    def make(name: str, **spec: Any) -> dict[str, Any]:
        return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}

    return make


def test_it_is_found(kubectl: Kubectl, group: str) -> None:
    assert f"widgets.{group}" in kubectl("api-resources", f"--api-group={group}", "-o", "name").split()
    assert f"{group}/v1" in kubectl("api-versions").split()


def test_its_columns_and_defaults(kubectl: Kubectl, group: str, widget: Any) -> None:
    kubectl("create", "-f", "-", given=widget("w"))
    assert kubectl.rows("get", f"widgets.{group}") == [["NAME", "SIZE"], ["w", "1"]]


def test_it_is_explained(kubectl: Kubectl, group: str) -> None:
    text = kubectl("explain", f"widgets.{group}.spec")
    assert "What the widget should be." in text
    assert "size\t<integer>" in text
    assert "    How large." in text


def test_it_is_explained_recursively(kubectl: Kubectl, group: str) -> None:
    text = kubectl("explain", f"widgets.{group}", "--recursive")
    assert "colour\t<string>" in text


def test_wrong_values_are_refused(kubectl: Kubectl, widget: Any) -> None:
    error = kubectl.error("create", "-f", "-", given=widget("w", size=-1, colour="far too long"))
    assert "spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0" in error
    assert "spec.colour: Too long: may not be more than 10 bytes" in error


def test_rules_are_kept(kubectl: Kubectl, widget: Any) -> None:
    assert "spec: Invalid value: too large" in kubectl.error("create", "-f", "-", given=widget("w", size=100))


def test_unknown_fields_are_refused(kubectl: Kubectl, widget: Any) -> None:
    error = kubectl.error("create", "-f", "-", given=widget("w", weight=1))
    assert 'strict decoding error: unknown field "spec.weight"' in error


def test_apply_on_both_sides(kubectl: Kubectl, group: str, widget: Any) -> None:
    kubectl("apply", "-f", "-", given=widget("w", size=2, colour="red"))
    kubectl("apply", "-f", "-", given=widget("w", size=3))
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=widget("w", size=4))
    assert kubectl.value(".spec", f"widgets.{group}", "w") == '{"size":4}'


def test_patches(kubectl: Kubectl, group: str, widget: Any) -> None:
    kubectl("create", "-f", "-", given=widget("w"))
    kubectl("patch", f"widgets.{group}", "w", "--type=merge", "-p", '{"spec":{"size":5}}')
    error = kubectl.error("patch", f"widgets.{group}", "w", "--type=strategic", "-p", '{"spec":{"size":6}}')
    assert "application/strategic-merge-patch+json is not supported" in error


def test_status_and_scale(kubectl: Kubectl, group: str, widget: Any) -> None:
    kubectl("create", "-f", "-", given=widget("w"))
    kubectl("patch", f"widgets.{group}", "w", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Up"}}')
    kubectl("scale", f"widgets.{group}", "w", "--replicas=7")
    found = kubectl.object("get", f"widgets.{group}", "w")
    assert (found["spec"]["size"], found["status"]["phase"]) == (7, "Up")


def test_selectable_fields(kubectl: Kubectl, group: str, widget: Any) -> None:
    kubectl("create", "-f", "-", given=[widget("a", colour="red"), widget("b", colour="blue")])
    names = kubectl("get", f"widgets.{group}", "--field-selector=spec.colour=blue", "-o", "name")
    assert names == f"widget.{group}/b\n"


def test_describe_and_watch(kubectl: Kubectl, group: str, widget: Any) -> None:
    kubectl("create", "-f", "-", given=widget("w", size=3))
    assert "Size:  3" in kubectl("describe", f"widgets.{group}", "w")
    with kubectl.following("get", f"widgets.{group}", "-w") as lines:
        assert [next(lines).split() for _ in range(2)] == [["NAME", "SIZE"], ["w", "3"]]
        kubectl("patch", f"widgets.{group}", "w", "--type=merge", "-p", '{"spec":{"size":4}}')
        assert next(lines).split() == ["w", "4"]


def test_the_definition_itself(kubectl: Kubectl, group: str) -> None:
    assert kubectl.rows("get", "crd", f"widgets.{group}")[0] == ["NAME", "CREATED AT"]
    assert "Established" in kubectl("describe", "crd", f"widgets.{group}")
    assert "KIND:       CustomResourceDefinition" in kubectl("explain", "crd.spec")
