"""Health of the server: `/healthz`, `/livez` and `/readyz`, as a whole or check by check.

The checks have the names under which a Kubernetes API server reports them, because monitoring asks for them by name.
All of them hold as soon as this server answers at all, so that they are names and nothing more.
"""

from __future__ import annotations

from typing import Final

from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.response import ApiResponse

_HOOKS: Final = (
    "start-apiserver-admission-initializer", "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer", "priority-and-fairness-filter", "storage-object-count-tracker-hook",
    "start-apiextensions-informers", "start-apiextensions-controllers", "crd-informer-synced",
    "start-system-namespaces-controller", "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller", "start-kube-apiserver-identity-lease-garbage-collector",
    "start-legacy-token-tracking-controller", "start-service-ip-repair-controllers", "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes", "priority-and-fairness-config-producer", "bootstrap-controller",
    "start-kubernetes-service-cidr-controller", "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller", "apiservice-status-remote-available-controller",
    "apiservice-registration-controller", "apiservice-discovery-controller", "kube-apiserver-autoregistration",
)  # fmt: skip
_LATE_HOOKS: Final = ("apiservice-openapi-controller", "apiservice-openapiv3-controller")
_STARTED: Final = (
    *(f"poststarthook/{hook}" for hook in _HOOKS),
    "autoregister-completion",
    *(f"poststarthook/{hook}" for hook in _LATE_HOOKS),
)
_ALIVE: Final = ("ping", "log", "etcd", *_STARTED)
_READY: Final = ("ping", "log", "etcd", "etcd-readiness", "informer-sync", *_STARTED, "shutdown")
CHECKS: Final = {"healthz": _ALIVE, "livez": _ALIVE, "readyz": _READY}


def health(request: ApiRequest) -> ApiResponse | None:
    """The answer to a path about health; None for every other path."""
    endpoint, _, check = request.path[1:].partition("/")
    if endpoint not in CHECKS:
        return None
    if check in CHECKS[endpoint]:
        return _text("ok")
    if request.path != f"/{endpoint}":
        raise errors.page_not_found()
    if "verbose" not in request.query:
        return _text("ok")
    excluded = request.query.get("exclude", ())
    lines = (f"[+]{name} {'excluded: ok' if name in excluded else 'ok'}\n" for name in CHECKS[endpoint])
    return _text(f"{''.join(lines)}{endpoint} check passed\n")


def _text(text: str) -> ApiResponse:
    return ApiResponse(200, text.encode(), "text/plain; charset=utf-8")
