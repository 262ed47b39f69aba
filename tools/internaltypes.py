"""Reads the internal Go types of Kubernetes, which some error messages print, into src/jobrelay/kinds/data/internal.json.

Usage: python tools/internaltypes.py <source tree of k8s.io/kubernetes>

The table maps `group.Struct` to its fields in order, each a Go name and a type: `*T` pointer, `[T` list, `{` map, `s` text,
`b` bool, `i` number, `Quantity`, `Time`, `IntOrString`, `+group.Struct` embedded, `meta.Struct` for types with JSON names.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

GROUPS = ("core", "batch", "apps")
SCALARS = {"string": "s", "bool": "b", "byte": "i", **{f"{u}int{n}": "i" for u in ("", "u") for n in ("", "8", "16", "32", "64")}}
KNOWN = {
    "resource.Quantity": "Quantity", "metav1.Time": "Time", "metav1.MicroTime": "Time", "intstr.IntOrString": "IntOrString",
    "runtime.RawExtension": "{", "runtime.Object": "{", "types.UID": "s", "types.NodeName": "s", "metav1.ConditionStatus": "s",
}  # fmt: skip
TARGET = Path(__file__).parent.parent / "src/jobrelay/kinds/data/internal.json"


def parse(text: str, group: str) -> tuple[dict[str, list[tuple[str, str]]], dict[str, str]]:
    """The structs with their fields, and the other named types with what they stand for."""
    text = re.sub(r"//[^\n]*", "", text)
    structs = {
        name: [field for line in body.splitlines() if (field := parse_field(line.strip()))]
        for name, body in re.findall(r"^type (\w+) struct \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    }
    named = dict(re.findall(r"^type (\w+) ([\w.\[\]]+)\s*$", text, re.MULTILINE))
    return structs, {name: kind for name, kind in named.items() if name not in structs}


def parse_field(line: str) -> tuple[str, str] | None:
    match = re.fullmatch(r"(\w+)\s+([^\s`]+)(?:\s+`.*`)?", line)
    if match:
        return match.group(1), match.group(2)
    return ("", line.split()[0]) if re.fullmatch(r"[\w.]+(\s+`.*`)?", line) else None


def expression(kind: str, group: str, structs: dict[str, dict[str, object]], named: dict[str, dict[str, str]]) -> str:
    if kind[0] == "*":
        return "*" + expression(kind[1:], group, structs, named)
    if kind.startswith("[]"):
        return "[" + expression(kind[2:], group, structs, named)
    if kind.startswith("map["):
        return "{"
    if kind in SCALARS or kind in KNOWN:
        return SCALARS.get(kind) or KNOWN[kind]
    package, _, name = kind.rpartition(".")
    package = {"": group, "api": "core", "metav1": "meta"}.get(package, package)
    if package == "meta" or name in structs.get(package, {}):
        return f"{package}.{name}"
    return expression(named[package][name], package, structs, named)


def main(tree: Path) -> None:
    structs, named = {}, {}
    for group in GROUPS:
        structs[group], named[group] = parse((tree / f"pkg/apis/{group}/types.go").read_text(), group)
    table = {}
    for group in GROUPS:
        for name, fields in structs[group].items():
            if name.endswith(("List", "Options")) and name not in ("NodeSelector", "WindowsSecurityContextOptions"):
                continue
            table[f"{group}.{name}"] = [
                [go, expression(kind, group, structs, named)] if go else ["", "+" + expression(kind, group, structs, named)]
                for go, kind in fields
                if kind not in ("metav1.TypeMeta",)
            ]
    lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(table[name], separators=(',', ':'))}" for name in sorted(table))
    TARGET.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
