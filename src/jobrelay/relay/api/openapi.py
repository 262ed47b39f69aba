"""The OpenAPI documents of the API, version 2 and 3, made of the same structs that its answers are made of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import msgspec

from jobrelay import __version__
from jobrelay.relay.api.names import API_VERSION, BASE, GROUP, VERSION
from jobrelay.relay.explain import Explanation
from jobrelay.relay.worker_view import WorkerView

_PREFIX: Final = "dev.jobrelay.relay.v1."
_V3: Final = "#/components/schemas/"
_V2: Final = "#/definitions/"
_NAMESPACE: Final = ("namespace", "path", "string", "The namespace.")
_NAME: Final = (
    "name",
    "path",
    "string",
    "KIND:NAME of the original, such as job:train; a NAME alone is that of a Job.",
)
_EXEC: Final = (
    ("command", "query", "string", "A word of the command; once for each."),
    ("container", "query", "string", "The container; by default as of kubectl exec."),
    ("index", "query", "integer", "The completion index of the pod."),
    ("pod", "query", "string", "The name of the pod on its worker; by default the only one that runs."),
    ("stdin", "query", "boolean", "Passes stdin to the command."),
    ("tty", "query", "boolean", "Gives the command a terminal."),
)
_LOG: Final = (
    ("container", "query", "string", "The container; by default all of each pod."),
    ("follow", "query", "boolean", "Goes on until the workload ends."),
    ("index", "query", "integer", "The completion index of the pods."),
    ("pod", "query", "string", "The name of the pod on its worker; by default all."),
    ("prefix", "query", "boolean", "Begins each line with its pod and container."),
    ("sinceSeconds", "query", "integer", "Only what was written in the last seconds."),
    ("tailLines", "query", "integer", "Only the last lines of each container."),
    ("timestamps", "query", "boolean", "Puts the time in front of every line."),
)
_IF: Final = ("if", "query", "string", "A change of a quota or a worker to suppose; once for each.")
_WATCH: Final = ("watch", "query", "boolean", "An event for each change instead, until some minutes have passed.")
_PAGE: Final = (
    ("kind", "query", "string", "Only workloads of this kind."),
    ("page", "query", "integer", "The page, from 1; without it all workloads come, and the rest means nothing."),
    ("pageSize", "query", "integer", "How many workloads a page has."),
    ("search", "query", "string", "Only workloads with these words in namespace, name, kind or worker."),
    ("sort", "query", "string", "created, kind, name, namespace, run, status or worker; with - the reverse."),
    ("status", "query", "string", "Only workloads with this status."),
    ("worker", "query", "string", "Only workloads on this worker."),
)
_SCOPED: Final = f"{BASE}/namespaces/{{namespace}}"
_PATHS: Final = {
    f"{BASE}/": ("the resources of this API", (), "application/json", ""),
    f"{BASE}/activity": (
        "all workloads counted by status, now and in the past hour, and workers", (_WATCH,), "application/json",
        "Activity",
    ),
    f"{BASE}/overview": ("all workloads counted by stage, and workers", (), "application/json", "Overview"),
    f"{BASE}/workers": ("workers with state and capacity", (), "application/json", "WorkerList"),
    f"{BASE}/workloads": ("delegated workloads of all namespaces", _PAGE, "application/json", "WorkloadList"),
    f"{_SCOPED}/activity": (
        "workloads counted by status, now and in the past hour, and workers", (_NAMESPACE, _WATCH), "application/json",
        "Activity",
    ),
    f"{_SCOPED}/overview": ("workloads counted by stage, and workers", (_NAMESPACE,), "application/json", "Overview"),
    f"{_SCOPED}/workloads": ("delegated workloads", (_NAMESPACE, *_PAGE), "application/json", "WorkloadList"),
    f"{_SCOPED}/workloads/{{name}}": (
        "one workload with verdicts on workers, runs and pods", (_IF, _NAME, _NAMESPACE), "application/json",
        "Workload",
    ),
    f"{_SCOPED}/workloads/{{name}}/events": (
        "events on the management cluster and on its worker", (_NAME, _NAMESPACE), "application/json",
        "WorkloadEventList",
    ),
    f"{_SCOPED}/workloads/{{name}}/exec": (
        "runs a command in one of its pods, by websocket", (*_EXEC, _NAME, _NAMESPACE), "*/*", "",
    ),
    f"{_SCOPED}/workloads/{{name}}/log": ("the log of its pods", (*_LOG, _NAME, _NAMESPACE), "text/plain", ""),
}  # fmt: skip
_PREVIEWS: Final = f"{_SCOPED}/previews"
_KINDS: Final = {"activity": "Activity", "overview": "Overview", "workers": "Worker", "workloads": "Workload"}
_SAMPLE: Final = {"time": {"type": "string"}} | {
    name: {"type": "integer"} for name in ("waiting", "running", "complete", "failed")
}
_OLDEST: Final = {name: {"type": "string"} for name in ("name", "namespace", "created")}
_TEXTS: Final = ("time", "type", "reason", "message", "object", "cluster")


@cache
def schemas(prefix: str) -> dict[str, Any]:
    """All schemas by name; `prefix` is where references point."""
    _, made = msgspec.json.schema_components([Explanation, WorkerView], ref_template=prefix + _PREFIX + "{name}")
    found = {f"{_PREFIX}{name}": _plain(schema) for name, schema in made.items()}
    event = {name: {"type": "string"} for name in _TEXTS} | {"count": {"type": "integer"}}
    workload = _object("Workload", status=_ref(prefix, "Explanation"))
    found |= {
        f"{_PREFIX}Workload": _known(workload, "Workload"),
        f"{_PREFIX}WorkloadList": _known(
            _object("WorkloadList", items=_list(_ref(prefix, "Workload"))), "WorkloadList"
        ),
        f"{_PREFIX}WorkerList": _object("WorkerList", items=_list(_ref(prefix, "WorkerView"))),
        f"{_PREFIX}WorkloadEventList": _object(
            "WorkloadEventList", items=_list({"type": "object", "properties": event})
        ),
        f"{_PREFIX}Activity": _object(
            "Activity",
            statuses={"type": "object", "additionalProperties": {"type": "integer"}},
            kinds=_list({"type": "string"}),
            history=_list({"type": "object", "properties": _SAMPLE}),
            oldestWaiting={"type": "object", "properties": _OLDEST},
            workers=_list(_ref(prefix, "WorkerView")),
        ),
        f"{_PREFIX}Preview": _known(
            _object(
                "Preview",
                spec={"type": "object", "properties": {"workload": {"type": "object"}}},
                status=_ref(prefix, "Explanation"),
            ),
            "Preview",
        ),
        f"{_PREFIX}Overview": _object(
            "Overview",
            stages={"type": "object", "additionalProperties": {"type": "integer"}},
            workers=_list(_ref(prefix, "WorkerView")),
        ),
    }
    return found


def _ref(prefix: str, name: str) -> dict[str, Any]:
    return {"$ref": f"{prefix}{_PREFIX}{name}"}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _object(kind: str, **properties: Any) -> dict[str, Any]:
    head = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    return {"type": "object", "description": f"{kind} of {API_VERSION}", "properties": head | properties}


def _known(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    meant = [{"group": GROUP, "version": VERSION, "kind": kind}]
    return schema | {"x-kubernetes-group-version-kind": meant}


def _plain(schema: Any) -> Any:
    """A JSON schema as OpenAPI has it: without null types, defaults and titles."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) == 1:
        kept = {name: value for name, value in schema.items() if name == "description"}
        return _plain(choices[0]) | kept
    return {name: _plain(value) for name, value in schema.items() if name not in ("default", "title")}


@cache
def document_v3() -> dict[str, Any]:
    """The document of this group and version."""
    return {
        "openapi": "3.0.0",
        "info": {"title": "jobrelay", "version": __version__},
        "paths": {**{path: {"get": _operation(path, 3)} for path in _PATHS}, _PREVIEWS: {"post": _preview(3)}},
        "components": {"schemas": schemas(_V3)},
    }


@cache
def document_v2() -> dict[str, Any]:
    """The document of everything that is served here."""
    return {
        "swagger": "2.0",
        "info": {"title": "jobrelay", "version": __version__},
        "paths": {**{path: {"get": _operation(path, 2)} for path in _PATHS}, _PREVIEWS: {"post": _preview(2)}},
        "definitions": schemas(_V2),
    }


def _operation(path: str, version: int) -> dict[str, Any]:
    text, parameters, media, kind = _PATHS[path]
    answer: dict[str, Any] = {"description": "OK"}
    schema = _ref(_V3 if version == 3 else _V2, kind) if kind else {"type": "string"}
    if version == 3:
        answer["content"] = {media: {"schema": schema}}
    else:
        answer["schema"] = schema
    made = {
        **_acts(path),
        "description": text,
        "operationId": "".join(_words(path)),
        "parameters": [_parameter(each, version) for each in parameters],
        "responses": {"200": answer},
    }
    return made if version == 3 else made | {"produces": [media]}


def _preview(version: int) -> dict[str, Any]:
    """The operation that creates a Preview."""
    schema = _ref(_V3 if version == 3 else _V2, "Preview")
    made: dict[str, Any] = {
        "x-kubernetes-action": "post",
        "x-kubernetes-group-version-kind": {"group": GROUP, "version": VERSION, "kind": "Preview"},
        "description": "what would be decided about a workload that is not created",
        "operationId": "createRelayJobrelayDevV1NamespacedPreview",
        "parameters": [_parameter(_NAMESPACE, version)],
    }
    if version == 3:
        content = {"application/json": {"schema": schema}}
        return made | {
            "requestBody": {"content": content}, "responses": {"201": {"description": "Created", "content": content}},
        }  # fmt: skip
    body = {"name": "body", "in": "body", "required": True, "schema": schema}
    answers = {"201": {"description": "Created", "schema": schema}}
    return made | {
        "parameters": [*made["parameters"], body],
        "responses": answers,
        "consumes": ["application/json"],
        "produces": ["application/json"],
    }


def _acts(path: str) -> dict[str, Any]:
    """By what kubectl finds the schema of a resource."""
    kind = next((_KINDS[part] for part in path.split("/") if part in _KINDS), "")
    if not kind:
        return {}
    action = "get" if "{name}" in path else "list"
    meant = {"group": GROUP, "version": VERSION, "kind": kind}
    return {"x-kubernetes-action": action, "x-kubernetes-group-version-kind": meant}


def _words(path: str) -> Iterator[str]:
    yield "readRelayJobrelayDevV1"
    yield "Namespaced" if "{namespace}" in path else ""
    yield from (part.capitalize() for part in path.removeprefix(BASE).split("/") if part and part != "namespaces"
                and "{namespace}" not in part and "{" not in part)  # fmt: skip
    yield "One" if path.endswith("{name}") else ""


def _parameter(given: tuple[str, str, str, str], version: int) -> dict[str, Any]:
    name, place, kind, text = given
    typed = {"schema": {"type": kind}} if version == 3 else {"type": kind}
    return {"name": name, "in": place, "description": text, "required": place == "path", **typed}
