"""Makes answers of two servers comparable: what may differ is replaced by a name, everything else stays as it came.

uids and resourceVersions become UID3.1, RV3.1 ... by the step that first showed them, so their identity (the same
object? a new version?) is still compared and one difference does not rename all that follows. Times, uids and the like
that the scenario itself sent are kept, since an answer must repeat them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import groupby, zip_longest
from typing import Any

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
JWT = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
PEM = re.compile(r"(?:-----BEGIN [A-Z ]+-----.*?-----END [A-Z ]+-----\n?)+", re.DOTALL)
SERVER = re.compile(r"127\.0\.0\.1:\d+")
CLUSTER_IP = re.compile(r"\b10\.(?:0|96)\.\d+\.\d+\b")
POINTER = re.compile(r"\(?0x[0-9a-f]{6,}\)?")
RECORD = re.compile(r"(ResourceVersion in (?:record|the precondition) \()(\d+)\)")
EMBEDDED = re.compile(r'(resourceVersion\\*":\\*")(\d+)')
CURRENT = re.compile(r"(current: )\d+")
AGE = re.compile(r"(\d+[smhdy])+")
API_ACCESS = re.compile(r"kube-api-access-[a-z0-9]{5}\b")
NODE_PORT = re.compile(r"(\d+:)3\d{4}(/)")
GENERATE = re.compile(r"generateName\W{1,5}([A-Za-z0-9._-]+)")
AGE_COLUMNS = frozenset({"Age", "Created At", "Last Schedule", "Duration", "Last Seen", "First Seen", "AGE"})
NODE_PORTS = range(30000, 32768)


class Normaliser:
    """Keeps the names given on one server during one scenario."""

    def __init__(self, names: dict[str, str], sent: str) -> None:
        self.names = names
        self.sent = sent
        self.step, self.own_group = 0, False
        self.given: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self.columns: list[str] = []
        self.prefixes = sorted({p[:58] for p in GENERATE.findall(sent) if p}, key=len, reverse=True)

    def begin(self, step: int, own_group: bool = False) -> None:
        """`own_group`: the answer is about an API group named after the run, so hashes of its name differ."""
        self.step, self.own_group = step, own_group
        self.counts.clear()

    def named(self, kind: str, value: str) -> str:
        key = f"{kind} {value}"
        if key not in self.given:
            self.counts[kind] += 1
            self.given[key] = f"{kind}{self.step}.{self.counts[kind]}"
        return self.given[key]

    def text(self, value: str) -> str:
        for real, name in self.names.items():
            value = value.replace(real, name)
        value = PEM.sub("PEM", JWT.sub("JWT", value))
        value = UID.sub(lambda m: m[0] if m[0] in self.sent else self.named("UID", m[0]), value)
        value = TIME.sub(lambda m: m[0] if m[0] in self.sent else "MICROTIME" if m[1] else "TIME", value)
        value = CLUSTER_IP.sub(lambda m: m[0] if m[0] in self.sent else "IP", SERVER.sub("SERVER", value))
        value = RECORD.sub(lambda m: f"{m[1]}{self.version(m[2])})", CURRENT.sub(r"\1N", POINTER.sub("POINTER", value)))
        value = EMBEDDED.sub(lambda m: m[1] + self.version(m[2]), value)
        value = NODE_PORT.sub(r"\1PORT\2", API_ACCESS.sub("kube-api-access-SUFFIX", value))
        for prefix in self.prefixes:
            value = re.sub(
                re.escape(prefix) + r"[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9])", prefix + "SUFFIX", value
            )
        return value

    def version(self, value: str) -> str:
        if not value.isdigit() or value == "0":
            return value
        return value if f'"{value}"' in self.sent else self.named("RV", value)

    def value(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return self.mapping(value)
        if isinstance(value, list):
            items = [self.value(item) for item in value]
            return sorted(items, key=_manager) if key == "managedFields" else items
        if key == "storageVersionHash" and self.own_group:
            return "HASH"
        if key == "serverAddress":
            return "SERVER"
        if isinstance(value, str):
            return self.version(value) if key == "resourceVersion" else self.text(value)
        if key in ("nodePort", "healthCheckNodePort") and value in NODE_PORTS and str(value) not in self.sent:
            return "PORT"
        return value

    def mapping(self, value: dict[str, Any]) -> dict[str, Any]:
        metadata = value.get("metadata")
        if isinstance(metadata, dict) and ("items" in value or "rows" in value or _is_bookmark(value)):
            value = {**value, "metadata": _list_metadata(metadata)}
        if value.get("kind") in ("APIGroupList", "APIGroupDiscoveryList"):
            value = {k: [g for g in v if _is_built_in(g)] if isinstance(v, list) else v for k, v in value.items()}
        answer = {self.text(k): self.value(v, k) for k, v in sorted(value.items())}
        if value.get("kind") == "Table":
            self.columns = [c.get("name") for c in answer.get("columnDefinitions") or []] or self.columns
            _hide_ages(answer, self.columns)
        return answer


def _is_built_in(group: Any) -> bool:
    """Not a group that someone's custom resources brought to a server."""
    name = str(group.get("name", "") or group.get("metadata", {}).get("name", ""))
    return "." not in name or name.endswith(".k8s.io")


def _is_bookmark(value: dict[str, Any]) -> bool:
    metadata = value.get("metadata", {})
    return "name" not in metadata and "resourceVersion" in metadata and "kind" in value


def _list_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    changed = {**metadata}
    if str(metadata.get("resourceVersion", "")).isdigit():
        changed["resourceVersion"] = "LIST"
    if metadata.get("continue"):
        changed["continue"] = "CONTINUE"
    return changed


def _manager(entry: Any) -> tuple[str, ...]:
    if not isinstance(entry, dict):
        return (str(entry),)
    return tuple(str(entry.get(k, "")) for k in ("manager", "operation", "subresource", "apiVersion"))


def _hide_ages(table: dict[str, Any], columns: list[str]) -> None:
    """Later events of a watch have no column definitions of their own."""
    for row in table.get("rows") or []:
        row["cells"] = [
            "AGE" if name in AGE_COLUMNS and isinstance(cell, str) and AGE.fullmatch(cell) else cell
            for name, cell in zip_longest(columns[: len(row["cells"])], row["cells"])
        ]


def with_sorted_causes(body: Any) -> Any:
    """Sorts the errors about one field, in the causes and in the message of a Status.

    A real server gives those about a map, such as labels, in random order.
    """
    details = body.get("details") if isinstance(body, dict) else None
    causes = details.get("causes") if isinstance(details, dict) else None
    if not isinstance(causes, list) or len(causes) < 2:
        return body
    runs = [list(run) for _, run in groupby(causes, key=lambda cause: cause.get("field"))]
    message = str(body.get("message", ""))
    for run in runs:
        message = message.replace(_joined(run), _joined(sorted(run, key=_text)), 1)
    return {
        **body,
        "message": message,
        "details": {**details, "causes": [cause for run in runs for cause in sorted(run, key=_text)]},
    }


def _joined(causes: list[Any]) -> str:
    return ", ".join(f"{cause.get('field')}: {cause.get('message')}" for cause in causes)


def without_order(body: Any) -> Any:
    """Sorts what a real server gives in random order: causes of a Status and the errors in its message, rules of a
    review."""
    if not isinstance(body, dict):
        return body
    status, details = body.get("status"), body.get("details")
    if isinstance(status, dict):
        return {**body, "status": {k: sorted(v, key=_text) if isinstance(v, list) else v for k, v in status.items()}}
    if not isinstance(details, dict) or not isinstance(details.get("causes"), list):
        return body
    head, opening, tail = str(body.get("message", "")).partition("[")
    message = head + opening + ", ".join(sorted(tail.rstrip("]").split(", "))) if opening else body.get("message")
    return {**body, "message": message, "details": {**details, "causes": sorted(details["causes"], key=_text)}}


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
