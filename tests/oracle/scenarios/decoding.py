"""Request bodies that are odd: encodings, malformed texts, wrong types, unknown and duplicate fields, media types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..model import (
    APPLY,
    JSON,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    TABLE,
    YAML,
    Scenario,
    Step,
    delete,
    get,
    patch,
    post,
    put,
    request,
    scenario,
)
from ._objects import (
    CONFIGMAPS,
    CORE,
    CRONJOBS,
    JOBS,
    LEASES,
    PODS,
    SECRETS,
    Object,
    configmap,
    having,
    job,
    metadata,
    pod,
)

YAML_JOB = """apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  managedBy: example.com/x
{extra}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: img:1
"""
MALFORMED = [
    "",
    " ",
    "null",
    "[]",
    "{}",
    "5",
    '"text"',
    "true",
    "{",
    "}",
    "[{}]",
    '{"a":}',
    '{"kind": "Job"',
    "{'a': 1}",
    '{"a": 1,}',
    "\x00",
    "{}{}",
    '{"metadata": []}',
    '{"metadata": "x"}',
    '{"metadata": 5}',
    '{"spec": []}',
    '{"spec": "x"}',
    '{"spec": null}',
    '{"metadata": null}',
    '{"apiVersion": 5}',
    '{"kind": 5}',
    '{"kind": "Job", "apiVersion": ["batch/v1"]}',
    '{"kind": null, "apiVersion": null}',
    "<xml/>",
    '{"metadata":{"name":"\\ud800"}}',
    '{"metadata":{"name":"a\\u0000b"}}',
    "# only a comment",
    "---\n",
    "a: b: c",
    "\t- x",
    '{"a": NaN}',
    "[1, 2",
]
YAML_TEXTS = [
    "",
    "null",
    "---",
    "--- {}",
    "- a",
    "a",
    "5",
    "a: [",
    "a:\n\t- b",
    "metadata:\n  name: yes",
    "metadata:\n  name: 5",
    "metadata:\n  name: 1.5",
    "metadata:\n  name: 2024-01-01",
    "metadata:\n  name: null",
    "metadata:\n  name: ~",
    "metadata:\n  name: 'quoted'\ndata:\n  k: 1",
    "metadata:\n  name: nn\ndata:\n  n: v\n  y: w",
    "metadata:\n  name: hex\ndata: {a: 0x10}",
    "metadata: {name: tru}\ndata: {a: true}",
    "metadata: {name: anc}\ndata: &x {a: b}",
    "metadata: {name: anc2}\ndata: &x {a: b}\nlabels: *x",
    "metadata: {name: multi}\n---\nmetadata: {name: second}",
    "metadata: {name: bin}\nbinaryData: {a: !!binary aGk=}",
    "metadata: {name: merge}\ndata: {<<: {a: b}, c: d}",
    "metadata: {name: oct}\ndata: {a: '010'}",
    "metadata: {name: blk}\ndata:\n  t: |\n    line\n    two\n",
    "metadata: {name: fold}\ndata:\n  t: >-\n    line\n    two\n",
    "? complex\n: key",
    "metadata: {name: tag}\ndata: {a: !custom x}",
    "%YAML 1.2\n---\nmetadata: {name: dir}",
    "{metadata: {name: flow}, data: {a: b}}",
    "metadata: {name: intkey}\ndata: {1: a, 2.5: b, true: c}",
    "metadata: {name: dup}\ndata: {a: b}\ndata: {c: d}",
    "metadata: {name: e}\ndata:\n  a: ''",
]
YAML_VALUES = [
    "parallelism: 1e1",
    "parallelism: 0x10",
    "parallelism: 010",
    "parallelism: 0o10",
    "parallelism: 1_000",
    "parallelism: yes",
    "suspend: on",
    "suspend: 'true'",
    "suspend: y",
    "parallelism: 1.0",
    "parallelism: +5",
    "parallelism: ''",
    "parallelism: ~",
    "completions: .inf",
    "parallelism: 2\n  parallelism: 3",
    "Parallelism: 3",
    "colour: red\n  shape: round",
    "activeDeadlineSeconds: 99999999999999999999",
    "parallelism: 2147483648",
    "activeDeadlineSeconds: 1.5",
    "backoffLimit: -0",
    "parallelism: 3 # comment",
    "suspend: TRUE",
]

WRONG_TYPES: list[tuple[tuple[str | int, ...], Any]] = [
    (("metadata", "name"), 5),
    (("metadata", "labels"), []),
    (("metadata", "labels"), {"a": 1}),
    (("metadata", "labels"), {"a": None}),
    (("metadata", "annotations"), {"a": {}}),
    (("metadata", "annotations"), {"a": True}),
    (("metadata", "finalizers"), "x"),
    (("metadata", "finalizers"), [1]),
    (("metadata", "generation"), "1"),
    (("metadata", "creationTimestamp"), 5),
    (("metadata", "creationTimestamp"), "x"),
    (("metadata", "ownerReferences"), {}),
    (("metadata", "ownerReferences"), [{"controller": "yes"}]),
    (("metadata", "deletionGracePeriodSeconds"), "x"),
    (("spec", "parallelism"), "1"),
    (("spec", "parallelism"), 1.5),
    (("spec", "parallelism"), 1.0),
    (("spec", "parallelism"), True),
    (("spec", "parallelism"), []),
    (("spec", "parallelism"), {}),
    (("spec", "parallelism"), 2147483648),
    (("spec", "parallelism"), -2147483649),
    (("spec", "activeDeadlineSeconds"), 9223372036854775808),
    (("spec", "suspend"), "true"),
    (("spec", "suspend"), 1),
    (("spec", "selector"), []),
    (("spec", "selector"), {"matchLabels": {"a": 1}}),
    (("spec", "template"), []),
    (("spec", "template"), "x"),
    (("spec", "template", "spec"), []),
    (("spec", "template", "spec", "containers"), {}),
    (("spec", "template", "spec", "containers"), "x"),
    (("spec", "template", "spec", "containers"), [1]),
    (("spec", "template", "spec", "containers"), [None]),
    (("spec", "template", "spec", "containers", 0, "image"), 1),
    (("spec", "template", "spec", "containers", 0, "command"), "sh"),
    (("spec", "template", "spec", "containers", 0, "command"), [1]),
    (("spec", "template", "spec", "containers", 0, "env"), {}),
    (("spec", "template", "spec", "containers", 0, "env"), [{"name": "A", "value": 5}]),
    (("spec", "template", "spec", "containers", 0, "env"), [{"name": "A", "value": True}]),
    (("spec", "template", "spec", "containers", 0, "ports"), [{"containerPort": "80"}]),
    (("spec", "template", "spec", "containers", 0, "resources"), {"limits": {"cpu": True}}),
    (("spec", "template", "spec", "containers", 0, "resources"), {"limits": {"cpu": 1}}),
    (("spec", "template", "spec", "containers", 0, "resources"), {"limits": {"cpu": 1.5}}),
    (("spec", "template", "spec", "containers", 0, "resources"), {"limits": {"cpu": "bad"}}),
    (("spec", "template", "spec", "containers", 0, "resources"), {"limits": {"cpu": ""}}),
    (("spec", "template", "spec", "containers", 0, "resources"), {"limits": {"cpu": []}}),
    (("spec", "template", "spec", "containers", 0, "resources"), {"limits": []}),
    (("spec", "template", "spec", "nodeSelector"), {"a": 1}),
    (("spec", "template", "spec", "tolerations"), {}),
    (("spec", "template", "spec", "hostNetwork"), "x"),
    (("spec", "template", "spec", "containers", 0, "livenessProbe"), {"httpGet": {"port": 1.5}}),
    (("spec", "template", "spec", "containers", 0, "livenessProbe"), {"httpGet": {"port": True}}),
    (("spec", "template", "spec", "containers", 0, "livenessProbe"), {"httpGet": {"port": []}}),
    (("spec", "podFailurePolicy"), {"rules": {}}),
    (("status",), []),
    (("status",), {"active": "x"}),
    (("status",), {"startTime": "x"}),
    (("spec", "managedBy"), 5),
    (("spec", "managedBy"), None),
]


def _yaml(name: str, extra: str) -> str:
    return YAML_JOB.format(name=name, extra=f"  {extra}" if extra else "")


def _wrong(base: Object, collection: str, cases: list[tuple[tuple[str | int, ...], Any]]) -> list[Step]:
    return [
        post(collection, having(metadata(base, name=f"w{n}"), value, *path)) for n, (path, value) in enumerate(cases)
    ]


def _field_validation() -> Iterator[Step]:
    unknown = having(
        having(having(job("u"), "red", "spec", "colour"), 1, "spec", "template", "spec", "containers", 0, "sizes"),
        {},
        "zzz",
    )
    duplicate = (
        json.dumps(job("d"))[:-1].replace('"managedBy"', '"parallelism": 1, "parallelism": 2, "managedBy"')
        + ', "kind": "Job"}'
    )
    both = duplicate.replace('"managedBy"', '"Colour": 1, "managedBy"')
    for level in ("", "Strict", "Warn", "Ignore", "strict"):
        query = f"?dryRun=All&fieldValidation={level}" if level else "?dryRun=All"
        for body in (
            unknown,
            duplicate,
            both,
            having(job("c"), 1, "spec", "Parallelism"),
            having(job("m"), "x", "metadata", "colour"),
        ):
            yield post(JOBS + query, body)
        for text in (
            "colour: red",
            "parallelism: 2\n  parallelism: 3",
            "parallelism: 2\n  parallelism: 3\n  colour: red",
        ):
            yield post(JOBS + query, _yaml("y", text), YAML)
    yield post(JOBS, job("s"))
    for level in ("", "Strict", "Warn", "Ignore"):
        query = f"?dryRun=All&fieldValidation={level}" if level else "?dryRun=All"
        yield put(f"{JOBS}/s{query}", unknown)
        for media in (MERGE, STRATEGIC):
            yield patch(f"{JOBS}/s{query}", {"spec": {"colour": "red"}, "zzz": 1}, media)
            yield patch(f"{JOBS}/s{query}", '{"spec": {"parallelism": 1, "parallelism": 2}}', media)
        yield patch(f"{JOBS}/s{query}", [{"op": "add", "path": "/spec/colour", "value": "red"}], JSON_PATCH)
        yield patch(
            f"{JOBS}/s{query}",
            '[{"op": "add", "op": "add", "path": "/spec/colour", "value": {"a": 1, "a": 2}}]',
            JSON_PATCH,
        )
        yield patch(f"{JOBS}/s{query}&fieldManager=m", {**job("s"), "spec": {"colour": "red"}}, APPLY)
        yield patch(
            f"{JOBS}/s{query}&fieldManager=m",
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: s\n  name: s\nspec:\n  parallelism: 1\n",
            APPLY,
        )


def _many_unknown() -> Iterator[Step]:
    yield post(
        JOBS, having(job("many"), {f"f{n}": n for n in range(120)}, "spec", "template", "spec", "securityContext")
    )
    yield post(
        JOBS + "?fieldValidation=Strict",
        having(job("many2"), {f"f{n}": n for n in range(120)}, "spec", "template", "spec", "securityContext"),
    )
    yield post(JOBS, having(job("esc"), 1, "spec", 'quo"te\\ and é'))
    yield post(
        JOBS,
        having(job("deep"), [{"name": "v", "unknown": 1, "emptyDir": {"x": 1}}], "spec", "template", "spec", "volumes"),
    )
    yield post(JOBS, having(job("long"), 1, "spec", "x" * 300))
    yield post(
        CRONJOBS,
        {
            "kind": "CronJob",
            "apiVersion": "batch/v1",
            "metadata": {"name": "x"},
            "spec": {
                "schedule": "* * * * *",
                "suspend": True,
                "jobTemplate": {
                    "colour": 1,
                    "spec": {
                        "shape": 2,
                        "template": {
                            "spec": {
                                "restartPolicy": "Never",
                                "containers": [
                                    {"name": "c", "image": "i", "x": 1},
                                    {"name": "d", "image": "i", "x": 1},
                                ],
                            }
                        },
                    },
                },
            },
        },
    )
    yield post(CONFIGMAPS, {**configmap("u"), "stringData": {}})
    yield post(PODS, having(pod("u"), [{"name": "i", "image": "i", "q": {}}], "spec", "initContainers"))


def _media() -> Iterator[Step]:
    body = json.dumps(configmap("m"))
    for media in (
        "",
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=bad",
        "text/json",
        "text/plain",
        "application/xml",
        "application/yaml",
        "text/yaml",
        "application/x-yaml",
        "bad",
        "*/*",
        "application/*",
        "application/cbor",
        "application/vnd.kubernetes.protobuf",
        "application/x-www-form-urlencoded",
        "application/merge-patch+json",
        "application/json, application/yaml",
    ):
        yield post(CONFIGMAPS + "?dryRun=All", body, media)
    yield post(CONFIGMAPS, body)
    for media in (
        "",
        "application/json",
        MERGE,
        MERGE + "; charset=utf-8",
        STRATEGIC,
        JSON_PATCH,
        "application/yaml",
        "text/plain",
        "bad",
        "application/apply-patch+cbor",
        "application/apply-patch+json",
    ):
        yield request("PATCH", f"{CONFIGMAPS}/m", "{}", media)
    yield request("PATCH", f"{CONFIGMAPS}/m?fieldManager=x", body, APPLY)
    yield put(f"{CONFIGMAPS}/m", body, "text/plain")
    yield delete(f"{CONFIGMAPS}/m?dryRun=All", "{}", content_type="text/plain")
    for accept in (
        "application/json",
        "application/*",
        "*/*",
        "text/html",
        "application/yaml",
        "text/plain",
        "",
        "bad",
        "application/json;q=0.5, application/yaml",
        "application/xml, */*",
        "application/json;as=Table",
        "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
        "application/json;as=Bad;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
        "application/json;as=Table;g=meta.k8s.io;v=v1,"
        "application/json;as=Table;g=meta.k8s.io;v=v1beta1,application/json",
        "application/json;stream=watch",
        "application/json;pretty=1",
        "application/vnd.kubernetes.protobuf, application/json",
        "application/vnd.kubernetes.protobuf;q=0.1, application/json",
        TABLE + ";includeObject=Object",
        "application/cbor",
    ):
        if not accept.startswith("application/vnd.kubernetes.protobuf,"):
            yield get(f"{CONFIGMAPS}/m", accept)
    for accept in (
        "application/yaml",
        "text/html",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        TABLE,
    ):
        yield post(CONFIGMAPS + "?dryRun=All", metadata(configmap(), name="n"), headers={"Accept": accept})
        yield get(f"{CONFIGMAPS}/missing", accept)
    yield get(f"{CONFIGMAPS}/m?pretty=true", "application/json")
    yield get(f"{CONFIGMAPS}/m", headers={"Content-Type": "application/json"})
    yield get(f"{CONFIGMAPS}/m", headers={"Content-Type": "bad"})


def _sizes() -> Iterator[Step]:
    yield post(CONFIGMAPS, configmap("big", k="x" * 1048577))
    yield post(CONFIGMAPS, configmap("big", k="x" * 1048575))
    yield post(SECRETS, {"metadata": {"name": "big"}, "stringData": {"k": "x" * 1048577}})
    yield post(CONFIGMAPS, configmap("huge", k="x" * 3145728))
    yield post(CONFIGMAPS, metadata(configmap("ann"), annotations={"a": "x" * 262145}))
    yield post(CONFIGMAPS, metadata(configmap("ann2"), annotations={"a": "x" * 262143}))
    yield post(CONFIGMAPS, '{"metadata":{"name":"deep"},"data":' + '{"a":' * 200 + "1" + "}" * 200 + "}")
    yield post(CONFIGMAPS, "[" * 11000 + "]" * 11000)


def scenarios() -> Iterator[Scenario]:
    yield scenario("decoding-malformed-json", [post(JOBS, text) for text in MALFORMED])
    yield scenario(
        "decoding-malformed-put",
        [post(CONFIGMAPS, configmap("x")), *(put(f"{CONFIGMAPS}/x", text) for text in MALFORMED)],
    )
    yield scenario("decoding-malformed-yaml", [post(CONFIGMAPS, text, YAML) for text in YAML_TEXTS])
    yield scenario(
        "decoding-yaml-as-json",
        [post(CONFIGMAPS, text) for text in YAML_TEXTS[8:14]]
        + [post(CONFIGMAPS, text, JSON) for text in YAML_TEXTS[-3:]],
    )
    yield scenario(
        "decoding-yaml-values", [post(JOBS, _yaml(f"y{n}", text), YAML) for n, text in enumerate(YAML_VALUES)]
    )
    yield scenario("decoding-types-job", _wrong(job(), JOBS, WRONG_TYPES))
    yield scenario(
        "decoding-types-other",
        [
            *_wrong(
                configmap(),
                CONFIGMAPS,
                [
                    (("data",), []),
                    (("data",), {"a": 1}),
                    (("data",), {"a": None}),
                    (("binaryData",), {"a": "!!"}),
                    (("binaryData",), {"a": 5}),
                    (("binaryData",), {"a": "aGk"}),
                    (("immutable",), "x"),
                    (("data",), "x"),
                    (("binaryData",), {"a": None}),
                ],
            ),
            *_wrong(
                {"metadata": {}},
                SECRETS,
                [
                    (("data",), {"a": "!!"}),
                    (("data",), {"a": 1}),
                    (("stringData",), {"a": 1}),
                    (("type",), 1),
                    (("data",), {"a": None}),
                ],
            ),
            *_wrong(
                {"metadata": {}},
                LEASES,
                [
                    (("spec",), {"renewTime": "2024-01-01T00:00:00Z"}),
                    (("spec",), {"renewTime": 5}),
                    (("spec",), {"renewTime": "x"}),
                    (("spec",), {"leaseDurationSeconds": "1"}),
                    (("spec",), {"renewTime": "2024-01-01T00:00:00.123456Z"}),
                    (("spec",), {"renewTime": "2024-01-01T00:00:00.123456+02:00"}),
                    (("spec",), {"renewTime": ""}),
                ],
            ),
            *_wrong(
                {"metadata": {}},
                f"{CORE}/services",
                [
                    (("spec",), {"ports": [{"port": "80"}]}),
                    (("spec",), {"ports": [{"port": 80, "targetPort": {}}]}),
                    (("spec",), {"ports": [{"port": 80, "targetPort": "http"}]}),
                    (("spec",), {"ports": {}}),
                ],
            ),
            *_wrong(
                {"metadata": {}},
                f"{CORE}/persistentvolumeclaims",
                [
                    (("spec",), {"resources": {"requests": {"storage": x}}})
                    for x in ("1Q", "1 Gi", "", "-1", 5, "1e3", "0.5Gi", "１")
                ],
            ),
        ],
    )
    yield scenario("decoding-field-validation", _field_validation())
    yield scenario("decoding-unknown-fields", _many_unknown())
    yield scenario("decoding-media-types", _media())
    yield scenario("decoding-sizes", _sizes())
