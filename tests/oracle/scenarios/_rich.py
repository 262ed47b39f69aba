"""Objects that use many fields at once, as ground for mutations."""

from __future__ import annotations

from typing import Any

from ._objects import CORE, CRONJOBS, DEPLOYMENTS, JOBS, PODS, SERVICES, Object

LABELS = {"app": "x"}
PROBE = {
    "httpGet": {"path": "/p", "port": 80, "scheme": "HTTP", "httpHeaders": [{"name": "H", "value": "v"}]},
    "initialDelaySeconds": 1,
    "timeoutSeconds": 2,
    "periodSeconds": 3,
    "successThreshold": 1,
    "failureThreshold": 4,
}
CONTAINER: Object = {
    "name": "c",
    "image": "img:1",
    "command": ["sh"],
    "args": ["-c", "true"],
    "workingDir": "/w",
    "imagePullPolicy": "IfNotPresent",
    "env": [
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
        {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
    ],
    "envFrom": [{"prefix": "P_", "configMapRef": {"name": "cm", "optional": True}}],
    "ports": [{"name": "web", "containerPort": 80, "protocol": "TCP"}],
    "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "2Gi"}},
    "livenessProbe": PROBE,
    "readinessProbe": {"exec": {"command": ["x"]}},
    "startupProbe": {"tcpSocket": {"port": "web"}},
    "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
    "terminationMessagePath": "/t",
    "terminationMessagePolicy": "File",
    "volumeMounts": [
        {"name": "data", "mountPath": "/data", "readOnly": True, "subPath": "s"},
        {"name": "conf", "mountPath": "/conf"},
    ],
    "securityContext": {
        "runAsUser": 5,
        "runAsNonRoot": True,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "stdin": False,
    "tty": False,
}
TERM = {
    "labelSelector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]},
    "topologyKey": "zone",
    "namespaces": ["n"],
}
POD_SPEC: Object = {
    "restartPolicy": "Never",
    "containers": [CONTAINER],
    "initContainers": [{"name": "i", "image": "img:2", "restartPolicy": "Always"}],
    "volumes": [
        {"name": "data", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {
            "name": "conf",
            "configMap": {"name": "cm", "defaultMode": 256, "items": [{"key": "k", "path": "p", "mode": 256}]},
        },
        {"name": "sec", "secret": {"secretName": "s", "optional": True}},
        {"name": "host", "hostPath": {"path": "/h", "type": "Directory"}},
        {"name": "pvc", "persistentVolumeClaim": {"claimName": "p", "readOnly": True}},
        {
            "name": "proj",
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"path": "t", "expirationSeconds": 600, "audience": "a"}},
                    {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
                ]
            },
        },
    ],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 5,
                    "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]},
                }
            ],
        },
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": TERM}]
        },
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}},
        }
    ],
    "serviceAccountName": "default",
    "automountServiceAccountToken": False,
    "terminationGracePeriodSeconds": 10,
    "activeDeadlineSeconds": 100,
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["a.b"], "options": [{"name": "ndots", "value": "2"}]},
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}],
    "hostname": "h",
    "subdomain": "s",
    "imagePullSecrets": [{"name": "s"}],
    "securityContext": {
        "runAsUser": 1,
        "runAsGroup": 2,
        "fsGroup": 3,
        "supplementalGroups": [4],
        "fsGroupChangePolicy": "Always",
        "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}],
    },
    "schedulerName": "sched",
    "enableServiceLinks": False,
    "shareProcessNamespace": False,
    "readinessGates": [{"conditionType": "a.b/c"}],
    "schedulingGates": [{"name": "a.b/g"}],
}
TEMPLATE: Object = {"metadata": {"labels": LABELS, "annotations": {"n": "1"}}, "spec": POD_SPEC}
WORK_TEMPLATE: Object = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "c", "image": "img:1"}], "nodeSelector": {"a": "b"}},
}
JOB_SPEC: Object = {
    "managedBy": "example.com/x",
    "parallelism": 2,
    "completions": 4,
    "completionMode": "Indexed",
    "backoffLimit": 3,
    "backoffLimitPerIndex": 1,
    "maxFailedIndexes": 2,
    "activeDeadlineSeconds": 100,
    "ttlSecondsAfterFinished": 5,
    "suspend": True,
    "podReplacementPolicy": "Failed",
    "podFailurePolicy": {
        "rules": [
            {"action": "FailIndex", "onExitCodes": {"containerName": "c", "operator": "In", "values": [1, 2]}},
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        ]
    },
    "successPolicy": {"rules": [{"succeededIndexes": "0-2", "succeededCount": 2}]},
    "template": TEMPLATE,
}


def _object(version: str, kind: str, **fields: Any) -> Object:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "rich", "labels": {"a": "b"}, "annotations": {"c": "d"}},
        **fields,
    }


def _with_owner(body: Object) -> Object:
    owner = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "name": "o",
        "uid": "u",
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [owner], "finalizers": ["a.b/c"]}}


POD = _with_owner(_object("v1", "Pod", spec=POD_SPEC))
JOB = _object("batch/v1", "Job", spec=JOB_SPEC)
LIGHT_JOB = {
    **JOB,
    "spec": {
        **JOB_SPEC,
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "img:1"}]},
        },
    },
}
CRONJOB = _object(
    "batch/v1",
    "CronJob",
    spec={
        "schedule": "0 0 1 1 *",
        "timeZone": "UTC",
        "suspend": True,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 5,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 2,
        "jobTemplate": {"metadata": {"labels": LABELS}, "spec": {**LIGHT_JOB["spec"]}},
    },
)
DEPLOYMENT = _object(
    "apps/v1",
    "Deployment",
    spec={
        "replicas": 2,
        "selector": {"matchLabels": LABELS},
        "template": WORK_TEMPLATE,
        "minReadySeconds": 1,
        "revisionHistoryLimit": 2,
        "progressDeadlineSeconds": 30,
        "paused": False,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
    },
)
STATEFULSET = _object(
    "apps/v1",
    "StatefulSet",
    spec={
        "replicas": 2,
        "serviceName": "s",
        "selector": {"matchLabels": LABELS},
        "template": WORK_TEMPLATE,
        "podManagementPolicy": "Parallel",
        "minReadySeconds": 1,
        "revisionHistoryLimit": 3,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
        "ordinals": {"start": 1},
        "volumeClaimTemplates": [
            {
                "metadata": {"name": "v"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "x",
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        ],
    },
)
DAEMONSET = _object(
    "apps/v1",
    "DaemonSet",
    spec={
        "selector": {"matchLabels": LABELS},
        "template": WORK_TEMPLATE,
        "minReadySeconds": 1,
        "revisionHistoryLimit": 2,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
    },
)
SERVICE = _object(
    "v1",
    "Service",
    spec={
        "type": "ClusterIP",
        "clusterIP": "None",
        "selector": LABELS,
        "ports": [
            {"name": "web", "port": 80, "targetPort": "http", "protocol": "TCP", "appProtocol": "a.b/c"},
            {"name": "dns", "port": 53, "targetPort": 5353, "protocol": "UDP"},
        ],
        "sessionAffinity": "ClientIP",
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}},
        "publishNotReadyAddresses": True,
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    },
)
CLAIM = _object(
    "v1",
    "PersistentVolumeClaim",
    spec={
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "x",
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
        "selector": {"matchLabels": LABELS, "matchExpressions": [{"key": "k", "operator": "Exists"}]},
        "volumeName": "v",
        "dataSource": {"kind": "PersistentVolumeClaim", "name": "y"},
    },
)
ROLE = _object(
    "rbac.authorization.k8s.io/v1",
    "Role",
    rules=[
        {"apiGroups": ["", "batch"], "resources": ["pods", "jobs"], "verbs": ["get", "list"], "resourceNames": ["x"]}
    ],
)
BINDING = _object(
    "rbac.authorization.k8s.io/v1",
    "RoleBinding",
    roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
    subjects=[
        {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
    ],
)
LEASE = _object(
    "coordination.k8s.io/v1",
    "Lease",
    spec={
        "holderIdentity": "h",
        "leaseDurationSeconds": 15,
        "acquireTime": "2024-01-01T00:00:00.000000Z",
        "renewTime": "2024-01-01T00:00:01.000000Z",
        "leaseTransitions": 1,
    },
)
EVENT = _object(
    "v1",
    "Event",
    involvedObject={
        "kind": "Pod",
        "name": "p",
        "namespace": "{{ns}}",
        "uid": "u",
        "apiVersion": "v1",
        "fieldPath": "f",
    },
    reason="R",
    message="m",
    type="Normal",
    source={"component": "c", "host": "h"},
    firstTimestamp="2024-01-01T00:00:00Z",
    lastTimestamp="2024-01-01T00:00:01Z",
    count=2,
    reportingComponent="a.b/c",
    reportingInstance="i",
    action="A",
)
SECRET = _object("v1", "Secret", type="Opaque", data={"a": "Yg=="}, stringData={"c": "d"}, immutable=False)
CONFIGMAP = _object("v1", "ConfigMap", data={"a": "b"}, binaryData={"c": "Yg=="}, immutable=False)
QUOTA = _object(
    "v1",
    "ResourceQuota",
    spec={
        "hard": {"pods": "5", "requests.cpu": "1"},
        "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["x"]}]},
    },
)
LIMITS = _object(
    "v1",
    "LimitRange",
    spec={
        "limits": [
            {
                "type": "Container",
                "max": {"cpu": "4"},
                "min": {"cpu": "100m"},
                "default": {"cpu": "2"},
                "defaultRequest": {"cpu": "1"},
                "maxLimitRequestRatio": {"cpu": "10"},
            }
        ]
    },
)
POLICY = _object(
    "networking.k8s.io/v1",
    "NetworkPolicy",
    spec={
        "podSelector": {"matchLabels": LABELS},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {
                "from": [{"podSelector": {}}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}],
                "ports": [{"port": 80, "endPort": 90, "protocol": "TCP"}],
            }
        ],
        "egress": [{"to": [{"namespaceSelector": {"matchLabels": LABELS}}]}],
    },
)
INGRESS = _object(
    "networking.k8s.io/v1",
    "Ingress",
    spec={
        "ingressClassName": "c",
        "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}},
        "tls": [{"hosts": ["a.b"], "secretName": "t"}],
        "rules": [
            {
                "host": "a.b",
                "http": {
                    "paths": [
                        {
                            "path": "/x",
                            "pathType": "Prefix",
                            "backend": {"service": {"name": "s", "port": {"name": "web"}}},
                        }
                    ]
                },
            }
        ],
    },
)

APPS = "/apis/apps/v1/namespaces/{{ns}}"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/{{ns}}"
NETWORKING = "/apis/networking.k8s.io/v1/namespaces/{{ns}}"
RICH: dict[str, tuple[str, Object]] = {
    "pod": (PODS, POD),
    "job": (JOBS, JOB),
    "cronjob": (CRONJOBS, CRONJOB),
    "deployment": (DEPLOYMENTS, DEPLOYMENT),
    "statefulset": (f"{APPS}/statefulsets", STATEFULSET),
    "daemonset": (f"{APPS}/daemonsets", DAEMONSET),
    "service": (SERVICES, SERVICE),
    "claim": (f"{CORE}/persistentvolumeclaims", CLAIM),
    "role": (f"{RBAC}/roles", ROLE),
    "rolebinding": (f"{RBAC}/rolebindings", BINDING),
    "lease": ("/apis/coordination.k8s.io/v1/namespaces/{{ns}}/leases", LEASE),
    "event": (f"{CORE}/events", EVENT),
    "secret": (f"{CORE}/secrets", SECRET),
    "configmap": (f"{CORE}/configmaps", CONFIGMAP),
    "quota": (f"{CORE}/resourcequotas", QUOTA),
    "limitrange": (f"{CORE}/limitranges", LIMITS),
    "networkpolicy": (f"{NETWORKING}/networkpolicies", POLICY),
    "ingress": (f"{NETWORKING}/ingresses", INGRESS),
}
