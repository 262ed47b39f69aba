"""Custom resources in several versions: by renaming, by conversion webhooks, with a changing storage version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import PARTIAL, PARTIAL_LIST, TABLE, Scenario, Step, apply, delete, get, patch, post, put, scenario
from ..program import MODES
from .crds import CRDS

GROUP = "{{run}}.example.com"
NAME = f"gadgets.{GROUP}"
V1 = f"/apis/{GROUP}/v1/namespaces/{{{{ns}}}}/gadgets"
V2 = f"/apis/{GROUP}/v2/namespaces/{{{{ns}}}}/gadgets"
DEFINITION = f"{CRDS}/{NAME}"


def version(name: str, field: str, *, storage: bool, **more: Any) -> dict[str, Any]:
    properties = {
        field: {"type": "integer"},
        "replicas": {"type": "integer"},
        f"only{name}": {"type": "string"},
        "filled": {"type": "string", "default": name},
    }
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": properties},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": f".spec.{field}"}],
        "selectableFields": [{"jsonPath": f".spec.{field}"}],
        **more,
    }


def definition(storage: str, mode: str | None = None, reviews: tuple[str, ...] = ("v1",)) -> dict[str, Any]:
    """`mode` names what is wrong with the webhook's answers; None converts by renaming."""
    conversion: dict[str, Any] = {"strategy": "None"}
    if mode is not None:
        client = {"url": f"https://{{{{program}}}}/convert/{mode}", "caBundle": "{{ca}}"}
        conversion = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": client, "conversionReviewVersions": list(reviews)},
        }
    versions = [
        version("v1", "size", storage=storage == "v1"),
        version("v2", "width" if mode is not None else "size", storage=storage == "v2"),
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": versions,
            "conversion": conversion,
        },
    }


def gadget(version: str, name: str = "a", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


def ready(crd: dict[str, Any]) -> list[Step]:
    return [post(CRDS, crd, pick=(("spec", "conversion"),)), get(V1, until=200), get(V2, until=200)]


def storage(name: str) -> list[Step]:
    """Makes another version the storage version. Servers take a moment for it, in which nothing can be seen."""
    steps = [
        {"op": "replace", "path": f"/spec/versions/{index}/storage", "value": name == f"v{index + 1}"}
        for index in range(2)
    ]
    picked = (("status", "storedVersions"),)
    return [patch(DEFINITION, steps, "application/json-patch+json", pick=picked)]


def _renamed() -> list[Step]:
    return [
        *ready(definition("v1")),
        post(V1, gadget("v1", "a", size=1, onlyv1="x")),
        post(V2, gadget("v2", "b", size=2, onlyv2="y")),
        get(f"{V1}/a"),
        get(f"{V2}/a"),
        get(f"{V1}/b"),
        get(f"{V2}/b"),
        get(V2),
        get(V1, TABLE),
        get(V2, PARTIAL_LIST),
        apply(f"{V2}/a", gadget("v2", "a", size=5), manager="two", force=True),
        patch(f"{V1}/b", {"spec": {"size": 7}}),
        get(f"{V2}/b"),
        *storage("v2"),
    ]


def _stored() -> list[Step]:
    """Objects stay in the version that they were stored in, until they are written."""
    return [
        *ready(definition("v1")),
        post(V1, gadget("v1", "a", size=1, onlyv1="x")),
        post(V1, gadget("v1", "b", size=1, onlyv1="x")),
        *storage("v2"),
        get(f"{DEFINITION}", pick=(("status", "storedVersions"),)),
        post(V2, gadget("v2", "probe", size=1), until=409),
        get(f"{V1}/a"),
        get(f"{V2}/a"),
        patch(f"{V1}/a", {"metadata": {"labels": {"a": "b"}}}),
        get(f"{V1}/a"),
        patch(f"{V2}/b", {}),
        get(f"{V1}/b"),
        patch(f"{DEFINITION}/status", {"status": {"storedVersions": ["v2"]}}, pick=(("status", "storedVersions"),)),
        patch(f"{DEFINITION}/status", {"status": {"storedVersions": ["v1"]}}, pick=(("status", "storedVersions"),)),
        patch(f"{DEFINITION}/status", {"status": {"storedVersions": []}}),
        patch(DEFINITION, {"metadata": {"labels": {"x": "y"}}}, pick=(("message",), ("status", "storedVersions"))),
        patch(
            DEFINITION,
            [{"op": "remove", "path": "/spec/versions/0"}],
            "application/json-patch+json",
            pick=(("message",), ("details",), ("status", "storedVersions")),
        ),
    ]


def _webhook() -> list[Step]:
    return [
        *ready(definition("v2", "good")),
        post(V1, gadget("v1", size=1, replicas=2)),
        post(V2, gadget("v2", "b", width=2)),
        post(f"{V1}?dryRun=All", gadget("v1", "c", size=1)),
        post(V1, {**gadget("v1", size=1), "metadata": {"generateName": "gen-"}}),
        get(f"{V1}/a"),
        get(f"{V2}/a"),
        get(V1),
        get(V2),
        get(f"{V1}?fieldSelector=spec.size=2"),
        get(V1, TABLE),
        get(f"{V1}/a", PARTIAL),
        patch(f"{V1}/a", {"spec": {"size": 5}}),
        patch(f"{V2}/a", {"spec": {"width": 6}}),
        apply(f"{V1}/a", gadget("v1", size=5), manager="one"),
        apply(f"{V1}/a", gadget("v1", size=5), manager="one", force=True),
        apply(f"{V2}/a", gadget("v2", width=8), manager="two"),
        apply(f"{V2}/a", gadget("v2", width=8), manager="two", force=True),
        get(f"{V1}/a"),
        get(f"{V1}/a", capture={"rv": "metadata.resourceVersion"}),
        put(f"{V1}/a", {**gadget("v1", size=9), "metadata": {"name": "a", "resourceVersion": "{{rv}}"}}),
        patch(f"{V1}/a/status", {"status": {"replicas": 1}}),
        get(f"{V1}/a/scale"),
        patch(f"{V1}/a/scale", {"spec": {"replicas": 4}}),
        get(f"{V2}/a/scale"),
        patch(f"{V1}/a", {"metadata": {"finalizers": ["x.example/y"]}}),
        delete(f"{V1}/a"),
        patch(f"{V1}/a", {"metadata": {"finalizers": None}}),
        delete(f"{V1}/b"),
        get(f"{V1}?watch=true&timeoutSeconds=1"),
        delete(V1, pick=(("kind",), ("apiVersion",))),
        get(V2),
    ]


def _wrong(mode: str) -> list[Step]:
    return [
        *ready(definition("v2", mode)),
        post(V2, gadget("v2", width=1)),
        get(f"{V1}/a"),
        patch(f"{V1}/a", {"spec": {"size": 5}}),
        delete(f"{V1}/a"),
    ]


def _lists() -> list[Step]:
    """Lists and deletions of many, while the webhook fails."""
    return [
        *ready(definition("v2", "code500")),
        post(V2, gadget("v2", width=1)),
        get(V1),
        get(f"{V1}?limit=1"),
        get(V2),
        delete(V1),
        delete(V2, pick=(("kind",),)),
        get(V1),
    ]


def _unreachable(client: dict[str, Any]) -> list[Step]:
    crd = definition("v2", "good")
    crd["spec"]["conversion"]["webhook"]["clientConfig"] = client
    return [
        *ready(crd),
        post(V2, gadget("v2", width=1)),
        get(f"{V1}/a"),
        post(V1, gadget("v1", "b", size=1)),
    ]


UNREACHABLE = {
    "refused": {"url": "https://127.0.0.1:1/convert", "caBundle": "{{ca}}"},
    "untrusted": {"url": "https://{{program}}/convert/good"},
    "misnamed": {"url": "https://127.0.0.2:{{port}}/convert/good", "caBundle": "{{ca}}"},
    "noservice": {"service": {"namespace": "default", "name": "none", "path": "/convert"}, "caBundle": "{{ca}}"},
}


def scenarios() -> Iterator[Scenario]:
    made = {
        "renamed": _renamed(),
        "stored": _stored(),
        "webhook": _webhook(),
        "lists": _lists(),
        "v1beta1": [*ready(definition("v2", "wronguid", ("v1beta1", "v1"))), *_wrong("good")[3:]],
        **{f"wrong-{mode}": _wrong(mode) for mode in MODES},
        **{f"unreachable-{name}": _unreachable(client) for name, client in UNREACHABLE.items()},
    }
    for name, steps in made.items():
        yield scenario(f"versions-{name}", steps, [DEFINITION])
