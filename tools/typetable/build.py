"""Writes the two fact tables that are shipped: apimachinery/data/types.json and kinds/data/resources.json.

types.json: what `main.go` reads by reflection (JSON names, protobuf numbers, omitempty, patch tags), joined with the list
and map types and defaults that the published OpenAPI documents add. resources.json: what is served under which path, from
the published discovery documents. Only facts are kept (names, numbers, flags), no descriptions.

Run by `make tables`; needs Go. A new Kubernetes version is a change of VERSION and of go.mod beside this file.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

VERSION = "1.35.4"
HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "src/jobrelay"
GROUPS = [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
]
EXTRA_KINDS = ("v1/Status", "v1/DeleteOptions", "v1/PodStatusResult", "policy/v1/Eviction", "autoscaling/v1/Scale")


def go(*arguments: str) -> str:
    return subprocess.run(["go", *arguments], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout


def served(group: str, version: str) -> bool:
    return version == "v1" or (group, version) == ("autoscaling", "v2")


def resources(api: pathlib.Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = legacy(json.loads((api / "discovery/api__v1.json").read_text()))
    groups = {g["metadata"]["name"]: g for g in json.loads((api / "discovery/aggregated_v2.json").read_text())["items"]}
    for group in GROUPS:
        for version in groups[group]["versions"]:
            if served(group, version["version"]):
                found += [aggregated(group, version["version"], r) for r in version["resources"]]
    return found


def legacy(listing: dict[str, Any]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for entry in sorted(listing["resources"], key=lambda r: r["name"]):
        resource, _, subresource = entry["name"].partition("/")
        kind = {"group": entry.get("group", ""), "version": entry.get("version", ""), "kind": entry["kind"]}
        if subresource:
            found[resource]["subresources"].append({"name": subresource, **kind, "verbs": entry["verbs"]})
            continue
        found[resource] = {
            "group": "", "version": "v1", "plural": resource, "kind": entry["kind"], "singular": entry["singularName"],
            "namespaced": entry["namespaced"], "verbs": entry["verbs"], "short": entry.get("shortNames", []),
            "categories": entry.get("categories", []), "subresources": [],
        }  # fmt: skip
    return list(found.values())


def aggregated(group: str, version: str, r: dict[str, Any]) -> dict[str, Any]:
    subresources = [
        {"name": s["subresource"], **s["responseKind"], "verbs": s["verbs"]} for s in r.get("subresources", [])
    ]
    return {
        "group": group, "version": version, "plural": r["resource"], "kind": r["responseKind"]["kind"],
        "singular": r["singularResource"], "namespaced": r["scope"] == "Namespaced", "verbs": r["verbs"],
        "short": r.get("shortNames", []), "categories": r.get("categories", []), "subresources": subresources,
    }  # fmt: skip


def schemas(api: pathlib.Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for document in sorted((api / "openapi-spec/v3").glob("*.json")):
        found |= json.loads(document.read_text()).get("components", {}).get("schemas", {})
    return found


def annotate(types: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Adds list type (l), list map keys (lk), map type (m) and default (d) to the fields of every type."""
    out: dict[str, Any] = {}
    for name, fields in types.items():
        schema = found.get(name, {})
        entry: dict[str, Any] = {"f": fields or []}
        if schema.get("x-kubernetes-map-type"):
            entry["m"] = schema["x-kubernetes-map-type"]
        for field in entry["f"]:
            facts = schema.get("properties", {}).get(field.get("n"), {})
            for key, fact in (("l", "list-type"), ("lk", "list-map-keys"), ("m", "map-type")):
                if value := facts.get(f"x-kubernetes-{fact}"):
                    field[key] = value
            if facts.get("default") not in (None, 0, "", {}, False) or (facts.get("default") == "" and field.get("o")):
                field["d"] = facts["default"]
        out[name] = entry
    return out


def reachable(types: dict[str, Any], kinds: dict[str, str]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    pending = [*kinds.values()]
    while pending:
        name = pending.pop()
        if name in types and name not in seen:
            seen[name] = types[name]
            pending += [f["t"].lstrip("*[{") for f in types[name]["f"]]
    return dict(sorted(seen.items()))


def main() -> None:
    root = pathlib.Path(json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@v{VERSION}"))["Dir"])
    raw = json.loads(go("run", "."))
    listing = resources(root / "api")
    groups = {(r["group"], r["version"]) for r in listing}
    kinds = {
        k: t
        for k, t in sorted(raw["kinds"].items())
        if (tuple(k.split("/")[:2]) if k.count("/") == 2 else ("", k.split("/")[0])) in groups
    }
    types = reachable(annotate(raw["types"], schemas(root / "api")), kinds)
    dump = lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False)  # noqa: E731
    rows = ",\n".join(f"{dump(k)}:{dump(v)}" for k, v in types.items())
    (SOURCES / "apimachinery/data/types.json").write_text(f'{{"kinds":{dump(kinds)},\n"types":{{\n{rows}\n}}}}\n')
    (SOURCES / "kinds/data/resources.json").write_text("[\n" + ",\n".join(map(dump, listing)) + "\n]\n")
    print(f"{len(types)} types, {len(kinds)} kinds, {len(listing)} resources for Kubernetes v{VERSION}")


if __name__ == "__main__":
    main()
