"""What the API serves, in the documents by which clients of Kubernetes find out."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.relay.api.names import API_VERSION, GROUP, VERSION

_PREFERRED: Final = {"groupVersion": API_VERSION, "version": VERSION}
GROUP_DOCUMENT: Final = {
    "kind": "APIGroup", "apiVersion": "v1", "name": GROUP, "versions": [_PREFERRED], "preferredVersion": _PREFERRED,
}  # fmt: skip
GROUPS: Final = {"kind": "APIGroupList", "apiVersion": "v1", "groups": [GROUP_DOCUMENT]}


def _entry(name: str, kind: str, verbs: str, *, namespaced: bool = True, **more: Any) -> dict[str, Any]:
    singular = "" if "/" in name else kind.lower()
    return {
        "name": name, "singularName": singular, "namespaced": namespaced, "kind": kind, "verbs": verbs.split(), **more,
    }  # fmt: skip


RESOURCES: Final = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": API_VERSION,
    "resources": [
        _entry("activity", "Activity", "list watch"),
        _entry("overview", "Overview", "list"),
        _entry("previews", "Preview", "create"),
        _entry("workers", "Worker", "list", namespaced=False),
        _entry("workloads", "Workload", "get list"),
        _entry("workloads/events", "WorkloadEventList", "get"),
        _entry("workloads/exec", "Workload", "create get"),
        _entry("workloads/log", "Workload", "get"),
    ],
}
