"""Custom resources: definitions and their refusals, schemas, pruning, defaults, CEL, subresources, columns,
versions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..model import (
    JSON_PATCH,
    MERGE,
    PARTIAL,
    STRATEGIC,
    TABLE,
    YAML,
    Scenario,
    Step,
    apply,
    delete,
    get,
    patch,
    post,
    put,
    request,
    scenario,
)
from ._objects import cases, having, without

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "{{run}}.example.com"
NAME = f"widgets.{GROUP}"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/{{{{ns}}}}/widgets"
W = f"{WIDGETS}/a"
Schema = dict[str, Any]


def _object(properties: Schema, **more: Any) -> Schema:
    return {"type": "object", "properties": properties, **more}


def _version(schema: Schema | None, name: str = "v1", **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"name": name, "served": True, "storage": True, **more}
    return body if schema is None else {**body, "schema": {"openAPIV3Schema": schema}}


def crd(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    names = {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
        "shortNames": ["wd"],
        "categories": ["all"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": list(versions), **spec},
    }


def widget(name: str = "a", version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": name}, **fields}


def _ready() -> list[Step]:
    """The definition is established a moment after its creation; its discovery a little later."""
    return [get(WIDGETS, until=200), get(f"/openapi/v3/apis/{GROUP}/v1", until=200, pick=(("openapi",),))]


def _with(schema: Schema, steps: Iterator[Step] | list[Step], name: str, **more: Any) -> Scenario:
    version = {k: more.pop(k) for k in ("subresources", "additionalPrinterColumns", "selectableFields") if k in more}
    return scenario(
        f"crds-{name}", [post(CRDS, crd(_version(schema, **version), **more)), *_ready(), *steps], [f"{CRDS}/{NAME}"]
    )


SPEC: Schema = {
    "size": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
    "colour": {"type": "string", "enum": ["red", "green"]},
    "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
    "tags": {
        "type": "array",
        "items": {"type": "string"},
        "maxItems": 3,
        "minItems": 1,
        "x-kubernetes-list-type": "set",
    },
    "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0, "multipleOf": 0.5},
    "on": {"type": "boolean"},
    "ports": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port"],
        "items": _object(
            {"port": {"type": "integer"}, "proto": {"type": "string", "default": "TCP"}}, required=["port"]
        ),
    },
    "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2},
    "value": {"x-kubernetes-int-or-string": True},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "when": {"type": "string", "format": "date-time"},
    "day": {"type": "string", "format": "date"},
    "duration": {"type": "string", "format": "duration"},
    "ip": {"type": "string", "format": "ipv4"},
    "bytes": {"type": "string", "format": "byte"},
    "uuid": {"type": "string", "format": "uuid"},
    "uri": {"type": "string", "format": "uri"},
    "mail": {"type": "string", "format": "email"},
    "host": {"type": "string", "format": "hostname"},
    "cidr": {"type": "string", "format": "cidr"},
    "maybe": {"type": "string", "nullable": True},
    "deep": _object(
        {"a": {"type": "string", "default": "x"}, "b": _object({"c": {"type": "integer", "default": 5}}, default={})},
        default={},
    ),
    "either": {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
        "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
    },
    "embedded": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "int64": {"type": "integer", "format": "int64"},
    "int32": {"type": "integer", "format": "int32"},
    "notFive": {"type": "integer", "not": {"enum": [5]}},
    "any": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
}
SCHEMA = _object(
    {
        "spec": _object(SPEC, required=["size"]),
        "status": _object(
            {
                "phase": {"type": "string"},
                "count": {"type": "integer"},
                "conditions": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                    "items": _object({"type": {"type": "string"}, "status": {"type": "string"}}, required=["type"]),
                },
            }
        ),
    }
)

VALUES: list[tuple[str, Any]] = [
    ("size", 0),
    ("size", 11),
    ("size", "5"),
    ("size", 4.0),
    ("size", 4.5),
    ("size", True),
    ("size", None),
    ("size", 9999999999999999999999),
    ("colour", "blue"),
    ("colour", 5),
    ("name", "a"),
    ("name", "toolong"),
    ("name", "AB"),
    ("name", "A"),
    ("name", "ab"),
    ("tags", []),
    ("tags", ["a", "b", "c", "d"]),
    ("tags", ["a", "a"]),
    ("tags", ["a", 5]),
    ("tags", "a"),
    ("ratio", 0),
    ("ratio", 0.5),
    ("ratio", 0.3),
    ("ratio", 1),
    ("ratio", "1"),
    ("on", "true"),
    ("on", 1),
    ("ports", [{"port": 1}, {"port": 1}]),
    ("ports", [{}]),
    ("ports", [{"port": 1}, {"port": 2, "proto": "UDP", "extra": 1}]),
    ("ports", [5]),
    ("labels", {"a": "b"}),
    ("labels", {"a": 5}),
    ("labels", {"a": "1", "b": "2", "c": "3"}),
    ("labels", []),
    ("value", 5),
    ("value", "5%"),
    ("value", 5.5),
    ("value", True),
    ("free", {"a": {"b": [1]}}),
    ("free", "x"),
    ("when", "2024-01-01T00:00:00Z"),
    ("when", "yesterday"),
    ("day", "2024-01-01"),
    ("day", "2024-13-01"),
    ("duration", "5s"),
    ("duration", "x"),
    ("ip", "1.2.3.4"),
    ("ip", "x"),
    ("bytes", "aGk="),
    ("bytes", "!"),
    ("uuid", "x"),
    ("uri", "http://x/y"),
    ("uri", "::"),
    ("mail", "a@b.c"),
    ("mail", "x"),
    ("host", "a.b"),
    ("host", "a_b!"),
    ("cidr", "10.0.0.0/8"),
    ("cidr", "x"),
    ("maybe", None),
    ("maybe", "x"),
    ("maybe", 5),
    ("deep", {}),
    ("deep", {"a": "y", "zzz": 1}),
    ("deep", {"b": {}}),
    ("deep", {"b": None}),
    ("deep", None),
    ("deep", []),
    ("either", {}),
    ("either", {"x": 1}),
    ("either", {"x": 1, "y": 2}),
    ("embedded", {}),
    (
        "embedded",
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Bad_", "labels": {"a": 5}}, "any": {"x": 1}},
    ),
    ("embedded", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ok", "unknown": 1}, "any": {"x": 1}}),
    ("embedded", {"apiVersion": "a/b/c", "kind": "Bad Kind", "metadata": {}}),
    ("int64", 9223372036854775807),
    ("int64", 9223372036854775808),
    ("int32", 3000000000),
    ("notFive", 5),
    ("notFive", 6),
    ("any", 5),
    ("any", "x"),
    ("any", 1.5),
    ("unknown", 1),
    ("unknown", {"a": {"b": 1}}),
]


def _values() -> Iterator[Step]:
    for number, (field, value) in enumerate(VALUES):
        yield post(WIDGETS, widget(f"v{number}", spec={"size": 2, field: value}), unordered=True)
    yield post(WIDGETS, widget("several", spec={"size": 50, "colour": "blue", "name": "A", "tags": []}), unordered=True)
    for number, body in enumerate(
        cases(
            {"spec": {}},
            {},
            {"spec": None},
            {"spec": 5},
            {"spec": {"size": 2}, "extra": {"a": 1}},
            {"spec": {"size": 2}, "status": {"phase": "x"}},
            {"spec": {"size": 2}, "metadata": {"name": "m", "colour": 1}},
            {"spec": {"size": 2}, "metadata": {"name": "Bad_"}},
            {"spec": {"size": 2}, "metadata": {"name": "l", "labels": {"a": 5}}},
            {"spec": {"size": 2}, "kind": "Other"},
            {"spec": {"size": 2}, "kind": None},
            {"spec": {"size": 2}, "apiVersion": "v1"},
            {"spec": {"size": 2}, "apiVersion": f"{GROUP}/v9"},
            {"spec": {"size": 2}, "metadata": {"generateName": "g-"}},
            {"spec": {"size": 2}, "metadata": {}},
            {"spec": {"size": 2}, "metadata": []},
            {"spec": {"size": 2}, "metadata": {"name": "rv", "resourceVersion": "5"}},
        )
    ):
        yield post(
            WIDGETS,
            {k: v for k, v in {**widget(f"b{number}"), **body}.items() if v is not None or k == "spec"},
            unordered=True,
        )
    for text in ("", "null", "[]", "{", "5", "{}", '{"kind": "Widget"}'):
        yield post(WIDGETS, text)
    body = json.dumps(widget("dup", spec={"size": 2}))
    for level in ("Strict", "Warn", "Ignore"):
        yield post(
            f"{WIDGETS}?dryRun=All&fieldValidation={level}",
            body.replace('"size": 2', '"size": 2, "size": 3, "zzz": 1, "aaa": 2'),
        )
        yield post(
            f"{WIDGETS}?dryRun=All&fieldValidation={level}",
            widget("u", spec={"size": 2, "ports": [{"port": 1, "z": 1}], "deep": {"q": 1}}, extra=1),
        )
        yield post(
            f"{WIDGETS}?dryRun=All&fieldValidation={level}",
            f"apiVersion: {GROUP}/v1\nkind: Widget\nmetadata:\n  name: y\nspec:\n  size: 2\n  size: 3\n  other: 1\n",
            YAML,
        )
    yield post(WIDGETS, widget("media", spec={"size": 2}), "text/plain")
    yield post(WIDGETS, widget("media", spec={"size": 2}), "application/vnd.kubernetes.protobuf")
    yield get(f"{WIDGETS}/b5", "application/vnd.kubernetes.protobuf")
    yield get(f"{WIDGETS}/b5", "application/vnd.kubernetes.protobuf, application/json")


def _life() -> Iterator[Step]:
    yield post(WIDGETS, widget(spec={"size": 2}), capture={"rv": "metadata.resourceVersion", "uid": "metadata.uid"})
    yield post(WIDGETS, widget(spec={"size": 2}))
    yield get(W)
    yield get(W, TABLE)
    yield get(W, PARTIAL)
    yield get(WIDGETS)
    yield get(WIDGETS, TABLE)
    yield get(f"/apis/{GROUP}/v1/widgets?fieldSelector=metadata.name=a")
    yield put(W, widget(spec={"size": 3}))
    yield put(
        W,
        having(widget(spec={"size": 3}), "{{rv}}", "metadata", "resourceVersion"),
        capture={"rv2": "metadata.resourceVersion"},
    )
    yield put(W, having(widget(spec={"size": 4}), "{{rv}}", "metadata", "resourceVersion"))
    yield put(
        W,
        having(having(widget(spec={"size": 4}), "{{rv2}}", "metadata", "resourceVersion"), "wrong", "metadata", "uid"),
    )
    yield put(W, having(widget("other", spec={"size": 4}), "{{rv2}}", "metadata", "resourceVersion"))
    yield put(f"{WIDGETS}/none", having(widget("none", spec={"size": 4}), "{{rv2}}", "metadata", "resourceVersion"))
    yield put(f"{WIDGETS}/none", widget("none", spec={"size": 4}))
    for media, body in (
        (MERGE, {"spec": {"size": 5}}),
        (MERGE, {"spec": {"size": 50}}),
        (MERGE, {"spec": {"size": None}}),
        (MERGE, {"spec": None}),
        (MERGE, {"spec": {"ports": [{"port": 1}]}}),
        (MERGE, {"status": {"phase": "x"}}),
        (MERGE, {"metadata": {"labels": {"a": "b"}}}),
        (MERGE, {"kind": "X"}),
        (MERGE, {"apiVersion": None}),
        (STRATEGIC, {"spec": {"size": 5}}),
        (JSON_PATCH, [{"op": "replace", "path": "/spec/size", "value": 6}]),
        (JSON_PATCH, [{"op": "remove", "path": "/spec/none"}]),
        (JSON_PATCH, [{"op": "test", "path": "/metadata/resourceVersion", "value": "1"}]),
        (JSON_PATCH, [{"op": "add", "path": "/metadata/finalizers", "value": ["a.b/c"]}]),
        (MERGE, {"spec": {"zzz": 1}}),
        (MERGE, {"spec": {"size": "x"}}),
        (MERGE, "{"),
        (MERGE, []),
        ("application/json", {}),
        ("text/plain", {}),
    ):
        yield patch(W, body, media)
    yield patch(W + "?fieldValidation=Strict", {"spec": {"zzz": 1}})
    yield apply(W, widget(spec={"size": 7}))
    yield apply(W, widget(spec={"size": 7}), force=True)
    yield apply(W, widget(spec={"size": 7, "ports": [{"port": 1, "proto": "TCP"}, {"port": 3}], "tags": ["a"]}), "two")
    yield apply(W, widget(spec={"size": 7, "ports": [{"port": 2}], "tags": ["b"]}), "three")
    yield apply(W, widget(spec={"zzz": 7}), "bad")
    yield apply(W, widget(spec={"size": "x"}), "bad")
    yield apply(W, widget(spec={"size": 99}), "bad", True)
    yield apply(W, widget(spec={"ports": [{"port": 1}, {"port": 1}]}), "bad", True)
    yield apply(W, widget(spec={"free": {"a": {"b": 1}}, "labels": {"x": "y"}, "value": 5}), "four")
    yield apply(W, widget(spec={"free": {"a": {"c": 1}}, "labels": {"x": "z"}, "value": "5"}), "five")
    yield apply(W, widget(), "two")
    yield apply(f"{WIDGETS}/new", widget("new", spec={"colour": "red"}))
    yield get(W)
    yield delete(W, {"propagationPolicy": "Foreground", "dryRun": ["All"]})
    yield delete(W)
    yield post(WIDGETS, widget(spec={"size": 2}))
    yield patch(W, {"metadata": {"finalizers": None}})
    yield get(W)
    yield delete(f"{WIDGETS}/new")
    yield get(f"{WIDGETS}?watch=1&timeoutSeconds=1&resourceVersion={{{{rv}}}}")
    yield get(f"{WIDGETS}?watch=1&timeoutSeconds=1&resourceVersion={{{{rv}}}}", TABLE)
    for query in (
        "fieldSelector=spec.size=1",
        "fieldSelector=bad=1",
        "fieldSelector=metadata.namespace={{ns}}",
        "limit=1",
        "labelSelector=!!",
    ):
        yield get(f"{WIDGETS}?{query}")
    yield delete(WIDGETS)
    yield request("POST", f"{WIDGETS}/a/status", {})
    yield get(f"{WIDGETS}/a/scale")
    yield get(f"{WIDGETS}/a/nothing")
    yield get(f"/apis/{GROUP}")
    yield get(f"/apis/{GROUP}/v1")
    yield get(f"/openapi/v3/apis/{GROUP}/v1", pick=(("components", "schemas", "*"), ("paths", "*")))
    yield get(f"{CRDS}/{NAME}")
    yield get(f"{CRDS}/{NAME}", TABLE)


def _status() -> Iterator[Step]:
    s = f"{W}/status"
    yield post(
        WIDGETS, widget(spec={"size": 2}, status={"phase": "ignored"}), capture={"rv": "metadata.resourceVersion"}
    )
    yield put(
        s, having(widget(spec={"size": 9}, status={"phase": "x", "count": 5}), "{{rv}}", "metadata", "resourceVersion")
    )
    yield put(s, widget(status={"phase": "y"}))
    yield patch(
        s, {"status": {"phase": "z"}, "metadata": {"labels": {"a": "b"}, "finalizers": ["a.b/c"]}, "spec": {"size": 8}}
    )
    yield patch(s, {"status": {"phase": 5}})
    yield patch(s, {"status": None})
    yield patch(W, {"status": {"phase": "main"}, "spec": {"size": 4}})
    yield patch(W, {"status": {"phase": "main"}})
    yield apply(s, widget(status={"conditions": [{"type": "A", "status": "True"}]}))
    yield apply(s, widget(status={"conditions": [{"type": "B", "status": "True"}]}), "b")
    yield apply(s, widget(status={"conditions": [{"type": "A", "status": "False"}]}), "b")
    yield apply(s, widget(spec={"size": None}, status={"phase": "forced"}), "b", True)
    yield apply(f"{WIDGETS}/none/status", widget("none", status={"phase": "x"}))
    yield get(s)
    yield get(f"{W}/scale")
    yield put(
        f"{W}/scale",
        {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 7}},
    )
    yield put(
        f"{W}/scale",
        {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "a", "resourceVersion": "{{rv}}"},
            "spec": {"replicas": 7},
        },
    )
    yield patch(f"{W}/scale", {"spec": {"replicas": 6}})
    yield patch(f"{W}/scale", {"spec": {"replicas": -1}})
    yield patch(f"{W}/scale", {"spec": {"replicas": 60}})
    yield patch(f"{W}/scale", {"spec": {"replicas": 5}}, STRATEGIC)
    yield patch(s, {"status": {"count": 3}})
    yield get(f"{W}/scale")
    yield get(f"{WIDGETS}/none/scale")
    yield get(W)
    yield get(f"/apis/{GROUP}/v1")


CEL_SCHEMA = _object(
    {
        "spec": _object(
            {
                "min": {"type": "integer"},
                "max": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 100"}]},
                "fixed": {
                    "type": "string",
                    "maxLength": 20,
                    "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}],
                },
                "list": {
                    "type": "array",
                    "maxItems": 10,
                    "items": {
                        "type": "integer",
                        "x-kubernetes-validations": [
                            {"rule": "self > 0", "message": "must be positive", "reason": "FieldValueForbidden"}
                        ],
                    },
                    "x-kubernetes-validations": [
                        {
                            "rule": "self.all(x, x < 50)",
                            "messageExpression": "size(self) > 1 ? 'some are too big' : 'it is too big'",
                        },
                        {"rule": "size(self) < 2 || self[0] <= self[1]", "message": "not sorted", "fieldPath": "[0]"},
                    ][:1],
                },
                "mode": {
                    "type": "string",
                    "maxLength": 10,
                    "x-kubernetes-validations": [
                        {"rule": "self in ['a', 'b']", "message": "mode is a or b", "reason": "FieldValueInvalid"}
                    ],
                },
                "map": {
                    "type": "object",
                    "maxProperties": 5,
                    "additionalProperties": {"type": "string", "maxLength": 10},
                    "x-kubernetes-validations": [
                        {"rule": "self.all(k, k.startsWith('x'))", "message": "keys start with x"}
                    ],
                },
                "when": {
                    "type": "string",
                    "format": "date-time",
                    "x-kubernetes-validations": [
                        {"rule": "self > timestamp('2020-01-01T00:00:00Z')", "message": "too old"}
                    ],
                },
                "q": {
                    "x-kubernetes-int-or-string": True,
                    "x-kubernetes-validations": [
                        {"rule": "type(self) == int ? self > 0 : self.endsWith('%')", "message": "bad q"}
                    ],
                },
                "index": {
                    "type": "array",
                    "maxItems": 5,
                    "items": {"type": "integer"},
                    "x-kubernetes-validations": [{"rule": "self[7] == 1", "message": "wrong index"}],
                },
                "once": {
                    "type": "integer",
                    "x-kubernetes-validations": [
                        {
                            "rule": "!oldSelf.hasValue() || self >= oldSelf.value()",
                            "optionalOldSelf": True,
                            "message": "may not shrink",
                        }
                    ],
                },
                "quantity": {
                    "type": "string",
                    "maxLength": 20,
                    "x-kubernetes-validations": [
                        {
                            "rule": "isQuantity(self) && quantity(self).isGreaterThan(quantity('1Gi'))",
                            "message": "too small",
                        }
                    ],
                },
                "re": {
                    "type": "string",
                    "maxLength": 20,
                    "x-kubernetes-validations": [{"rule": "self.matches('^a+$')", "message": "only a"}],
                },
            },
            **{
                "x-kubernetes-validations": [
                    {"rule": "!has(self.min) || !has(self.max) || self.min <= self.max", "message": "min is above max"},
                    {
                        "rule": "!has(self.mode) || self.mode != 'b' || has(self.list)",
                        "message": "b needs a list",
                        "fieldPath": ".list",
                        "reason": "FieldValueRequired",
                    },
                    {"rule": "!has(oldSelf.mode) || has(self.mode)", "message": "mode cannot be removed"},
                ]
            },
        )
    },
    **{
        "x-kubernetes-validations": [
            {"rule": "self.metadata.name != 'forbidden'", "message": "forbidden name"},
            {"rule": "!has(self.spec) || !has(self.spec.min) || self.spec.min != 13"},
        ]
    },
)


def _cel() -> Iterator[Step]:
    for number, spec in enumerate(
        (
            {},
            {"min": 5, "max": 3},
            {"max": 100},
            {"min": 5, "max": 200},
            {"list": [1, 2]},
            {"list": [0]},
            {"list": [60, -1]},
            {"mode": "c"},
            {"mode": "b"},
            {"mode": "b", "list": [1]},
            {"map": {"x": "1", "y": "2"}},
            {"when": "2019-01-01T00:00:00Z"},
            {"q": 0},
            {"q": "5"},
            {"q": "5%"},
            {"index": [1]},
            {"min": "x", "max": 500},
            {"once": 5},
            {"quantity": "2Gi"},
            {"quantity": "1"},
            {"quantity": "x"},
            {"re": "aab"},
            {"min": 13},
            {"fixed": "a", "max": 1000, "mode": "zzzzzzzzzzzzz"},
            {"list": [1] * 11},
        )
    ):
        yield post(WIDGETS, widget(f"c{number}", spec=spec), unordered=True)
    yield post(WIDGETS, widget("forbidden", spec={}), unordered=True)
    yield post(WIDGETS, widget("nospec"))
    yield post(WIDGETS, widget(spec={"fixed": "a", "once": 5, "mode": "a"}))
    for spec in (
        {"fixed": "b"},
        {"fixed": None},
        {"fixed": "c"},
        {"once": 4},
        {"once": 6},
        {"mode": None},
        {"min": 9},
        {"max": 4},
        {"max": 5000},
        {"fixed": "zz", "once": 1, "mode": "q"},
    ):
        yield patch(W, {"spec": spec}, unordered=True)
    yield apply(W, widget(spec={"max": 1}), "cel")


def _columns() -> Iterator[Step]:
    yield post(
        WIDGETS,
        widget(
            spec={
                "size": 2,
                "colour": "red",
                "when": "2024-01-01T00:00:00Z",
                "tags": ["x", "y"],
                "on": True,
                "ratio": 1.5,
                "deep": {"a": "q"},
            }
        ),
    )
    yield post(WIDGETS, widget("b", spec={"size": 3}))
    yield get(WIDGETS, TABLE)
    yield get(W, TABLE)
    yield get(f"{WIDGETS}?includeObject=None", TABLE)
    yield get(f"{WIDGETS}?fieldSelector=spec.colour=red", TABLE)
    yield get(f"{WIDGETS}?fieldSelector=spec.colour=")
    yield get(f"{WIDGETS}?fieldSelector=spec.size=3")
    yield get(f"{WIDGETS}?fieldSelector=spec.size!=3")
    yield get(f"{WIDGETS}?fieldSelector=spec.name=3")
    yield get(f"{WIDGETS}?fieldSelector=spec.on=true&watch=1&timeoutSeconds=1")


COLUMNS = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "how big"},
    {"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "priority": 1},
    {"name": "When", "type": "date", "jsonPath": ".spec.when"},
    {"name": "Tags", "type": "string", "jsonPath": ".spec.tags"},
    {"name": "First", "type": "string", "jsonPath": ".spec.tags[0]"},
    {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
    {"name": "Ratio", "type": "number", "jsonPath": ".spec.ratio"},
    {"name": "Deep", "type": "string", "jsonPath": ".spec.deep"},
    {"name": "Filter", "type": "string", "jsonPath": ".spec.ports[?(@.port==1)].proto"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "format": "date-time"},
]


def _versions() -> Iterator[Step]:
    old, new = (
        _object({"spec": _object({"size": {"type": "integer"}, "old": {"type": "string"}})}),
        _object({"spec": _object({"size": {"type": "integer"}, "fresh": {"type": "string", "default": "f"}})}),
    )
    body = crd(
        _version(old, "v1alpha1", storage=False, deprecated=True),
        _version(new),
        _version(new, "v2", storage=False, served=False),
        _version(new, "v1beta1", storage=False, deprecated=True, deprecationWarning="use v1"),
    )
    yield post(CRDS, body)
    yield from _ready()
    alpha = WIDGETS.replace("/v1/", "/v1alpha1/")
    yield get(alpha, until=200)
    yield post(WIDGETS, widget(spec={"size": 1, "old": "x"}))
    yield get(f"{alpha}/a")
    yield post(alpha, widget("b", "v1alpha1", spec={"size": 1, "old": "x"}))
    yield get(f"{WIDGETS}/b")
    yield get(WIDGETS)
    yield get(f"{WIDGETS.replace('/v1/', '/v1beta1/')}/a")
    yield get(f"{WIDGETS.replace('/v1/', '/v2/')}/a")
    yield apply(f"{alpha}/a", widget("a", "v1alpha1", spec={"size": 2}), force=True)
    yield apply(f"{WIDGETS}/a", widget("a", spec={"size": 2, "fresh": "z"}), "newer")
    yield apply(f"{WIDGETS}/a", widget("a", "v1alpha1", spec={"size": 2}), "newer")
    yield patch(f"{alpha}/a", {"spec": {"size": 4, "fresh": "g"}})
    yield get(f"/apis/{GROUP}")
    yield get(f"/apis/{GROUP}/v1alpha1")
    yield patch(f"{CRDS}/{NAME}", {"spec": {"versions": body["spec"]["versions"][:1]}})
    yield patch(f"{CRDS}/{NAME}", [{"op": "replace", "path": "/spec/versions/0/storage", "value": True}], JSON_PATCH)
    yield patch(f"{CRDS}/{NAME}", {"spec": {"scope": "Cluster"}})
    yield patch(f"{CRDS}/{NAME}", {"spec": {"group": "other.example.com"}})
    yield patch(f"{CRDS}/{NAME}", {"spec": {"names": {"kind": "Gadget"}}})
    yield patch(f"{CRDS}/{NAME}/status", {"status": {"storedVersions": []}})
    yield put(f"{CRDS}/{NAME}", body)
    yield get(f"{CRDS}/{NAME}", PARTIAL)
    yield patch(f"{CRDS}/{NAME}", {"metadata": {"labels": {"a": "b"}}})
    yield delete(f"{CRDS}/{NAME}")
    yield get(f"{CRDS}/{NAME}", until=404)
    yield get(f"{WIDGETS}/a", until=404)


def _broken() -> list[tuple[str, dict[str, Any]]]:
    good = crd(_version(SCHEMA))
    cases = [
        ("empty", {"metadata": {"name": NAME}}),
        ("nospec", {"metadata": {"name": NAME}, "spec": {}}),
        ("badname", having(good, "other.example.com", "metadata", "name")),
        ("noversions", crd()),
        ("noschema", crd(_version(None))),
        ("nostorage", crd(_version(SCHEMA, storage=False))),
        ("twostorage", crd(_version(SCHEMA), _version(SCHEMA, "v2"))),
        ("sameversion", crd(_version(SCHEMA), _version(SCHEMA, storage=False))),
        ("badversion", crd(_version(SCHEMA, "1"))),
        ("scope", having(good, "Bad", "spec", "scope")),
        ("noscope", without(good, "spec", "scope")),
        ("group", having(good, "Bad", "spec", "group")),
        ("nogroup", having(good, "", "spec", "group")),
        ("kind", having(good, "bad kind", "spec", "names", "kind")),
        ("plural", having(good, "Bad", "spec", "names", "plural")),
        ("shortnames", having(good, ["Bad"], "spec", "names", "shortNames")),
        ("defaults-names", having(good, {"plural": "widgets", "kind": "Widget"}, "spec", "names")),
        ("preserve", having(good, True, "spec", "preserveUnknownFields")),
        ("conversion", having(good, {"strategy": "Bad"}, "spec", "conversion")),
        ("webhook", having(good, {"strategy": "Webhook"}, "spec", "conversion")),
        (
            "none-webhook",
            having(good, {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}, "spec", "conversion"),
        ),
    ]
    schemas: dict[str, Schema] = {
        "notype": {"properties": {"spec": {}}},
        "rootarray": {"type": "array"},
        "badtype": _object({"a": {"type": "bad"}}),
        "noinner": _object({"a": {"properties": {"b": {}}}}),
        "ref": _object({"a": {"$ref": "#/x"}}),
        "unique": _object({"a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}}),
        "addprops": _object({"a": {"type": "object", "additionalProperties": False}}),
        "both": _object(
            {
                "a": {
                    "type": "object",
                    "properties": {"b": {"type": "string"}},
                    "additionalProperties": {"type": "string"},
                }
            }
        ),
        "noitems": _object({"a": {"type": "array"}}),
        "default": _object({"a": {"type": "integer", "default": "x"}}),
        "defaultbad": _object({"a": {"type": "integer", "minimum": 5, "default": 1}}),
        "defaultunknown": _object({"a": _object({"b": {"type": "string"}}, default={"c": 1})}),
        "defaultmeta": _object({"metadata": {"type": "object", "default": {}}}),
        "metaprops": _object(
            {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}}
        ),
        "metabad": _object({"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}),
        "kindprop": _object({"kind": {"type": "integer"}}),
        "pattern": _object({"a": {"type": "string", "pattern": "("}}),
        "format": _object({"a": {"type": "string", "format": "whatever"}}),
        "nullableitems": _object(
            {"a": {"type": "array", "nullable": True, "items": {"type": "string", "nullable": True}}}
        ),
        "iostype": _object({"a": {"type": "integer", "x-kubernetes-int-or-string": True}}),
        "listmap": _object({"a": {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "string"}}}),
        "listmapkeys": _object(
            {
                "a": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["none"],
                    "items": _object({"b": {"type": "string"}}),
                }
            }
        ),
        "listmapopt": _object(
            {
                "a": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["b"],
                    "items": _object({"b": {"type": "string"}}),
                }
            }
        ),
        "listtype": _object({"a": {"type": "array", "x-kubernetes-list-type": "bad", "items": {"type": "string"}}}),
        "listset": _object(
            {"a": {"type": "array", "x-kubernetes-list-type": "set", "items": _object({"b": {"type": "string"}})}}
        ),
        "maptype": _object({"a": {"type": "object", "x-kubernetes-map-type": "bad"}}),
        "embedded": _object({"a": {"type": "object", "x-kubernetes-embedded-resource": True}}),
        "anyofprops": _object({"a": {"type": "object", "anyOf": [{"properties": {"b": {"type": "string"}}}]}}),
        "anyoftype": _object({"a": {"type": "integer", "anyOf": [{"type": "integer"}]}}),
        "notdefault": _object({"a": {"type": "integer", "not": {"default": 5}}}),
        "celsyntax": _object({"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >"}]}}),
        "celtype": _object({"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self + 1"}]}}),
        "celundeclared": _object({"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "other > 1"}]}}),
        "celempty": _object({"a": {"type": "integer", "x-kubernetes-validations": [{"rule": ""}]}}),
        "celcost": _object(
            {
                "a": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))"}],
                }
            }
        ),
        "celreason": _object(
            {"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1", "reason": "Bad"}]}}
        ),
        "celmessage": _object(
            {"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1", "message": "two\nlines"}]}}
        ),
        "celmessageexpr": _object(
            {"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1", "messageExpression": "5"}]}}
        ),
        "celpath": _object(
            {"a": {"type": "object", "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".none"}]}}
        ),
        "celold": _object(
            {
                "a": {
                    "type": "array",
                    "x-kubernetes-list-type": "atomic",
                    "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
                }
            }
        ),
        "celoptional": _object(
            {
                "a": {
                    "type": "integer",
                    "x-kubernetes-validations": [{"rule": "self == oldSelf", "optionalOldSelf": True}],
                }
            }
        ),
        "celmultiline": _object(
            {"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1 &&\n self < 5"}]}}
        ),
        "celfield": _object(
            {"a": _object({"b": {"type": "string"}}, **{"x-kubernetes-validations": [{"rule": "self.c == 'x'"}]})}
        ),
        "requiredempty": _object({"a": {"type": "string"}}, required=["a", ""]),
        "enumdup": _object({"a": {"type": "string", "enum": ["x", "x"]}}),
        "preserveroot": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "preservefalse": _object({"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": False}}),
        "statusref": _object({"spec": {"type": "object"}, "status": {"type": "object"}}),
        "description": _object(
            {"a": {"type": "string", "description": "d", "title": "t", "example": "e", "externalDocs": {"url": "u"}}}
        ),
        "minmax": _object({"a": {"type": "integer", "minimum": 5, "maximum": 1}}),
        "validationtop": {"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.namespace == 'x'"}]},
    }
    cases += [(name, crd(_version(schema))) for name, schema in schemas.items()]
    extras: list[dict[str, Any]] = [
        {"subresources": {"status": {}}},
        {"subresources": {"scale": {}}},
        {"subresources": {"scale": {"specReplicasPath": "spec.x", "statusReplicasPath": ".status.x"}}},
        {"subresources": {"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".spec.x"}}},
        {"subresources": {"bad": {}}},
        {"additionalPrinterColumns": [{}]},
        {"additionalPrinterColumns": [{"name": "a", "type": "bad", "jsonPath": ".x"}]},
        {"additionalPrinterColumns": [{"name": "a", "type": "string", "jsonPath": "x["}]},
        {"additionalPrinterColumns": [{"name": "a", "type": "string", "jsonPath": ".spec.x", "format": "bad"}]},
        {"selectableFields": [{"jsonPath": ".spec.size"}]},
        {"selectableFields": [{"jsonPath": ".spec.none"}]},
        {"selectableFields": [{"jsonPath": ".spec.tags"}]},
        {"selectableFields": [{"jsonPath": ".metadata.name"}]},
        {"selectableFields": [{"jsonPath": ".spec.size"}, {"jsonPath": ".spec.size"}]},
        {"selectableFields": [{"jsonPath": ".spec.size"}] * 9},
        {"deprecationWarning": "x"},
        {"deprecated": True, "deprecationWarning": "x" * 300},
        {"deprecated": True, "deprecationWarning": "bad\x01"},
    ]
    return cases + [(f"extra{number}", crd(_version(SCHEMA, **extra))) for number, extra in enumerate(extras)]


def scenarios() -> Iterator[Scenario]:
    yield _with(SCHEMA, _values(), "values")
    yield _with(SCHEMA, _life(), "life")
    yield _with(
        SCHEMA,
        _status(),
        "status",
        subresources={
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.size",
                "statusReplicasPath": ".status.count",
                "labelSelectorPath": ".status.phase",
            },
        },
    )
    yield _with(CEL_SCHEMA, _cel(), "cel")
    yield _with(
        SCHEMA,
        _columns(),
        "columns",
        additionalPrinterColumns=COLUMNS,
        selectableFields=[{"jsonPath": ".spec.colour"}, {"jsonPath": ".spec.size"}, {"jsonPath": ".spec.on"}],
    )
    yield scenario("crds-versions", _versions(), [f"{CRDS}/{NAME}"])
    broken = _broken()
    half = len(broken) // 2
    for number, part in enumerate((broken[:half], broken[half:])):
        yield scenario(
            f"crds-definitions-{number + 1}", [post(f"{CRDS}?dryRun=All", body) for _, body in part], [f"{CRDS}/{NAME}"]
        )
    yield scenario(
        "crds-cluster-scope",
        [
            post(
                CRDS,
                crd(
                    _version(_object({"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}})),
                    scope="Cluster",
                ),
            ),
            get(f"/apis/{GROUP}/v1/widgets", until=200),
            get(f"/openapi/v3/apis/{GROUP}/v1", until=200, pick=(("openapi",),)),
            post(f"/apis/{GROUP}/v1/widgets", widget(spec={"any": [1, {"a": None}]})),
            get(f"/apis/{GROUP}/v1/widgets/a"),
            get(WIDGETS),
            post(WIDGETS, widget()),
            get(f"/apis/{GROUP}/v1/widgets/a", TABLE),
            patch(f"/apis/{GROUP}/v1/widgets/a", {"spec": {"any": None, "b": {"c": 1}}}),
            post(f"/apis/{GROUP}/v1/widgets", having(widget("b"), "x", "metadata", "namespace")),
            delete(f"/apis/{GROUP}/v1/widgets/a"),
            delete(f"/apis/{GROUP}/v1/widgets"),
        ],
        [f"{CRDS}/{NAME}"],
    )
