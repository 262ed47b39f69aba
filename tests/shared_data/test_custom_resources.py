"""Real CustomResourceDefinitions and manifests of real projects, read from the folder beside the repository."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import Any

import pytest

from jobrelay.apimachinery import yaml
from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.kinds.apiextensions import definition as crds
from jobrelay.kinds.apiextensions.strategy import CustomKind, custom_kind

SHARED = Path(__file__).parents[3] / "shared"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared folder with CRDs and manifests beside the repository"),
]
CRD_FILES = sorted((SHARED / "crds").rglob("*.yaml"))
EXAMPLE_FILES = sorted((SHARED / "examples").rglob("*.yaml"))
REFUSED = {"jobs__sample-xgboostjob.yaml"}
COMPILE_SECONDS = 0.1


def name_of(path: Path) -> str:
    return f"{path.parts[-3]}/{path.name}"


@functools.cache
def created(path: Path) -> dict[str, Any]:
    type_ = type_for_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert type_ is not None
    crd: dict[str, Any] = decode(yaml.load(path.read_bytes()), type_)
    crds.default(crd)
    crds.prepare_create(crd)
    return crd


@functools.cache
def kinds() -> dict[tuple[str, str], CustomKind]:
    found = {}
    for path in CRD_FILES:
        crd = created(path)
        for version in crd["spec"]["versions"]:
            kind = custom_kind(crd, version["name"])
            found[kind.api_version, kind.kind] = kind
    return found


@pytest.mark.parametrize("path", CRD_FILES, ids=name_of)
def test_a_definition_is_accepted(path: Path) -> None:
    assert [error.text() for error in crds.validate_create(created(path))] == []


@pytest.mark.parametrize("path", CRD_FILES, ids=name_of)
def test_a_definition_compiles_quickly(path: Path) -> None:
    crd = created(path)
    start = time.perf_counter()
    for version in crd["spec"]["versions"]:
        assert custom_kind(crd, version["name"]).validate_create({"metadata": {}})
    assert time.perf_counter() - start < COMPILE_SECONDS * len(crd["spec"]["versions"])


def errors_of(kind: CustomKind, obj: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The unknown fields and the errors of a manifest, created in the default namespace."""
    made, unknown = kind.decode(obj)
    kind.default(made)
    metadata = made["metadata"]
    metadata.setdefault("name", f"{metadata.get('generateName', '')}x")
    if kind.namespaced:
        metadata.setdefault("namespace", "default")
    kind.prepare_create(made)
    return unknown, [error.text() for error in kind.validate_create(made)]


@pytest.mark.parametrize("path", EXAMPLE_FILES, ids=name_of)
def test_a_manifest_is_accepted_or_refused_as_its_index_says(path: Path) -> None:
    documents = [obj for obj in yaml.load_all(path.read_bytes()) if isinstance(obj, dict)]
    known = [obj for obj in documents if (obj.get("apiVersion"), obj.get("kind")) in kinds()]
    if not known:
        pytest.skip("no object of a kind whose definition is there")
    for obj in known:
        unknown, errors = errors_of(kinds()[obj["apiVersion"], obj["kind"]], obj)
        assert unknown == []
        assert bool(errors) == (path.name in REFUSED), errors
