"""Finds out what a worker admits: by dry runs of Jobs, and by the admission plugins that its metrics name."""

from __future__ import annotations

from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from jobrelay.kube import Client, Forbidden, StatusError
from jobrelay.kube.resource import JOBS
from jobrelay.workloads.names import EPOCH, ORIGIN, ORIGIN_NAME, ORIGIN_UID

__all__ = ["enforces_policies", "is_forbidden", "probe_job"]

_NAME: Final = "jobrelay-check"
_PLUGIN_CALLS: Final = "apiserver_admission_controller_admission_duration_seconds_count"
_POLICY_PLUGIN: Final = "ValidatingAdmissionPolicy"


def probe_job(namespace: str, origin: str, **container: Any) -> dict[str, Any]:
    """A mirror from `origin` whose container has these fields; without an origin, a Job that is not a mirror."""
    marks = {"labels": {ORIGIN: origin}, "annotations": {ORIGIN_UID: _NAME, ORIGIN_NAME: _NAME, EPOCH: "0"}}
    containers = [{"name": "main", "image": "none", **container}]
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"generateName": f"{_NAME}-", "namespace": namespace, **(marks if origin else {})},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": containers}}},
    }


async def is_forbidden(client: Client, job: dict[str, Any]) -> bool:
    """Whether the worker forbids the caller to create such a Job."""
    try:
        await client.create(JOBS, job, dry_run=True)
    except StatusError as error:
        return isinstance(error, Forbidden)
    return False


async def enforces_policies(admin: Client) -> bool:
    """Whether the cluster evaluates ValidatingAdmissionPolicies; one may serve them and ignore them.

    An API server counts the calls of each admission plugin, so one that evaluates policies names the plugin in its
    metrics. A cluster whose metrics the caller may not read is assumed to evaluate them.
    """
    try:
        text = (await admin.call("GET", "/metrics")).decode()
    except StatusError:
        return True
    calls = "\n".join(line for line in text.splitlines() if line.startswith(_PLUGIN_CALLS))
    families = text_string_to_metric_families(calls)
    return any(sample.labels.get("name") == _POLICY_PLUGIN for family in families for sample in family.samples)
