"""Requests that no sane client sends: valid ones with parts changed, and noise, all from one seed.

Bodies start as valid objects of every kind. They are changed by the type table (values of the right type but out of any
range, fields that are seldom set) and against it (wrong types, nulls, depth), written as JSON, YAML or protobuf, and now and
then cut or scrambled as bytes.
"""

from __future__ import annotations

import copy
import json
import random
import re
from typing import Any
from urllib.parse import quote

import yaml

from jobrelay.apimachinery.types import Type, type_for_kind
from jobrelay.cluster.apiserver.resources import ResourceTable
from tests.oracle.scenarios._kinds import EVERY
from tests.oracle.scenarios._rich import RICH

from .noise import JSON_TEXTS, PROTOBUF_BYTES, YAML_TEXTS
from .protobuf import encoded
from .serving import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC, YAML, Obj

PROTOBUF = "application/vnd.kubernetes.protobuf"
TEXTS = [
    "", "a", "x" * 64, "x" * 300, "A_b", "a/b", "a.b/c", "/", "..", "%", "é", "\0", "\n", "0", "-1", "1.5", "10%", "101%",
    "1Gi", "1e3", "1e999", "-5m", "100000000000000000000", "1.2.3.4", "::1", "10.0.0.0/8", "fe80::1%eth0", "$(X)", "*", "*.a",
    "2024-01-01T00:00:00Z", "2024-02-30T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1h", "-1s", "5x",
    "*/1 * * * *", "@every 1s", "CRON_TZ=Nowhere * * * * *", "TZ=UTC 0 0 31 2 *", "CN=x", "http://[", "https://a/b", "Always",
    "Never", "Indexed", "Exists", "In", "Foreground", "self.a", "self ==", "[*].a", ".spec.x", "{.a[?(@.b)]}", "true", "null",
    "kubernetes", "foregroundDeletion", "x.example.com/y", "kubernetes.io/service-account-token", "0-3,5", "1-", "9-1", "😀",
    "Secret", "ConfigMap", "Pod", "v1", "apps/v1", "k8s.io/a", "Status", "10s", "0x10", "+1", "1_000", "١", "a\tb", "None",
]  # fmt: skip
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    63,
    100,
    65535,
    65536,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63),
    10**30,
]
ODD = [
    None,
    True,
    False,
    0.5,
    -0.0,
    1e308,
    1e20,
    [],
    {},
    [None],
    {"": None},
    [[]],
    [{}],
    {"a": {"b": {"c": {}}}},
    "",
    *NUMBERS[:9],
]
QUERY = {
    "dryRun": ["All", "", "all"], "fieldManager": ["m", "", "x" * 200, "\x01"], "force": ["true", "false", "x"],
    "fieldValidation": ["Strict", "Warn", "Ignore", "x"], "limit": ["1", "-1", "x", "99999999999999999999"],
    "continue": ["x", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "%ff", "!"],
    "labelSelector": ["a=b", "a in (b", "a notin (b,c)", "!a", "a>1", "a<x", ",", "=", "é=1", "a in ()", "a=b,,c"],
    "fieldSelector": ["metadata.name=x", "metadata.name", "spec.nodeName!=x", "status.phase=Running", "a=b", "=", ",,", "metadata.name=a\\"],
    "resourceVersion": ["0", "1", "x", "-1", "18446744073709551616", "00", "1.0"], "resourceVersionMatch": ["Exact", "NotOlderThan", "x"],
    "timeoutSeconds": ["0", "-1", "x", "1"], "watch": ["true", "1", "x", "false"], "allowWatchBookmarks": ["true"],
    "sendInitialEvents": ["true", "false", "x"], "pretty": ["true", "x"], "includeObject": ["Object", "None", "x"],
    "gracePeriodSeconds": ["0", "-5", "x", "9999999999"], "propagationPolicy": ["Foreground", "Orphan", "Background", "x"],
    "orphanDependents": ["true", "x"], "container": ["main", "x"], "tailLines": ["-1", "x", "5"], "sinceTime": ["x", "2024-01-01T00:00:00Z"],
    "limitBytes": ["0", "1"], "follow": ["true"], "stream": ["Stdout", "x"], "timeout": ["1.5s", "x"], "command": ["sh"], "export": ["1"],
}  # fmt: skip
GADGET_PATH = "/apis/fuzz.example/v1/namespaces/default/gadgets"
GADGET: Obj = {
    "apiVersion": "fuzz.example/v1", "kind": "Gadget", "metadata": {"name": "g"},
    "spec": {"size": 3, "port": "http", "any": {"x": 1.5}, "list": [{"key": "a"}], "words": ["a"], "map": {"k": {"v": 1}}, "when": "2024-01-01T00:00:00Z"},
    "status": {"ready": 1},
}  # fmt: skip
_SPEC: Obj = {
    "size": {"type": "integer", "default": 1, "minimum": 0, "x-kubernetes-validations": [{"rule": "self <= 10 || self == oldSelf"}]},
    "port": {"x-kubernetes-int-or-string": True}, "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "list": {
        "type": "array", "maxItems": 9, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"],
        "items": {"type": "object", "required": ["key"], "properties": {"key": {"type": "string", "maxLength": 9}, "n": {"type": "number", "nullable": True}}},
        "x-kubernetes-validations": [{"rule": "self.all(x, x.key.size() > 0)", "message": "empty key"}],
    },
    "words": {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 9, "items": {"type": "string", "pattern": "^[a-z]*$"}},
    "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"v": {"type": "integer", "multipleOf": 1}}}},
    "when": {"type": "string", "format": "date-time"},
    "embedded": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
}  # fmt: skip
_STATUS: Obj = {"type": "object", "properties": {"ready": {"type": "integer"}}}
_GADGET_SCHEMA: Obj = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": _SPEC}, "status": _STATUS},
}
GADGETS: Obj = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gadgets.fuzz.example"},
    "spec": {
        "group": "fuzz.example", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _GADGET_SCHEMA},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"}},
                "additionalPrinterColumns": [{"name": "When", "type": "date", "jsonPath": ".spec.when"}, {"name": "Any", "type": "string", "jsonPath": ".spec.any"}],
            }
        ],
    },
}  # fmt: skip
METHODS = ["POST"] * 8 + ["PUT"] * 8 + ["PATCH"] * 12 + ["GET"] * 3 + ["DELETE", "HEAD", "OPTIONS"]
TABLE = "as=Table;g=meta.k8s.io;v=v1"
ACCEPTS = [
    "", "*/*", JSON, YAML, PROTOBUF, f"{PROTOBUF},{JSON}", "text/html", "x", ";", ",", "application/*", f"{JSON};{TABLE}",
    f"{YAML};{TABLE}", f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1", f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    f"{JSON};as=x;g=y;v=z", f"{JSON};q=x", f"{JSON};stream=watch", f"{JSON};as=Table", "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
]  # fmt: skip
TYPES = [
    JSON,
    YAML,
    PROTOBUF,
    MERGE,
    STRATEGIC,
    JSON_PATCH,
    APPLY,
    "",
    "text/plain",
    "x;y",
    "application/json; charset=utf-8",
]
PATHS = ["", "/", "api", "apis", "version", "healthz", "livez", "readyz", "metrics", "openapi", "v2", "v3", "v1", "namespaces", "default",
         "pods", "batch", "jobs", "watch", "status", "scale", "log", "apps", "..", ".", "%2f", "é", "x", "x" * 300, "proxy", "token", "nodes"]  # fmt: skip


def corpus() -> list[tuple[str, Obj]]:
    """Valid objects of every kind, with the paths that they are created at."""
    found = [(kind.collection, kind.body) for kind in EVERY] + list(RICH.values())
    found += [("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", GADGETS)] + [(GADGET_PATH, GADGET)] * 4
    text = re.sub(r"\{\{\w+\}\}", "default", json.dumps(found))
    return [(path, body) for path, body in json.loads(text)]


class Fuzzer:
    """Makes requests from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.corpus = corpus()
        self.served = list(ResourceTable())

    def chance(self, percent: int) -> bool:
        return self.random.random() * 100 < percent

    def request(self) -> tuple[str, str, bytes, dict[str, str]]:
        """A method, a target, a body and headers."""
        method = self.random.choice(METHODS)
        path, media, body = self._written(method)
        if self.chance(8):
            media, body = self._noise(media)
        headers = {"Content-Type": media}
        if self.chance(10):
            headers["Accept"] = self.random.choice(ACCEPTS)
        if self.chance(3):
            headers[
                self.random.choice(
                    [
                        "Impersonate-User",
                        "Impersonate-Group",
                        "Impersonate-Uid",
                        "Impersonate-Extra-x",
                        "Authorization",
                        "User-Agent",
                    ]
                )
            ] = self.text()
        if self.chance(5):
            path = "/" + "/".join(self.random.choice(PATHS) for _ in range(self.random.randrange(1, 8)))
        query = self._query()
        if media == APPLY and not self.chance(5):
            query += ("&" if query else "?") + "fieldManager=m" + ("&force=true" if self.chance(70) else "")
        return method, path + query, body, headers

    def _query(self) -> str:
        if not self.chance(40):
            return ""
        names = self.random.choices(list(QUERY), k=self.random.randrange(1, 4))
        return "?" + "&".join(f"{name}={quote(self.random.choice(QUERY[name]), safe='%')}" for name in names)

    def _written(self, method: str) -> tuple[str, str, bytes]:
        collection, valid = self.random.choice(self.corpus)
        obj = copy.deepcopy(valid)
        name = obj.get("metadata", {}).get("name", "x")
        type_ = type_for_kind(obj.get("apiVersion", ""), obj.get("kind", ""))
        for _ in range(self.random.choice([0, 1, 1, 1, 2, 3, 6])):
            obj = self.mutated(obj, type_)
        path = collection
        if method != "POST" and not self.chance(5):
            path += f"/{name}"
        if self.chance(15):
            path += "/" + self.random.choice(
                [
                    "status",
                    "scale",
                    "log",
                    "binding",
                    "eviction",
                    "token",
                    "finalize",
                    "approval",
                    "ephemeralcontainers",
                    "resize",
                    "exec",
                    "x",
                ]
            )
            if path.endswith("scale"):
                obj = {"metadata": {"name": name}, "spec": {"replicas": self.random.choice([*NUMBERS, *ODD])}}
        if method == "PATCH":
            return (path, *self._patch(obj))
        return (path, *self._encoded(obj, type_))

    def _noise(self, media: str) -> tuple[str, bytes]:
        if media in (YAML, APPLY):
            return media, self.random.choice(YAML_TEXTS).encode("utf-8", "surrogatepass")
        if media == PROTOBUF:
            return media, self.random.choice(PROTOBUF_BYTES)
        return media, self.random.choice(JSON_TEXTS).encode("utf-8", "surrogatepass")

    def _encoded(self, obj: Any, type_: Type | None) -> tuple[str, bytes]:
        form = self.random.choice(["json", "json", "json", "yaml", "protobuf"])
        if form == "yaml":
            return YAML, self.scrambled(yaml.safe_dump(obj, allow_unicode=self.chance(50)).encode())
        if form == "protobuf" and type_ is not None and isinstance(obj, dict):
            return PROTOBUF, self.scrambled(encoded(obj, type_))
        media = JSON if self.chance(95) else self.random.choice(TYPES)
        return media, self.scrambled(json.dumps(obj).encode())

    def _patch(self, obj: Any) -> tuple[str, bytes]:
        media = self.random.choice([MERGE, STRATEGIC, APPLY, JSON_PATCH])
        value: Any = obj
        if media == JSON_PATCH:
            value = [self._operation(obj) for _ in range(self.random.randrange(1, 4))]
        elif media == STRATEGIC and self.chance(50):
            value = self._directed(obj)
        if self.chance(3):
            value = self.random.choice(ODD)
        return media if self.chance(97) else self.random.choice(TYPES), self.scrambled(json.dumps(value).encode())

    def _operation(self, obj: Any) -> Any:
        place = "/".join(str(step) for step in self._place(obj)[0])
        op = self.random.choice(["add", "remove", "replace", "move", "copy", "test", "x", 1])
        made: Obj = {
            "op": op,
            "path": "/" + place + self.random.choice(["", "", "", "/-", "/0", "/99", "/~", "/~1"]),
            "value": self.odd(),
        }
        if self.chance(40):
            made["from"] = "/" + "/".join(str(step) for step in self._place(obj)[0])
        for key in list(made):
            if self.chance(4):
                made[key] = self.odd()
            elif self.chance(2):
                del made[key]
        return made

    def _directed(self, obj: Any) -> Any:
        """A strategic merge patch with directives at odd places."""
        path, target = self._place(obj)
        name = str(path[-1]) if path else "x"
        if isinstance(target, dict):
            key = self.random.choice(
                ["$patch", "$retainKeys", f"$setElementOrder/{name}", f"$deleteFromPrimitiveList/{name}"]
            )
            target[key] = self.random.choice(["delete", "replace", "merge", "x", ["a"], [{"name": "c"}], *ODD])
        elif isinstance(target, list):
            target.append(
                self.random.choice(
                    [{"$patch": "delete"}, {"$patch": "replace"}, {"name": "x", "$patch": "delete"}, *ODD]
                )
            )
        return obj

    # Values.

    def text(self) -> str:
        return self.random.choice(TEXTS)

    def odd(self) -> Any:
        return self.text() if self.chance(40) else copy.deepcopy(self.random.choice(ODD))

    def typed(self, type_: Type, depth: int = 0) -> Any:
        """A value that the type allows, whatever it means."""
        kind = type_.kind
        if kind == "struct":
            chosen = [field for field in type_.fields.values() if self.chance(25 if depth < 3 else 10)]
            return {field.name: self.typed(field.type, depth + 1) for field in chosen if depth < 8}
        if kind == "list":
            assert type_.elem is not None
            return [self.typed(type_.elem, depth + 1) for _ in range(self.random.choice([0, 1, 1, 2]))]
        if kind == "map":
            assert type_.elem is not None
            return {self.text(): self.typed(type_.elem, depth + 1) for _ in range(self.random.choice([0, 1, 2]))}
        if kind == "b":
            return self.chance(50)
        if kind in ("i32", "i64") or (kind.startswith("u") and kind[1:].isdigit()):
            return self.random.choice(NUMBERS[:10] if self.chance(80) else NUMBERS)
        if kind in ("IntOrString", "Quantity") and self.chance(40):
            return self.random.choice(NUMBERS)
        if kind in ("Raw", "Fields", "union", "f64"):
            return self.odd()
        return self.text()

    def _place(self, obj: Any) -> tuple[list[Any], Any]:
        """A random path into a value, and what is there."""
        path: list[Any] = []
        while isinstance(obj, dict | list) and obj and not (path and self.chance(20)):
            step = self.random.choice(list(obj)) if isinstance(obj, dict) else self.random.randrange(len(obj))
            path.append(step)
            obj = obj[step]
        return path, obj

    def mutated(self, obj: Any, type_: Type | None) -> Any:
        """A value with one part changed."""
        if not isinstance(obj, dict) or not obj:
            return obj
        here: Any = obj
        while True:
            fields = type_.fields if type_ is not None and type_.kind == "struct" else {}
            if fields and isinstance(here, dict) and self.chance(25):
                field = self.random.choice(list(fields.values()))
                here[field.name] = self.typed(field.type)
                return obj
            step = self.random.choice(list(here)) if isinstance(here, dict) else self.random.randrange(len(here))
            if step in ("apiVersion", "kind") and len(here) > 2 and not self.chance(3):
                continue
            below = (
                fields[step].type
                if step in fields
                else type_.elem
                if type_ is not None and type_.kind in ("list", "map")
                else None
            )
            child = here[step]
            if isinstance(child, dict | list) and child and not self.chance(15):
                here, type_ = child, below
                continue
            self._change(here, step, below)
            return obj

    def _change(self, here: Any, step: Any, type_: Type | None) -> None:
        choice = self.random.randrange(6)
        if choice == 0:
            del here[step]
        elif choice == 1 and isinstance(here, list):
            here.append(copy.deepcopy(here[step]))
        elif choice == 2 and isinstance(here, dict):
            here[self.text()] = here.pop(step)
        elif choice == 3 or type_ is None:
            here[step] = self.odd()
        else:
            here[step] = self.typed(type_)

    def scrambled(self, raw: bytes) -> bytes:
        """Mostly the bytes as they are; sometimes cut, or with some of them changed."""
        if not raw or not self.chance(6):
            return raw
        if self.chance(30):
            return raw[: self.random.randrange(len(raw))]
        changed = bytearray(raw)
        for _ in range(self.random.choice([1, 1, 2, 8])):
            changed[self.random.randrange(len(changed))] = self.random.choice(
                [0, 9, 10, 34, 44, 58, 91, 123, 125, 128, 255, self.random.randrange(256)]
            )
        return bytes(changed)
