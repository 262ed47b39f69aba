"""How long other clients wait while one client sends requests that take long to answer.

The requests are such as attacks are made of: each is allowed, or refused only after it was read. The other client, in a
process of its own, reads and creates small Jobs at a steady rate meanwhile.
"""

from __future__ import annotations

import gzip
import http.client
import json
import pathlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from bench import jobs
from bench.connection import Access, access
from bench.process import helper, server
from bench.report import Figure

SECONDS: Final = 4.0  # for each kind of request
RATE: Final = 50
_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CONFIG_MAPS: Final = f"/api/v1/namespaces/{jobs.NAMESPACE}/configmaps"
_WIDGETS: Final = f"/apis/bench.example.com/v1/namespaces/{jobs.NAMESPACE}/widgets"
_JSON: Final = {"Content-Type": "application/json"}

Request = tuple[str, Mapping[str, str], bytes]  # path, headers and body of a POST


def others(folder: pathlib.Path) -> list[Figure]:
    """The 99th percentile of a small request, while long ones of each kind are answered one after the other."""
    with server(folder, ["dev"]) as running:
        cluster = running.clusters[0]
        where = access(cluster.url, cluster.kubeconfig)
        _send(where, ("/api/v1/namespaces", _JSON, _encoded({"metadata": {"name": jobs.NAMESPACE}})))
        _send(where, (_CRDS, _JSON, _encoded(_definition())))
        with helper("bench.probe", cluster.url, cluster.kubeconfig) as probe:
            probe.ask(name="warm-up", seconds=1.0, rate=RATE)
            waits = {"nothing": probe.ask(name="nothing", seconds=SECONDS, rate=RATE)["p99"]}
            for name, make in LONG.items():
                with _repeated(where, make()):
                    waits[name] = probe.ask(name=name, seconds=SECONDS, rate=RATE)["p99"]
    note = ", ".join(f"{name} {wait * 1e3:.0f}" for name, wait in waits.items())
    worst = max(waits.values()) * 1e3
    return [Figure("p99 of a small request beside long ones", worst, "ms", 250.0, note=f"ms beside: {note}")]


@contextmanager
def _repeated(where: Access, request: Request) -> Iterator[None]:
    """Sends a request again and again, on one connection, while the block runs."""
    over = threading.Event()

    def send() -> None:
        while not over.is_set():
            _send(where, request)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _send(where: Access, request: Request) -> None:
    path, headers, body = request
    connection = http.client.HTTPSConnection(where.host, where.port, context=where.context, timeout=120)
    signed = dict([where.header.decode().strip().split(": ", 1)]) if where.header else {}
    connection.request("POST", path, body, {**headers, **signed})
    connection.getresponse().read()
    connection.close()


def _encoded(obj: Any) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()


def _definition() -> dict[str, Any]:
    """A custom kind with a rule over all pairs of a list, and a duration."""
    numbers = {
        "type": "array",
        "maxItems": 400,
        "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, a + b >= 0))"}],
    }
    spec = {"type": "object", "properties": {"numbers": numbers, "wait": {"type": "string", "format": "duration"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    defined = {"group": "bench.example.com", "names": names, "scope": "Namespaced", "versions": versions}
    return {"metadata": {"name": "widgets.bench.example.com"}, "spec": defined}


def _widget(**spec: Any) -> Request:
    kind = {"apiVersion": "bench.example.com/v1", "kind": "Widget"}
    return f"{_WIDGETS}?dryRun=All", _JSON, _encoded({**kind, "metadata": {"name": "w"}, "spec": spec})


def _rules() -> Request:
    return _widget(numbers=list(range(400)))


def _duration() -> Request:
    return _widget(wait="1" * 100_000 + "h")


def _environment() -> Request:
    job = jobs.manifest("many")
    container = job["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": f"LEVEL_{number % 100}", "value": "info"} for number in range(50_000)]
    return f"{jobs.PATH}?dryRun=All", _JSON, _encoded(job)


def _yaml() -> Request:
    lines = [f"  key-{number}: value of {number}" for number in range(100_000)]
    text = "\n".join(["apiVersion: v1", "kind: ConfigMap", "metadata: {name: large}", "data:", *lines])
    return f"{_CONFIG_MAPS}?dryRun=All", {"Content-Type": "application/yaml"}, text.encode()


def _json() -> Request:
    data = {f"key-{number}": "x" * 20 for number in range(80_000)}
    return f"{_CONFIG_MAPS}?dryRun=All", _JSON, _encoded({"metadata": {"name": "large"}, "data": data})


def _compressed() -> Request:
    body = gzip.compress(_encoded({"metadata": {"name": "large"}, "data": {"key": "x" * 2_900_000}}))
    return f"{_CONFIG_MAPS}?dryRun=All", {**_JSON, "Content-Encoding": "gzip"}, body


LONG: Final[Mapping[str, Callable[[], Request]]] = {
    "rules": _rules,
    "a duration": _duration,
    "50,000 variables": _environment,
    "YAML": _yaml,
    "JSON": _json,
    "gzip": _compressed,
}
