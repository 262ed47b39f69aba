"""Kueue's kinds as API resources, in the version that is stored."""

from __future__ import annotations

from typing import Final

from jobrelay.kube import Resource

GROUP: Final = "kueue.x-k8s.io"
VERSION: Final = "v1beta2"

RESOURCE_FLAVORS: Final = Resource(GROUP, VERSION, "resourceflavors", "ResourceFlavor", namespaced=False)
CLUSTER_QUEUES: Final = Resource(GROUP, VERSION, "clusterqueues", "ClusterQueue", namespaced=False)
COHORTS: Final = Resource(GROUP, VERSION, "cohorts", "Cohort", namespaced=False)
LOCAL_QUEUES: Final = Resource(GROUP, VERSION, "localqueues", "LocalQueue")
WORKLOADS: Final = Resource(GROUP, VERSION, "workloads", "Workload")
PRIORITY_CLASSES: Final = Resource(GROUP, VERSION, "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False)
ADMISSION_CHECKS: Final = Resource(GROUP, VERSION, "admissionchecks", "AdmissionCheck", namespaced=False)
TOPOLOGIES: Final = Resource(GROUP, VERSION, "topologies", "Topology", namespaced=False)
POD_PRIORITY_CLASSES: Final = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
LIMIT_RANGES: Final = Resource("", "v1", "limitranges", "LimitRange")
RUNTIME_CLASSES: Final = Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False)

KINDS: Final = (
    RESOURCE_FLAVORS,
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    WORKLOADS,
    PRIORITY_CLASSES,
    ADMISSION_CHECKS,
    TOPOLOGIES,
)
