"""A minimal valid object of every built-in kind that can be created, for scenarios that go over all kinds.

An entry: plural, path of the collection, object, a merge patch that changes something, cluster-scoped or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._objects import CORE, CRONJOBS, JOBS, LEASES, Object, configmap, cronjob, deployment, job, pod, pod_spec, service

_CONTROLLED = (
    "persistentvolumeclaims", "persistentvolumes", "poddisruptionbudgets", "resourcequotas", "volumeattributesclasses",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    plural: str
    collection: str
    body: Object
    change: Object
    cluster: bool = False

    @property
    def controlled(self) -> bool:
        """A controller behind the real server writes such an object at once, so only dry runs can be compared."""
        return self.plural in _CONTROLLED

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def path(self) -> str:
        return f"{self.collection}/{self.name}"


LABEL: Object = {"metadata": {"labels": {"a": "b"}}}


def _object(version: str, kind: str, name: str = "x", **fields: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def _namespaced(version: str, plural: str, kind: str, change: Object | None = None, **fields: Any) -> Kind:
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    return Kind(plural, f"{root}/namespaces/{{{{ns}}}}/{plural}", _object(version, kind, **fields), change or LABEL)


def _cluster(version: str, plural: str, kind: str, change: Object | None = None, **fields: Any) -> Kind:
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    name = fields.pop("name", "cmp-{{run}}-x")
    return Kind(plural, f"{root}/{plural}", _object(version, kind, name, **fields), change or LABEL, True)


def _workload(**fields: Any) -> Object:
    labels = {"app": "x"}
    return {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod_spec()},
        **fields,
    }


ROLE_RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
SUBJECTS = [{"kind": "ServiceAccount", "name": "default", "namespace": "{{ns}}"}]
WEBHOOK: Object = {
    "name": "w.example.com",
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "failurePolicy": "Ignore",
    "clientConfig": {"url": "https://127.0.0.1:9/x"},
    "timeoutSeconds": 1,
    "rules": [
        {"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}
    ],
}
CLAIM = {"storageClassName": "", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
DEVICE_REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu.example.com"}}

NAMESPACED: tuple[Kind, ...] = (
    Kind("configmaps", f"{CORE}/configmaps", configmap("x"), {"data": {"z": "1"}}),
    _namespaced("v1", "secrets", "Secret", {"stringData": {"p": "q"}}, stringData={"a": "b"}),
    _namespaced("v1", "serviceaccounts", "ServiceAccount", {"automountServiceAccountToken": False}),
    Kind("services", f"{CORE}/services", service("x"), {"spec": {"sessionAffinity": "ClientIP"}}),
    Kind("pods", f"{CORE}/pods", pod("x"), {"spec": {"activeDeadlineSeconds": 5}}),
    _namespaced("v1", "endpoints", "Endpoints", subsets=[{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]),
    _namespaced("v1", "limitranges", "LimitRange", spec={"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}),
    _namespaced(
        "v1",
        "resourcequotas",
        "ResourceQuota",
        {"spec": {"hard": {"pods": "20"}}},
        spec={"hard": {"pods": "10", "cpu": "1"}},
    ),
    _namespaced("v1", "persistentvolumeclaims", "PersistentVolumeClaim", spec=CLAIM),
    _namespaced(
        "v1",
        "replicationcontrollers",
        "ReplicationController",
        {"spec": {"replicas": 2}},
        spec={
            "selector": {"app": "x"},
            "replicas": 0,
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": pod_spec()},
        },
    ),
    _namespaced(
        "v1", "podtemplates", "PodTemplate", template={"metadata": {"labels": {"app": "x"}}, "spec": pod_spec()}
    ),
    _namespaced(
        "v1",
        "events",
        "Event",
        {"count": 2},
        reason="R",
        message="m",
        type="Normal",
        involvedObject={"kind": "Pod", "name": "p", "namespace": "{{ns}}"},
        source={"component": "c"},
    ),
    Kind("jobs", JOBS, job("x"), {"spec": {"parallelism": 3}}),
    Kind("cronjobs", CRONJOBS, cronjob("x"), {"spec": {"schedule": "1 1 1 1 *"}}),
    Kind("deployments", "/apis/apps/v1/namespaces/{{ns}}/deployments", deployment("x"), {"spec": {"replicas": 3}}),
    _namespaced("apps/v1", "replicasets", "ReplicaSet", {"spec": {"replicas": 2}}, spec=_workload(replicas=1)),
    _namespaced("apps/v1", "statefulsets", "StatefulSet", {"spec": {"replicas": 2}}, spec=_workload(serviceName="s")),
    _namespaced("apps/v1", "daemonsets", "DaemonSet", {"spec": {"minReadySeconds": 2}}, spec=_workload()),
    _namespaced("apps/v1", "controllerrevisions", "ControllerRevision", {"revision": 2}, revision=1, data={"a": 1}),
    Kind(
        "leases",
        LEASES,
        _object("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "h", "leaseDurationSeconds": 15}),
        {"spec": {"holderIdentity": "i"}},
    ),
    _namespaced("rbac.authorization.k8s.io/v1", "roles", "Role", {"rules": []}, rules=ROLE_RULES),
    _namespaced(
        "rbac.authorization.k8s.io/v1",
        "rolebindings",
        "RoleBinding",
        {"subjects": []},
        subjects=SUBJECTS,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    ),
    _namespaced(
        "policy/v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "none"}}},
    ),
    _namespaced("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", spec={"podSelector": {}}),
    _namespaced(
        "networking.k8s.io/v1",
        "ingresses",
        "Ingress",
        spec={"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    ),
    _namespaced(
        "discovery.k8s.io/v1",
        "endpointslices",
        "EndpointSlice",
        addressType="IPv4",
        endpoints=[{"addresses": ["1.2.3.4"]}],
        ports=[{"port": 80}],
    ),
    _namespaced(
        "autoscaling/v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        {"spec": {"maxReplicas": 4}},
        spec={"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
    ),
    _namespaced(
        "resource.k8s.io/v1", "resourceclaims", "ResourceClaim", spec={"devices": {"requests": [DEVICE_REQUEST]}}
    ),
    _namespaced(
        "resource.k8s.io/v1",
        "resourceclaimtemplates",
        "ResourceClaimTemplate",
        spec={"spec": {"devices": {"requests": [DEVICE_REQUEST]}}},
    ),
    _namespaced(
        "storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity", storageClassName="s", capacity="1Gi"
    ),
    _namespaced(
        "events.k8s.io/v1",
        "events",
        "Event",
        {"note": "n"},
        eventTime="2024-01-01T00:00:00.000000Z",
        action="A",
        reason="R",
        note="m",
        type="Normal",
        reportingController="example.com/c",
        reportingInstance="i",
        regarding={"kind": "Pod", "name": "p", "namespace": "{{ns}}"},
    ),
)

CLUSTER: tuple[Kind, ...] = (
    _cluster("v1", "namespaces", "Namespace"),
    _cluster(
        "v1",
        "nodes",
        "Node",
        {"spec": {"unschedulable": True}},
        spec={"taints": [{"key": "k", "effect": "NoSchedule"}]},
    ),
    _cluster(
        "v1",
        "persistentvolumes",
        "PersistentVolume",
        spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/x"}},
    ),
    _cluster("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", {"rules": []}, rules=ROLE_RULES),
    _cluster(
        "rbac.authorization.k8s.io/v1",
        "clusterrolebindings",
        "ClusterRoleBinding",
        {"subjects": []},
        subjects=SUBJECTS,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    ),
    _cluster("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", {"description": "d"}, value=5),
    _cluster(
        "storage.k8s.io/v1",
        "storageclasses",
        "StorageClass",
        {"allowVolumeExpansion": True},
        provisioner="p.example.com",
    ),
    _cluster("storage.k8s.io/v1", "csidrivers", "CSIDriver", spec={}),
    _cluster("storage.k8s.io/v1", "csinodes", "CSINode", spec={"drivers": []}),
    _cluster(
        "storage.k8s.io/v1",
        "volumeattachments",
        "VolumeAttachment",
        spec={"attacher": "a.example.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}},
    ),
    _cluster(
        "storage.k8s.io/v1",
        "volumeattributesclasses",
        "VolumeAttributesClass",
        driverName="d.example.com",
        parameters={"a": "b"},
    ),
    _cluster("node.k8s.io/v1", "runtimeclasses", "RuntimeClass", handler="h"),
    _cluster("networking.k8s.io/v1", "ingressclasses", "IngressClass", spec={"controller": "example.com/c"}),
    _cluster("networking.k8s.io/v1", "servicecidrs", "ServiceCIDR", spec={"cidrs": ["10.77.0.0/24"]}),
    _cluster("resource.k8s.io/v1", "deviceclasses", "DeviceClass", spec={}),
    _cluster(
        "resource.k8s.io/v1",
        "resourceslices",
        "ResourceSlice",
        spec={
            "driver": "d.example.com",
            "nodeName": "n",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "a"}],
        },
    ),
    _cluster(
        "admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        webhooks=[WEBHOOK],
    ),
    _cluster(
        "admissionregistration.k8s.io/v1",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        webhooks=[WEBHOOK],
    ),
    _cluster(
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
        spec={"matchConstraints": {"resourceRules": WEBHOOK["rules"]}, "validations": [{"expression": "true"}]},
    ),
    _cluster(
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        spec={"policyName": "none", "validationActions": ["Deny"]},
    ),
)
EVERY = NAMESPACED + CLUSTER
