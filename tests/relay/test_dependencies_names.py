"""Copies as values: their names, their contents, how they are recognised, and what mirrors say about them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jobrelay.kube import Object
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import SECRETS, SERVICEACCOUNTS
from jobrelay.relay.dependencies.copies import (
    RESOURCES,
    Copy,
    CopyFailed,
    has_contents,
    is_copy,
    is_unchanged,
    make_copy,
)
from jobrelay.relay.dependencies.renaming import COPIES, copies_of, mirror_patch, with_copies
from jobrelay.relay.proofs import ProofKeys
from jobrelay.workloads import ObjectName
from jobrelay.workloads.names import ORIGIN, PROOF
from tests.relay.snapshots import ADAPTER, job
from tests.relay.test_dependencies import SETTINGS, TOKEN, template
from tests.workloads.jobs import PARAMETERS

KEYS = ProofKeys([b"k" * 32])
CLUSTER = "cluster-uid"


def obj(name: str, **fields: Any) -> Object:
    metadata = {"name": name, "namespace": "team", "uid": "u", "resourceVersion": "1"}
    return decode_object(msgspec.json.encode({"metadata": metadata | fields.pop("metadata", {}), **fields}))


def made(of: ObjectName = SETTINGS, keys: ProofKeys = KEYS, cluster: str = CLUSTER, **fields: Any) -> Copy:
    return make_copy(obj(of.name, **(fields or {"data": {"a": "1"}})), of, keys, "tests", cluster)


def stored(copy: Copy, **changes: Any) -> Object:
    """A copy as its worker has it."""
    return decode_object(msgspec.json.encode(copy.body | changes))


def recognised(
    found: Object, target: ObjectName, keys: ProofKeys = KEYS, *clusters: str, origin: str = "tests"
) -> bool:
    return is_copy(found, target, keys, origin, clusters or (CLUSTER,))


def test_equal_contents_have_equal_names_on_every_cluster_and_others_have_others() -> None:
    assert made().target == made(cluster="another").target
    assert made(data={"a": "2"}).target != made().target
    assert made(data={"a": "1"}, metadata={"labels": {"x": "y"}}, immutable=True).target == made().target


def test_the_name_cannot_be_guessed_from_the_contents() -> None:
    assert made(keys=ProofKeys([b"other key" * 8])).target != made().target


@pytest.mark.parametrize("length", [1, 200, 242, 243, 253])
def test_names_are_bounded_and_valid(length: int) -> None:
    name = made(SETTINGS._replace(name="a" * (length - 1) + "b")).target.name
    assert len(name) <= 253
    assert name.rpartition("-")[0]
    assert ".-" not in made(SETTINGS._replace(name="a" * 241 + "." + "b" * 11)).target.name


def test_a_copy_is_recognised_by_its_proof() -> None:
    copy = made()
    assert recognised(stored(copy), copy.target)
    assert recognised(stored(copy), copy.target, ProofKeys([b"new" * 12, b"k" * 32]))
    assert not recognised(stored(copy), copy.target, ProofKeys([b"new" * 12]))
    assert not recognised(stored(copy), copy.target, KEYS, "another-cluster")
    assert not recognised(stored(copy), copy.target, origin="others")


def test_a_proof_is_worth_nothing_on_another_object() -> None:
    copy = made()
    target = copy.target
    for other in (target._replace(name="x"), target._replace(namespace="y"), target._replace(resource=SECRETS)):
        assert not recognised(stored(copy), other)
    marks = copy.body["metadata"]
    for change in (
        {"labels": {ORIGIN: "tests"}},
        {"annotations": marks["annotations"] | {"jobrelay.dev/copy-of": "other"}},
        {"annotations": {key: value for key, value in marks["annotations"].items() if key != PROOF}},
    ):
        assert not recognised(stored(copy, metadata=marks | change), copy.target)


def test_other_contents_under_the_same_marks_are_noticed() -> None:
    copy = made()
    assert has_contents(stored(copy), copy)
    assert is_unchanged(stored(copy), copy.target, KEYS, "tests")
    for change in ({"data": {"a": "2"}}, {"data": {"a": "1", "b": "2"}}, {"binaryData": {"b": ""}}):
        assert not has_contents(stored(copy, **change), copy)
        assert not is_unchanged(stored(copy, **change), copy.target, KEYS, "tests")
    assert not has_contents(stored(copy, immutable=False), copy)


def test_an_object_of_another_kind_may_have_defaults_but_no_other_values() -> None:
    pipelines = RESOURCES["Pipeline"]
    copy = made(ObjectName(pipelines, "team", "build"), spec={"tasks": [{"name": "a"}]})
    assert "immutable" not in copy.body
    assert has_contents(stored(copy, spec={"tasks": [{"name": "a", "kind": "Task"}], "timeout": "1h"}), copy)
    for tasks in ([{"name": "b"}], [], [{"name": "a"}, {"name": "b"}], None):
        assert not has_contents(stored(copy, spec={"tasks": tasks}), copy)


def test_a_service_account_is_copied_without_its_secrets_under_its_own_name() -> None:
    of = ObjectName(SERVICEACCOUNTS, "team", "runner")
    copy = made(of, secrets=[{"name": "s"}], imagePullSecrets=[{"name": "p"}], automountServiceAccountToken=False)
    assert (copy.target, copy.contents) == (of, {"automountServiceAccountToken": False})


def test_a_token_of_a_service_account_is_not_copied() -> None:
    with pytest.raises(CopyFailed, match="means nothing on another cluster"):
        made(TOKEN, type="kubernetes.io/service-account-token", data={"token": "eA=="})
    assert made(TOKEN, type="kubernetes.io/dockerconfigjson", data={}).body["type"] == "kubernetes.io/dockerconfigjson"


# In mirrors

ORIGINAL = job(template=template(), suspend=True)
NAMES = {SETTINGS: "settings-1", TOKEN: "token-1"}


def mirror(names: dict[ObjectName, str]) -> Object:
    body = with_copies(ADAPTER, ORIGINAL, ADAPTER.mirror(ORIGINAL, PARAMETERS), names)
    return decode_object(msgspec.json.encode(body))


def test_a_mirror_says_which_copies_it_uses() -> None:
    assert copies_of(mirror(NAMES)) == NAMES
    assert COPIES not in mirror({}).metadata.annotations
    assert mirror(NAMES).metadata.annotations.keys() > mirror({}).metadata.annotations.keys()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', '{"Pod/x": "y"}', '{"x": "y"}'])
def test_an_annotation_that_somebody_changed_names_no_copies(text: str) -> None:
    assert copies_of(obj("m", metadata={"annotations": {COPIES: text}})) == {}


class ComparesAll:
    """An adapter that would bring the whole pod template of a mirror in line."""

    references = staticmethod(ADAPTER.references)
    pod_templates = staticmethod(ADAPTER.pod_templates)

    def mirror_patch(self, original: Object, mirror: Object, parameters: Any) -> dict[str, Any] | None:
        want, have = (each.decode()["spec"]["template"]["spec"]["containers"] for each in (original, mirror))
        return {"spec": {"template": {"spec": {"containers": want}}}} if want != have else None


def test_the_names_of_copies_are_no_difference_to_an_adapter_that_compares_everything() -> None:
    adapter: Any = ComparesAll()
    assert mirror_patch(adapter, ORIGINAL, mirror(NAMES), PARAMETERS) is None
    changed = template()
    changed["spec"]["containers"][0]["image"] = "new"
    patch = mirror_patch(adapter, job(template=changed), mirror(NAMES), PARAMETERS)
    assert patch is not None
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "new"
    assert [each["name"] for ref in container["envFrom"] for each in ref.values()] == ["settings-1", "token-1"]
