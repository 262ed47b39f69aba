"""The short forms that scripts have for Kueue's objects and for Jobs.

Names outside of namespaces carry the script's slug: `named` adds it. In whole objects and patches a text `@x` stands
for such a name.
"""

from __future__ import annotations

import re
from typing import Any, Final

from jobrelay.kube.resource import JOBS, NAMESPACES, PODS, Resource
from jobrelay.relay.multikueue.views import CONFIGS
from jobrelay.relay.workers.multikueue import CLUSTERS
from jobrelay.workloads.names import MULTIKUEUE

Obj = dict[str, Any]

GROUP: Final = "kueue.x-k8s.io"
VERSION: Final = "v1beta2"
QUEUE_LABEL: Final = f"{GROUP}/queue-name"
PRIORITY_LABEL: Final = f"{GROUP}/priority-class"


def _kueue(plural: str, kind: str, *, namespaced: bool = False) -> Resource:
    return Resource(GROUP, VERSION, plural, kind, namespaced=namespaced)


WORKLOADS: Final = _kueue("workloads", "Workload", namespaced=True)
LOCALQUEUES: Final = _kueue("localqueues", "LocalQueue", namespaced=True)
CLUSTERQUEUES: Final = _kueue("clusterqueues", "ClusterQueue")
COHORTS: Final = _kueue("cohorts", "Cohort")
FLAVORS: Final = _kueue("resourceflavors", "ResourceFlavor")
CHECKS: Final = _kueue("admissionchecks", "AdmissionCheck")
PRIORITIES: Final = _kueue("workloadpriorityclasses", "WorkloadPriorityClass")
MULTIKUEUE_CLUSTERS: Final = CLUSTERS[VERSION]
POD_PRIORITIES: Final = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
LIMITRANGES: Final = Resource("", "v1", "limitranges", "LimitRange")
RUNTIMECLASSES: Final = Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False)
KINDS: Final = {
    one.kind: one
    for one in (
        WORKLOADS, LOCALQUEUES, CLUSTERQUEUES, COHORTS, FLAVORS, CHECKS, PRIORITIES, POD_PRIORITIES, LIMITRANGES,
        RUNTIMECLASSES, JOBS, PODS, NAMESPACES, MULTIKUEUE_CLUSTERS, CONFIGS,
    )
}  # fmt: skip


_OF_JOB: Final = re.compile(r"job-(.+)-[0-9a-f]{5}")
"""How Kueue calls the Workload of a Job."""


def typed(resource: Resource, body: Obj) -> Obj:
    """An object that says what it is, as webhooks want it."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}


def job_of(workload: Obj) -> str:
    """The name of the Job that a Workload is for; its own if it is for none. A worker may not have the Job yet."""
    metadata = workload["metadata"]
    if owners := metadata.get("ownerReferences"):
        return str(owners[0]["name"])
    of_job = _OF_JOB.fullmatch(metadata["name"])
    return of_job[1] if of_job else str(metadata["name"])


class Names:
    """How a script's objects are called."""

    def __init__(self, slug: str) -> None:
        self.slug = slug

    def named(self, name: str) -> str:
        return f"{self.slug}-{name}"

    def namespace(self, name: str = "") -> str:
        return self.named(name) if name else self.slug

    def whole(self, value: Any) -> Any:
        """A value whose texts `@x` are names of this script."""
        if isinstance(value, dict):
            return {self.whole(key): self.whole(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.whole(one) for one in value]
        return self.named(value[1:]) if isinstance(value, str) and value.startswith("@") else value

    def plain(self, text: str) -> str:
        """A text of the cluster as it would be without slugs."""
        return text.replace(f"{self.slug}-", "").replace(self.slug, "NS")


def flavor(names: Names, name: str, short: Obj) -> Obj:
    spec = {
        "nodeLabels": short.get("labels"),
        "nodeTaints": [taint(each) for each in short.get("taints", ())],
        "tolerations": short.get("tolerations"),
    }
    return {"metadata": {"name": names.named(name)}, "spec": _without_empty(spec)}


def taint(text: str) -> Obj:
    """`key=value:Effect`."""
    label, effect = text.split(":")
    key, _, value = label.partition("=")
    return {"key": key, "value": value, "effect": effect}


def cluster_queue(names: Names, name: str, short: Obj) -> Obj:
    """`flavors` is one resource group, `groups` are several; `cpu` alone is a quota of the flavor `default`."""
    checks = short.get("checks")
    spec = {
        "cohortName": names.named(short["cohort"]) if "cohort" in short else None,
        "queueingStrategy": short.get("strategy"),
        "resourceGroups": _groups(names, short),
        "preemption": _preemption(short.get("preemption", {})),
        "flavorFungibility": short.get("fungibility"),
        "stopPolicy": short.get("stop"),
        "fairSharing": {"weight": str(short["weight"])} if "weight" in short else None,
        "admissionChecksStrategy": {"admissionChecks": _checks(names, checks)} if checks else None,
    }
    selector = {"namespaceSelector": short.get("selector", {})}
    return {
        "metadata": {"name": names.named(name)},
        "spec": {**selector, **_without_empty(spec), **names.whole(short.get("spec", {}))},
    }


def _checks(names: Names, checks: Any) -> list[Obj]:
    if isinstance(checks, list):
        return [{"name": names.named(name)} for name in checks]
    return [{"name": names.named(name), "onFlavors": list(map(names.named, on))} for name, on in checks.items()]


def _groups(names: Names, short: Obj) -> list[Obj]:
    if "cpu" in short:
        return [_group(names, {"default": {"cpu": short["cpu"]}})]
    groups = short.get("groups", [short["flavors"]] if "flavors" in short else [])
    return [_group(names, each) for each in groups]


def _group(names: Names, flavors: Obj) -> Obj:
    covered = list(next(iter(flavors.values())))
    return {
        "coveredResources": covered,
        "flavors": [
            {"name": names.named(name), "resources": [quota(each, text) for each, text in quotas.items()]}
            for name, quotas in flavors.items()
        ],
    }


def quota(resource: str, text: Any) -> Obj:
    """`4`, or `4 borrow 2 lend 1`."""
    nominal, *limits = str(text).split()
    pairs = dict(zip(limits[::2], limits[1::2], strict=True))
    limits_of = {"borrowingLimit": pairs.get("borrow"), "lendingLimit": pairs.get("lend")}
    return {"name": resource, "nominalQuota": nominal, **_without_empty(limits_of)}


def _preemption(short: Obj) -> Obj:
    borrow = short.get("borrow")
    return _without_empty({
        "withinClusterQueue": short.get("within"),
        "reclaimWithinCohort": short.get("reclaim"),
        "borrowWithinCohort": {"policy": borrow} if isinstance(borrow, str) else borrow,
    })  # fmt: skip


def cohort(names: Names, name: str, short: Obj) -> Obj:
    spec = {
        "parentName": names.named(short["parent"]) if "parent" in short else None,
        "resourceGroups": _groups(names, short),
        "fairSharing": {"weight": str(short["weight"])} if "weight" in short else None,
    }
    return {"metadata": {"name": names.named(name)}, "spec": _without_empty(spec)}


def local_queue(names: Names, name: str, short: Obj) -> Obj:
    spec = {"clusterQueue": names.named(short["queue"]), "stopPolicy": short.get("stop")}
    metadata = {"name": name, "namespace": names.namespace(short.get("namespace", ""))}
    return {"metadata": metadata, "spec": _without_empty(spec)}


def template(names: Names, short: Obj) -> Obj:
    """A pod template: `cpu`, `memory` and `requests`, `limits`, and whatever else `pod` has for its spec."""
    requests = {key: str(short[key]) for key in ("cpu", "memory") if key in short} | short.get("requests", {})
    resources = _without_empty({"requests": requests, "limits": short.get("limits")})
    container = {"name": "main", "image": "x", "resources": resources}
    spec = {"restartPolicy": "Never", "containers": [container], **names.whole(short.get("pod", {}))}
    metadata = _without_empty({"labels": short.get("podLabels"), "annotations": short.get("podAnnotations")})
    return {**({"metadata": metadata} if metadata else {}), "spec": spec}


def job(names: Names, name: str, short: Obj) -> Obj:
    """`count` pods at once, in the LocalQueue `queue`, of the WorkloadPriorityClass `priority`."""
    count = short.get("count", 1)
    labels = {**short.get("labels", {})}
    if "queue" in short:
        labels[QUEUE_LABEL] = short["queue"]
    if "priority" in short:
        labels[PRIORITY_LABEL] = names.named(short["priority"])
    annotations = dict(short.get("annotations", {}))
    if "min" in short:
        annotations[f"{GROUP}/job-min-parallelism"] = str(short["min"])
    metadata = {"name": name, "namespace": names.namespace(short.get("namespace", "")), "labels": labels}
    spec = {"parallelism": count, "completions": count, "template": template(names, short), **short.get("spec", {})}
    return {"metadata": {**metadata, **_without_empty({"annotations": annotations})}, "spec": spec}


def workload(names: Names, name: str, short: Obj) -> Obj:
    """A Workload that belongs to no object; `podsets` are templates with a `count` and perhaps a `min`."""
    sets = [
        {"name": each, "count": one.get("count", 1), "template": template(names, one)}
        | ({"minCount": one["min"]} if "min" in one else {})
        for each, one in short["podsets"].items()
    ]
    spec = {"queueName": short.get("queue"), "podSets": sets, **names.whole(short.get("spec", {}))}
    return {"metadata": {"name": name, "namespace": names.namespace()}, "spec": _without_empty(spec)}


def multikueue_check(names: Names, name: str) -> Obj:
    """A check of MultiKueue, whose MultiKueueConfig has its name."""
    parameters = {"apiGroup": GROUP, "kind": CONFIGS.kind, "name": names.named(name)}
    return {"metadata": {"name": names.named(name)}, "spec": {"controllerName": MULTIKUEUE, "parameters": parameters}}


def multikueue_cluster(names: Names, name: str) -> Obj:
    """A worker whose kubeconfig is in a Secret of its name."""
    source = {"kubeConfig": {"location": names.named(name), "locationType": "Secret"}}
    return {"metadata": {"name": names.named(name)}, "spec": {"clusterSource": source}}


def _without_empty(values: Obj) -> Obj:
    return {key: value for key, value in values.items() if value not in (None, [], {})}
