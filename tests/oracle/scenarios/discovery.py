"""Discovery (legacy and aggregated), OpenAPI, version and health, unknown paths."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import Scenario, Step, get, post, request, scenario
from ._objects import CONFIGMAPS, CORE, JOBS, VERSION

AGGREGATED = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
BETA = "application/json;v=v2beta1;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
GROUPS = [
    "apps",
    "batch",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
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
    "certificates.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "apiregistration.k8s.io",
]
VERSIONS = {"autoscaling": ("v1", "v2")}
SCHEMAS = [
    ("io.k8s.api.batch.v1.Job",),
    ("io.k8s.api.batch.v1.JobSpec",),
    ("io.k8s.api.batch.v1.JobStatus",),
    ("io.k8s.api.batch.v1.CronJobSpec",),
    ("io.k8s.api.core.v1.PodTemplateSpec",),
    ("io.k8s.api.core.v1.Container",),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",),
    ("io.k8s.apimachinery.pkg.api.resource.Quantity",),
    ("io.k8s.api.batch.v1.PodFailurePolicyRule",),
    ("*",),
]


def _groups() -> Iterator[Step]:
    for group in GROUPS:
        yield get(f"/apis/{group}")
        for version in VERSIONS.get(group, ("v1",)):
            yield get(f"/apis/{group}/{version}")


def _aggregated() -> Iterator[Step]:
    for path in ("/api", "/apis"):
        yield get(path, AGGREGATED)
        yield get(path, BETA)
        yield get(path, f"{AGGREGATED},application/json")
        yield get(path, f"application/json;q=0.9,{AGGREGATED}")
    yield get("/apis/batch", AGGREGATED)
    yield get("/apis/batch/v1", AGGREGATED)
    yield get("/api", "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList")
    yield get("/api", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer")


def _unknown() -> Iterator[Step]:
    for path in (
        "/nothing",
        "/apis/none.example.com",
        "/apis/none.example.com/v1",
        "/apis/none.example.com/v1/things",
        "/apis/batch/v9",
        "/apis/batch/v9/jobs",
        "/apis/batch/v1/nothing",
        f"{CORE}/nothing",
        "/api/v2",
        "/api/v1/nothing",
        "/api/v1/nothing/x",
        f"{CORE}/configmaps/x/status",
        f"{CORE}/configmaps/x/nothing",
        f"{CORE}/pods/x/nothing/deeper",
        "/apis/batch/v1/namespaces/{{ns}}/jobs/x/scale",
        "/apis/batch/v1/namespaces/{{ns}}",
        "/apis/batch/v1/namespaces",
        "/api/v1/namespaces/{{ns}}/nodes",
        "/api/v1/namespaces/{{ns}}/namespaces",
        "/apis/batch/v1/jobs/x",
        "/api/v1/configmaps/x",
        "/api/v1/",
        "/apis/",
        "/api/",
        "/apis/batch/",
        "/apis/batch/v1/",
        "/version/",
        "//api",
        "/api/v1/namespaces/{{ns}}/configmaps/",
        "/favicon.ico",
        "/swagger.json",
        "/ui",
        "/apis/extensions/v1beta1",
        "/apis/apps/v1/namespaces/{{ns}}/deployments/x/rollback",
        "/api/v1/componentstatuses/none",
        "/apis/metrics.k8s.io/v1beta1",
        "/api/v1/namespaces/{{ns}}/configmaps/a%2Fb",
        "/api/v1/proxy/namespaces/x",
        "/api/v1/namespaces/{{ns}}/Pods",
        "/apis/Batch/v1",
        "/apis/batch/v1/namespaces/{{ns}}/cronjobs/x/scale",
    ):
        yield get(path, pick=_picks(path))
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        yield request(method, "/apis/none.example.com/v1/namespaces/{{ns}}/things", {} if method != "DELETE" else None)
        yield request(method, "/apis/batch/v1", {} if method != "DELETE" else None)
        yield request(method, "/version", {} if method != "DELETE" else None)
        yield request(method, "/healthz")
    yield post(f"{CORE}/pods/x/log", {})
    yield post("/api/v1/nodes/x/nothing", {})
    yield request("DELETE", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x")
    yield get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
    yield get("/apis/authentication.k8s.io/v1/tokenreviews/x")


def _picks(path: str) -> tuple[tuple[str, ...], ...]:
    return VERSION if path.startswith("/version") else ()


def _timeouts() -> Iterator[Step]:
    for path in ("/version", "/healthz", "/metrics", "/openapi/v2", "/apis/none.example.com/v1/x", "//api", CONFIGMAPS):
        yield get(f"{path}?timeout=soon")
    yield get("/version?timeout=1", headers={"Authorization": "none"})
    yield get("/healthz?timeout=5s")
    yield get("/healthz?timeout=")
    yield get(f"{CORE}/pods/none/log?timeout=soon")


def _plain() -> Iterator[Step]:
    yield get("/version")
    for path in (
        "/healthz",
        "/livez",
        "/readyz",
        "/healthz/ping",
        "/livez/ping",
        "/readyz/ping",
        "/livez/none",
        "/healthz/none",
        "/readyz/etcd",
        "/livez/etcd",
    ):
        yield get(path)
    yield get("/api")
    yield get("/apis")
    yield get("/api/v1")
    yield get("/", headers={"Authorization": "Bearer wrong"})
    for path in ("/version", "/healthz", "/livez", "/readyz", "/api", "/apis", "/openapi/v2", CONFIGMAPS, "/metrics"):
        yield get(path, headers={"Authorization": "Bearer wrong"})


def _openapi() -> Iterator[Step]:
    yield get("/openapi/v3", pick=(("paths", "*"),))
    yield get("/openapi/v3/apis/batch/v1", pick=tuple(("components", "schemas", *name) for name in SCHEMAS))
    yield get(
        "/openapi/v3/apis/batch/v1",
        pick=(
            ("paths", "*"),
            ("info",),
            ("openapi",),
            ("paths", "/apis/batch/v1/namespaces/{namespace}/jobs", "post"),
            ("paths", "/apis/batch/v1/namespaces/{namespace}/jobs/{name}", "patch"),
        ),
    )
    yield get(
        "/openapi/v3/api/v1",
        pick=(
            ("components", "schemas", "io.k8s.api.core.v1.PodSpec"),
            ("components", "schemas", "io.k8s.api.core.v1.ConfigMap"),
            ("components", "schemas", "*"),
        ),
    )
    for group in (
        "apps",
        "rbac.authorization.k8s.io",
        "coordination.k8s.io",
        "scheduling.k8s.io",
        "apiextensions.k8s.io",
        "storage.k8s.io",
        "policy",
        "node.k8s.io",
    ):
        yield get(f"/openapi/v3/apis/{group}/v1", pick=(("paths", "*"), ("components", "schemas", "*")))
    yield get(
        "/openapi/v2",
        pick=(
            ("definitions", "io.k8s.api.batch.v1.Job"),
            ("definitions", "io.k8s.api.batch.v1.JobSpec"),
            ("definitions", "io.k8s.api.core.v1.Secret"),
            ("info",),
            ("swagger",),
        ),
    )
    yield get("/openapi/v3/apis/none.example.com/v1")
    yield get("/openapi/v3/none")
    yield get("/openapi/v2?x=1", "application/xml")


def scenarios() -> Iterator[Scenario]:
    yield scenario("discovery-groups", _groups())
    yield scenario("discovery-aggregated", _aggregated())
    yield scenario("discovery-unknown-paths", _unknown())
    yield scenario("discovery-plain", _plain())
    yield scenario("discovery-timeouts", _timeouts())
    yield scenario("discovery-openapi", _openapi())
    yield scenario(
        "discovery-anonymous",
        [
            get(path, headers={"Authorization": "none"}, pick=_picks(path))
            for path in ("/version", "/healthz", "/livez", "/readyz")
        ]
        + [
            request(
                "GET",
                path,
                headers={"Impersonate-User": "system:anonymous", "Impersonate-Group": "system:unauthenticated"},
                pick=_picks(path),
            )
            for path in (
                "/api",
                "/apis",
                "/version",
                "/version/",
                "/healthz",
                CONFIGMAPS,
                "/openapi/v2",
                "/metrics",
                JOBS,
                "/",
                "/apis/batch/v1",
                "/livez/ping",
            )
        ],
    )
