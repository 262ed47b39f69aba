"""Writes the values of Kubernetes' enumerations, which the published OpenAPI documents show, to enums.json.

A Go type marked `+enum` is one; its values are the constants of that type in its package. Only the values are kept. To
be run when the version of Kubernetes changes; needs Go. The versions of the modules are those of typetable/go.mod.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent / "src/jobrelay/cluster/apiserver/openapi/enums.json"
MODULES = ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator")
ENUM = re.compile(r"^// \+enum\n(?:^//.*\n)*^type (\w+) string", re.MULTILINE)
CONSTANT = re.compile(r'^\s*(?:const )?\w+\s+(\w*)\s*=\s*(\w*)\(?"([^"]*)"', re.MULTILINE)
BY_REFERENCE = {"v1.AddressType": ["IPv4", "IPv6"]}  # constants whose values are those of another package's


def module(name: str) -> pathlib.Path:
    command = ["go", "list", "-m", "-f", "{{.Dir}}", name]
    return pathlib.Path(
        subprocess.run(command, cwd=HERE / "typetable", check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    )


def values(package: pathlib.Path) -> dict[str, list[str]]:
    """The enumerations of one package, by type name."""
    text = "\n".join(path.read_text() for path in sorted(package.glob("*.go")) if not path.name.endswith("_test.go"))
    found: dict[str, set[str]] = {name: set() for name in ENUM.findall(text)}
    for typed, converted, value in CONSTANT.findall(text):
        if (name := typed or converted) in found:
            found[name].add(value)
    return {name: sorted(members) for name, members in found.items() if members}


def main() -> None:
    table: dict[str, list[str]] = {}
    for root in map(module, MODULES):
        for package in sorted(path for path in root.rglob("v1") if path.is_dir()) + sorted(
            root.rglob("autoscaling/v2")
        ):
            table |= {f"{package.name}.{name}": members for name, members in values(package).items()}
    for name, members in BY_REFERENCE.items():
        table[name] = sorted({*table[name], *members})
    rows = ",\n".join(
        f"{json.dumps(name)}:{json.dumps(members, separators=(',', ':'))}" for name, members in sorted(table.items())
    )
    OUT.write_text("{\n" + rows + "\n}\n")
    print(f"{len(table)} enumerations")


if __name__ == "__main__":
    main()
