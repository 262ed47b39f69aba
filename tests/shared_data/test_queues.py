"""Kueue's own manifests and definitions beside our definitions of its kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobrelay.apimachinery import yaml
from jobrelay.cluster import Cluster
from jobrelay.kube import SystemClock, serves
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, JOBS
from jobrelay.queueing.definitions import ensure_definitions, make_definitions
from jobrelay.queueing.gate import QueueingGate
from jobrelay.queueing.resources import KINDS, PRIORITY_CLASSES, WORKLOADS
from jobrelay.relay.workers.install import crds
from tests.apimachinery.documents import documents
from tests.queueing.fleets import QueueFleet, queued_job
from tests.relay.fleets import fleet

SHARED = Path(__file__).parents[3] / "shared"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared folder with CRDs and manifests beside the repository"),
]
REAL = sorted((SHARED / "crds/kueue").rglob("*.yaml"))


async def test_kueues_manifests_apply_unchanged() -> None:
    kinds = {each.kind: each for each in KINDS}
    async with Cluster("m") as cluster:
        client = cluster.client()
        await ensure_definitions(client, SystemClock())
        applied = 0
        for path in sorted((SHARED / "examples/kueue").rglob("*.yaml")):
            for body in documents(path.read_text()):
                if body.get("kind") in kinds and "worker-setup" not in path.name:
                    resource = kinds[body["kind"]]
                    await client.apply(resource, body, field_manager="tests", force=True)
                    applied += 1
        assert applied >= 12


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_names_and_columns_are_those_of_kueues_definitions(path: Path) -> None:
    real = yaml.load(path.read_bytes())["spec"]
    own = {each["spec"]["names"]["plural"]: each["spec"] for each in make_definitions()}.get(real["names"]["plural"])
    if own is None:
        pytest.skip("not one of ours")
    assert own["names"] == real["names"]
    assert own["scope"] == real["scope"]
    versions = {each["name"]: each for each in own["versions"]}
    for each in real["versions"]:
        shown = [(c["name"], c["jsonPath"], c["type"]) for c in each.get("additionalPrinterColumns", ())]
        mine = [
            (c["name"], c["jsonPath"], c["type"]) for c in versions[each["name"]].get("additionalPrinterColumns", ())
        ]
        assert mine == shown
        assert versions[each["name"]]["storage"] == each["storage"]


def facts(schema: dict[str, Any], path: str = "") -> dict[str, Any]:
    """What a schema accepts and defaults, by field; of its rules, the messages."""
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            for name, each in value.items():
                found |= facts(each, f"{path}.{name}")
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            found |= facts(value, f"{path}.{key}")
        elif key == "x-kubernetes-validations":
            found[f"{path} rules"] = sorted(each["message"] for each in value)
        elif key != "description":
            found[f"{path} {key}"] = sorted(value) if key == "required" else value
    return found


def without_templates(found: dict[str, Any]) -> dict[str, Any]:
    """Pod templates are described by Kueue's definitions, and are open in ours."""
    return {path: value for path, value in found.items() if not path.startswith(".spec.podSets.items.template")}


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_each_version_accepts_defaults_and_refuses_what_kueues_does(path: Path) -> None:
    real = yaml.load(path.read_bytes())
    own = {each["metadata"]["name"]: each["spec"] for each in [*make_definitions(), *crds()]}.get(
        real["metadata"]["name"]
    )
    if own is None:
        pytest.skip("not one of ours")
    ours, theirs = (
        {each["name"]: without_templates(facts(each["schema"]["openAPIV3Schema"])) for each in definition["versions"]}
        for definition in (own, real["spec"])
    )
    assert ours == theirs


async def test_jobs_are_admitted_preempted_and_admitted_again_with_kueues_own_definitions() -> None:
    async with fleet(1, start=False) as base:
        for path in REAL:
            await base.client.create(CUSTOMRESOURCEDEFINITIONS, yaml.load(path.read_bytes()))
        assert await ensure_definitions(base.client, SystemClock()) == []
        base.gate = QueueingGate
        it = QueueFleet(base)
        await base.until(lambda: serves(base.client, WORKLOADS))
        await it.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 100})
        await it.make_queue(cpu=1, preemption={"withinClusterQueue": "LowerPriority"})
        await base.start()
        await it.client.create(JOBS, queued_job("low", seconds=1000))
        await base.runs("low")
        await it.client.create(JOBS, queued_job("high", labels={"kueue.x-k8s.io/priority-class": "high"}))
        await base.finished("high")
        await it.until_condition("low", "Evicted", status=False, reason="QuotaReserved")
        await base.runs("low")
