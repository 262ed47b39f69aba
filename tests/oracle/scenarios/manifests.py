"""CRDs and example manifests of other projects, where they lie beside the repository (`../shared`); otherwise nothing.

Each CRD is moved into an API group of its own run, so that several comparisons can go on at one server, and loses its
conversion webhook; its examples follow it.
"""

from __future__ import annotations

import copy
import pathlib
from collections.abc import Iterator
from typing import Any

import yaml

from ..model import TABLE, Scenario, Step, apply, get, post, scenario

SHARED = pathlib.Path(__file__).resolve().parents[4] / "shared"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BUILT_IN = {
    ("batch/v1", "Job"): "/apis/batch/v1/namespaces/{{ns}}/jobs",
    ("batch/v1", "CronJob"): "/apis/batch/v1/namespaces/{{ns}}/cronjobs",
    ("v1", "Pod"): "/api/v1/namespaces/{{ns}}/pods",
    ("v1", "ConfigMap"): "/api/v1/namespaces/{{ns}}/configmaps",
    ("v1", "Secret"): "/api/v1/namespaces/{{ns}}/secrets",
    ("v1", "Service"): "/api/v1/namespaces/{{ns}}/services",
    ("apps/v1", "Deployment"): "/apis/apps/v1/namespaces/{{ns}}/deployments",
    ("apps/v1", "StatefulSet"): "/apis/apps/v1/namespaces/{{ns}}/statefulsets",
    ("apps/v1", "DaemonSet"): "/apis/apps/v1/namespaces/{{ns}}/daemonsets",
    ("apps/v1", "ReplicaSet"): "/apis/apps/v1/namespaces/{{ns}}/replicasets",
    ("v1", "PersistentVolumeClaim"): "/api/v1/namespaces/{{ns}}/persistentvolumeclaims",
    ("v1", "ServiceAccount"): "/api/v1/namespaces/{{ns}}/serviceaccounts",
    ("v1", "LimitRange"): "/api/v1/namespaces/{{ns}}/limitranges",
}


def _documents(folder: str) -> Iterator[tuple[pathlib.Path, dict[str, Any]]]:
    for path in sorted((SHARED / folder).glob("**/*.y*ml")):
        for body in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
            if isinstance(body, dict) and "kind" in body:
                yield path, body


def _moved(definition: dict[str, Any]) -> dict[str, Any]:
    body = copy.deepcopy(definition)
    body["metadata"] = {"name": f"{body['spec']['names']['plural']}.{{{{run}}}}.example.com"}
    body["spec"]["group"] = "{{run}}.example.com"
    body["spec"].pop("conversion", None)
    body.pop("status", None)
    return body


def _custom(definition: dict[str, Any], examples: list[dict[str, Any]]) -> Iterator[Step]:
    body = _moved(definition)
    yield post(CRDS, body)
    scope = "namespaces/{{ns}}/" if body["spec"]["scope"] == "Namespaced" else ""
    for version in body["spec"]["versions"]:
        if version["served"]:
            root = f"/apis/{{{{run}}}}.example.com/{version['name']}/{scope}{body['spec']['names']['plural']}"
            yield get(root, until=200)
            yield get(root, TABLE)
    for example in examples:
        version = example["apiVersion"].rpartition("/")[2]
        root = f"/apis/{{{{run}}}}.example.com/{version}/{scope}{body['spec']['names']['plural']}"
        moved = _plain({**example, "apiVersion": f"{{{{run}}}}.example.com/{version}"})
        yield post(f"{root}?dryRun=All&fieldValidation=Strict", moved, unordered=True)
        yield post(root, moved, unordered=True)
        if "name" in moved["metadata"]:
            yield get(f"{root}/{moved['metadata']['name']}", TABLE)
            yield apply(f"{root}/{moved['metadata']['name']}", moved)


def _plain(example: dict[str, Any]) -> dict[str, Any]:
    metadata = {k: v for k, v in example["metadata"].items() if k != "namespace"}
    return {**example, "metadata": metadata}


def scenarios() -> Iterator[Scenario]:
    if not SHARED.exists():
        return
    examples = [body for _, body in _documents("examples")]
    for path, definition in _documents("crds"):
        if definition["kind"] != "CustomResourceDefinition":
            continue
        group, kind = definition["spec"]["group"], definition["spec"]["names"]["kind"]
        mine = [e for e in examples if e["kind"] == kind and e["apiVersion"].rpartition("/")[0] == group]
        cleanup = [f"{CRDS}/{_moved(definition)['metadata']['name']}"]
        yield scenario(
            f"manifests-{'-'.join(path.relative_to(SHARED / 'crds').parts[:2])}-{path.stem.lower()}-{kind.lower()}",
            _custom(definition, mine),
            cleanup,
        )
    built_in = [e for e in examples if (e["apiVersion"], e["kind"]) in BUILT_IN]
    yield scenario(
        "manifests-built-in", [post(f"{BUILT_IN[e['apiVersion'], e['kind']]}?dryRun=All", _plain(e)) for e in built_in]
    )
