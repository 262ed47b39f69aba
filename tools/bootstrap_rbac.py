"""Reads the policy that a fresh Kubernetes API server creates for itself, and writes it as our bootstrap data.

    python tools/bootstrap_rbac.py https://127.0.0.1:6443 --token TOKEN

Roles and bindings are known by the label `kubernetes.io/bootstrapping`, flow schemas and priority levels by the
annotation `apf.kubernetes.io/autoupdate-spec`, so that other objects in the cluster do not matter. The rules of
aggregated roles are left out: they follow from the rest. Only facts are kept: names, labels, annotations, rules,
subjects, role references, specs.
"""

from __future__ import annotations

import argparse
import json
import ssl
import urllib.request
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "src/jobrelay/kinds/data"
RBAC = "/apis/rbac.authorization.k8s.io/v1/"
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1/"
RBAC_MARK = ("labels", "kubernetes.io/bootstrapping")
FLOW_MARK = ("annotations", "apf.kubernetes.io/autoupdate-spec")
KEPT = ("rules", "aggregationRule", "roleRef", "subjects", "spec")


def items(server: str, token: str, path: str) -> list[dict[str, Any]]:
    request = urllib.request.Request(server + path, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, context=ssl._create_unverified_context()) as answer:
        found: list[dict[str, Any]] = json.load(answer)["items"]
    return found


def facts(item: dict[str, Any], mark: tuple[str, str]) -> dict[str, Any] | None:
    """What is kept of one object, or None when the server did not make it."""
    metadata = item["metadata"]
    if mark[1] not in metadata.get(mark[0], {}):
        return None
    kept = {name: metadata[name] for name in ("name", "namespace", "labels", "annotations") if name in metadata}
    fields = {name: item[name] for name in KEPT if name in item}
    if "aggregationRule" in fields:
        fields["rules"] = None
    return {"metadata": kept, **fields}


def write(path: Path, kinds: dict[str, list[dict[str, Any]]]) -> None:
    """One object per line, so that a new version shows as a readable difference."""
    sections = []
    for kind, objects in kinds.items():
        lines = ",\n".join(json.dumps(item, separators=(",", ":"), sort_keys=True) for item in objects)
        sections.append(f"{json.dumps(kind)}:[\n{lines}\n]")
    path.write_text("{\n" + ",\n".join(sections) + "\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server")
    parser.add_argument("--token", required=True)
    options = parser.parse_args()

    def collect(prefix: str, plurals: dict[str, str], mark: tuple[str, str]) -> dict[str, list[dict[str, Any]]]:
        return {
            kind: [
                kept for item in items(options.server, options.token, prefix + plural) if (kept := facts(item, mark))
            ]
            for plural, kind in plurals.items()
        }

    roles = {"clusterroles": "ClusterRole", "clusterrolebindings": "ClusterRoleBinding", "roles": "Role",
             "rolebindings": "RoleBinding"}  # fmt: skip
    levels = {"prioritylevelconfigurations": "PriorityLevelConfiguration", "flowschemas": "FlowSchema"}
    write(DATA / "bootstrap-rbac.json", collect(RBAC, roles, RBAC_MARK))
    write(DATA / "bootstrap-flowcontrol.json", collect(FLOW, levels, FLOW_MARK))


if __name__ == "__main__":
    main()
