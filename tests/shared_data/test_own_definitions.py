"""Our own definitions have the names, versions, subresources and columns of the real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobrelay.apimachinery import yaml
from jobrelay.cluster import Cluster
from jobrelay.operate.crds import install_definitions, make_definitions, read_definitions

Obj = dict[str, Any]

SHARED = Path(__file__).parents[3] / "shared"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared folder with CRDs and manifests beside the repository"),
]
RELEASES = {
    "jobset": "v0.12.0", "trainer": "v2.3.0", "training-operator": "v1.9.4", "mpi-operator": "v0.8.2-caa3c47",
    "kuberay": "v1.7.0", "appwrapper": "v1.2.1", "tekton": "v1.15.0",
}  # fmt: skip
SEEN = ("name", "served", "storage", "deprecated")


def real(project: str) -> dict[str, Obj]:
    read = [yaml.load(path.read_bytes()) for path in (SHARED / "crds" / project / RELEASES[project]).glob("*.yaml")]
    return {each["metadata"]["name"]: each["spec"] for each in read}


def shown(spec: Obj) -> Obj:
    """What clients see of a kind, without descriptions."""
    names = {"listKind": f"{spec['names']['kind']}List", **spec["names"]}
    return {
        "names": names,
        "group": spec["group"],
        "scope": spec["scope"],
        "versions": {each["name"]: version(each) for each in spec["versions"]},
    }


def version(one: Obj) -> Obj:
    columns = [
        {key: value for key, value in column.items() if key != "description"}
        for column in one.get("additionalPrinterColumns", ())
    ]
    subresources = one.get("subresources") or {}
    return {**{key: one[key] for key in SEEN if key in one}, "columns": columns, "subresources": subresources}


def manager_rules(schema: Any, path: str = "") -> dict[str, Obj]:
    """The rules and defaults of all fields managedBy by their paths."""
    found = {}
    for name, each in (schema.get("properties") or {}).items():
        if name == "managedBy":
            rules = {rule["rule"] for rule in each.get("x-kubernetes-validations") or ()}
            found[f"{path}.{name}"] = {"default": each.get("default"), "rules": rules}
        found |= manager_rules(each, f"{path}.{name}")
    return {key: value for key, value in found.items() if value["rules"] or value["default"]}


@pytest.mark.parametrize("project", RELEASES)
def test_a_kind_looks_like_the_real_one(project: str) -> None:
    theirs, ours = real(project), {each["metadata"]["name"]: each["spec"] for each in make_definitions(project)}
    assert ours.keys() == theirs.keys()
    for name, spec in ours.items():
        assert shown(spec) == shown(theirs[name]), name


@pytest.mark.parametrize("project", [name for name in RELEASES if name != "jobset"])
def test_a_manager_is_checked_as_by_the_real_schema(project: str) -> None:
    """All but JobSet's rules, which are those of its webhook."""
    theirs = real(project)
    for each in make_definitions(project):
        by_version = {one["name"]: one["schema"]["openAPIV3Schema"] for one in each["spec"]["versions"]}
        for one in theirs[each["metadata"]["name"]]["versions"]:
            expected = manager_rules(one["schema"]["openAPIV3Schema"])
            assert manager_rules(by_version[one["name"]]) == expected, each["metadata"]["name"]


@pytest.mark.parametrize("project", RELEASES)
async def test_a_release_is_installed_over_ours_and_stays(project: str) -> None:
    folder = str(SHARED / "crds" / project / RELEASES[project])
    async with Cluster(controllers="none") as cluster:
        client, theirs, ours = cluster.client(), read_definitions([folder]).found, read_definitions([project]).found
        steps = [(ours, "created"), (theirs, "configured"), (theirs, "unchanged"), (ours, "kept")]
        for definitions, expected in steps:
            assert {each.result for each in await install_definitions(client, definitions)} == {expected}
