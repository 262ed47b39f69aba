"""The built-in workload kinds and the real CustomResourceDefinitions and manifests of their projects."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from jobrelay.kube import Object
from jobrelay.kube.objects import decode_object
from jobrelay.workloads import MirrorParameters
from jobrelay.workloads.builtin import built_in_descriptions
from jobrelay.workloads.declared import paths
from jobrelay.workloads.names import MULTIKUEUE
from tests.apimachinery.documents import documents
from tests.workloads import declared_kinds as own

from .test_custom_resources import EXAMPLE_FILES, REFUSED, SHARED, errors_of, kinds, name_of

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared folder with CRDs and manifests beside the repository"),
]
ADAPTERS = {(each.resource.api_version, each.resource.kind): each for each in own.ADAPTERS.values()}
PARAMETERS = MirrorParameters("manager", 1, "mirror", proof="p")
Obj = dict[str, Any]


def objects() -> list[Any]:
    found = []
    for path in EXAMPLE_FILES:
        if path.name in REFUSED:
            continue
        for number, obj in enumerate(documents(path.read_text())):
            if isinstance(obj, dict) and (obj.get("apiVersion"), obj.get("kind")) in ADAPTERS:
                found.append(pytest.param(obj, id=f"{name_of(path)}-{number}"))
    return found


def served(obj: Obj) -> Obj:
    """An object as an API server with the real definition has it; it must be valid."""
    kind = kinds()[obj["apiVersion"], obj["kind"]]
    made, unknown = kind.decode(copy.deepcopy(obj))
    assert unknown == []
    kind.default(made)
    made["metadata"] = {"namespace": "default", "uid": "u", "name": "x", **made["metadata"]}
    _, errors = errors_of(kind, copy.deepcopy(made))
    assert errors == []
    return made


def as_object(obj: Obj) -> Object:
    return decode_object(msgspec.json.encode(obj))


def test_every_kind_has_manifests() -> None:
    found = {(obj.values[0]["apiVersion"], obj.values[0]["kind"]) for obj in objects()}
    assert found == set(ADAPTERS)


@pytest.mark.parametrize("manifest", objects())
def test_a_manifest_is_delegated_and_its_mirror_is_valid(manifest: Obj) -> None:
    """The worker serves the same definition and defaults the mirror by it, which is no reason to change it."""
    adapter = ADAPTERS[manifest["apiVersion"], manifest["kind"]]
    delegated = copy.deepcopy(manifest)
    paths.put(paths.plain(adapter.managed_by_path), delegated, MULTIKUEUE)
    original = as_object(served(delegated))
    facts = adapter.read(original)
    assert (facts.managed_by in adapter.managers, facts.started, facts.end) == (True, None, None)
    demand = adapter.demand(original)
    assert sum(pods.count for pods in demand.pod_sets) > 0
    mirror = as_object(served(adapter.mirror(original, PARAMETERS)))
    assert adapter.read(mirror).managed_by in (None, adapter.native)
    assert adapter.mirror_patch(original, mirror, PARAMETERS) is None


@pytest.mark.parametrize("kind", own.KINDS)
def test_what_the_other_tests_use_fits_the_real_schema(kind: str) -> None:
    served(own.original(kind))
    served(own.mirror(kind))


@pytest.mark.parametrize("kind", own.KINDS)
def test_the_status_of_a_suspended_original_fits_the_real_schema(kind: str) -> None:
    adapter = own.ADAPTERS[kind]
    rule = built_in_descriptions()[adapter.resource.kind].suspension
    assert rule is not None
    suspended = own.original(kind, change=own.at(rule.path, rule.suspended))
    status = adapter.suspended_status(own.as_object(suspended), own.NOW)
    if status is None:
        assert kind == "rayservice"
        return
    schema = kinds()[adapter.resource.api_version, adapter.resource.kind]
    made, unknown = schema.decode(suspended | {"status": status})
    schema.default(made)
    assert (unknown, [error.text() for error in schema.validate_create(made)]) == ([], [])
