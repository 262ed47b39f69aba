"""Pods: defaults and validation of what batch templates use, updates, subresources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import JSON_PATCH, STRATEGIC, TABLE, Scenario, Step, delete, get, patch, post, put, scenario
from ._objects import CORE, PODS, cases, container, having, metadata, pod, pod_spec, variants

Cases = list[tuple[tuple[str | int, ...], Any]]


def _c(field: str, *values: Any) -> Cases:
    return [(("spec", "containers", 0, field), value) for value in values]


def _s(field: str, *values: Any) -> Cases:
    return [(("spec", field), value) for value in values]


PROBE = {"exec": {"command": ["x"]}}
CONTAINER: Cases = [
    *_c("name", "", "Bad", "a" * 64, "a.b", "-a"),
    *_c("image", "", " x", "x ", "x:latest", "x", "repo:5000/x", "x@sha256:abc"),
    *_c("imagePullPolicy", "Never", "Bad", ""),
    *_c(
        "env",
        [{"name": ""}],
        [{"name": "A=B"}],
        [{"name": "a b"}],
        [{"name": "1A"}],
        [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        [{"name": "A", "valueFrom": {}}],
        [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "bad"}}}],
        [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": ""}}}],
        [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}],
        [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['A B']"}}}],
        [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP", "apiVersion": "v2"}}}],
        [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
        [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "bad"}}}],
        [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "3"}}}],
        [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}],
        [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "", "key": ""}}}],
        [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "c", "key": "bad key"}}}],
        [{"name": "A"}, {"name": "A"}],
    ),
    *_c(
        "envFrom",
        [{}],
        [{"configMapRef": {"name": "c"}}],
        [{"configMapRef": {"name": ""}}],
        [{"prefix": "1 x", "secretRef": {"name": "s"}}],
        [{"configMapRef": {"name": "c"}, "secretRef": {"name": "s"}}],
    ),
    *_c(
        "ports",
        [{}],
        [{"containerPort": 0}],
        [{"containerPort": 65536}],
        [{"containerPort": 80, "protocol": "X"}],
        [{"containerPort": 80, "name": "Bad_"}],
        [{"containerPort": 80, "name": "a" * 16}],
        [{"containerPort": 80, "hostPort": -1}],
        [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}],
        [{"containerPort": 80, "hostPort": 80}],
        [{"containerPort": 80, "hostIP": "x"}],
    ),
    *_c(
        "resources",
        {"limits": {"cpu": "1"}},
        {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
        {"limits": {"cpu": "-1"}},
        {"limits": {"bad": "1"}},
        {"limits": {"example.com/gpu": "1"}},
        {"requests": {"example.com/gpu": "1"}},
        {"limits": {"example.com/gpu": "1.5"}},
        {"limits": {"memory": "1.5"}},
        {"limits": {"memory": "100m"}},
        {"limits": {"hugepages-2Mi": "1Mi"}},
        {"limits": {"kubernetes.io/x": "1"}},
        {"requests": {"ephemeral-storage": "1Gi"}},
        {"claims": [{"name": "x"}]},
        {"limits": {"cpu": "0.0001"}},
        {"limits": {"memory": "1000Ki", "cpu": "1500m"}},
        {"requests": {"memory": "1e3"}},
        {"limits": {"pods": "1"}},
    ),
    *_c(
        "livenessProbe",
        PROBE,
        {},
        {"exec": {}},
        {"httpGet": {"port": 0}},
        {"httpGet": {"port": "web"}},
        {"httpGet": {"port": "Bad_Name"}},
        {"httpGet": {"port": 80, "scheme": "X"}},
        {"httpGet": {"port": 80, "path": ""}},
        {"tcpSocket": {"port": 70000}},
        {"grpc": {"port": 1}},
        {**PROBE, "tcpSocket": {"port": 1}},
        {**PROBE, "timeoutSeconds": -1},
        {**PROBE, "periodSeconds": -1, "initialDelaySeconds": -1, "failureThreshold": -1},
        {**PROBE, "successThreshold": 2},
        {**PROBE, "terminationGracePeriodSeconds": 0},
        {"httpGet": {"port": 80, "httpHeaders": [{"name": "bad name"}]}},
    ),
    *_c("readinessProbe", {**PROBE, "successThreshold": 3}, {**PROBE, "terminationGracePeriodSeconds": 5}),
    *_c("startupProbe", PROBE, {**PROBE, "successThreshold": 2}),
    *_c(
        "lifecycle",
        {"preStop": {"exec": {"command": ["x"]}}},
        {"postStart": {}},
        {"preStop": {"sleep": {"seconds": 5}}},
        {"preStop": {"sleep": {"seconds": -1}}},
        {"preStop": {"sleep": {"seconds": 50}}},
        {"postStart": {"httpGet": {"port": "x" * 20}}},
    ),
    *_c(
        "volumeMounts",
        [{}],
        [{"name": "none", "mountPath": "/x"}],
        [{"name": "v", "mountPath": ""}],
        [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}],
        [{"name": "v", "mountPath": "/a", "subPath": "../x"}],
        [{"name": "v", "mountPath": "/a", "subPath": "/x"}],
        [{"name": "v", "mountPath": "/a", "mountPropagation": "Bad"}],
        [{"name": "v", "mountPath": "/a:b"}],
        [{"name": "v", "mountPath": "/a", "recursiveReadOnly": "Enabled"}],
        [{"name": "v", "mountPath": "/a", "subPath": "a", "subPathExpr": "b"}],
    ),
    *_c(
        "securityContext",
        {},
        {"runAsUser": -1},
        {"privileged": True},
        {"runAsGroup": -5},
        {"allowPrivilegeEscalation": False, "privileged": True},
        {"capabilities": {"add": ["X"]}},
        {"procMount": "Bad"},
        {"seccompProfile": {"type": "Bad"}},
        {"seccompProfile": {"type": "Localhost"}},
        {"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}},
        {"appArmorProfile": {"type": "Bad"}},
        {"allowPrivilegeEscalation": False, "capabilities": {"add": ["SYS_ADMIN"]}},
    ),
    *_c("terminationMessagePolicy", "Bad", "FallbackToLogsOnError"),
    *_c("terminationMessagePath", "/x", ""),
    *_c("workingDir", "/x"),
    *_c("command", ["a", ""]),
    *_c("stdin", True),
    *_c("restartPolicy", "Always", "Never", "Bad"),
    *_c(
        "restartPolicyRules",
        [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
        [{"action": "Bad"}],
    ),
    *_c(
        "resizePolicy",
        [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
        [{"resourceName": "x", "restartPolicy": "Bad"}],
    ),
    *_c("volumeDevices", [{"name": "x", "devicePath": "/dev/x"}]),
]
AFFINITY_TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
SPEC: Cases = [
    *_s("containers", [], None, [container(), container()], [container(name="a"), container(name="b", image="")]),
    *_s(
        "initContainers",
        [container()],
        [container(name="i")],
        [container(name="i", restartPolicy="Always")],
        [container(name="i", restartPolicy="Never")],
        [container(name="i", livenessProbe=PROBE)],
        [container(name="i", lifecycle={"preStop": {"exec": {"command": ["x"]}}})],
        [container(name="i", readinessProbe=PROBE)],
        [container(name="i", restartPolicy="Always", startupProbe=PROBE)],
    ),
    *_s("ephemeralContainers", [container(name="e")]),
    *_s("restartPolicy", "Never", "Bad", ""),
    *_s("terminationGracePeriodSeconds", -1, 0, 5),
    *_s("activeDeadlineSeconds", 0, -1, 1, 2147483648),
    *_s("dnsPolicy", "None", "Bad", "Default", "ClusterFirstWithHostNet"),
    *_s(
        "dnsConfig",
        {"nameservers": ["1.1.1.1"]},
        {"nameservers": ["x"]},
        {"searches": ["a b"]},
        {"options": [{"name": ""}]},
        {"nameservers": ["1.1.1.1"] * 4},
    ),
    *_s("nodeSelector", {"a": "b"}, {"bad key": "b"}, {"a": "bad value"}),
    *_s("nodeName", "n", "Bad_"),
    *_s("serviceAccountName", "default", "missing", "Bad_"),
    *_s("serviceAccount", "default"),
    *_s("automountServiceAccountToken", False),
    *_s("hostNetwork", True),
    *_s("hostPID", True),
    *_s("hostIPC", True),
    *_s("shareProcessNamespace", True),
    *_s("hostUsers", False, True),
    *_s("hostname", "h", "Bad_", "a" * 64),
    *_s("subdomain", "s", "Bad_"),
    *_s("setHostnameAsFQDN", True),
    *_s("hostnameOverride", "x.y"),
    *_s("schedulerName", "x", ""),
    *_s("priorityClassName", "system-node-critical", "missing", ""),
    *_s("priority", 5),
    *_s("preemptionPolicy", "Never", "Bad"),
    *_s("runtimeClassName", "missing", "Bad_"),
    *_s("enableServiceLinks", False),
    *_s("imagePullSecrets", [{"name": "s"}], [{}], [{"name": ""}]),
    *_s("readinessGates", [{"conditionType": "a/b"}], [{"conditionType": "bad type"}]),
    *_s("overhead", {"cpu": "1"}),
    *_s(
        "tolerations",
        [{"operator": "Exists"}],
        [{"key": "a"}],
        [{"key": "a", "operator": "Exists", "value": "x"}],
        [{"operator": "Equal"}],
        [{"key": "a", "operator": "Bad"}],
        [{"key": "bad key", "operator": "Exists"}],
        [{"key": "a", "operator": "Exists", "effect": "Bad"}],
        [{"key": "a", "operator": "Exists", "tolerationSeconds": 5}],
        [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        [{"key": "a", "operator": "Gt", "value": "5"}],
    ),
    *_s(
        "affinity",
        {},
        {"nodeAffinity": {}},
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}},
        {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Bad"}]}]
                }
            }
        },
        {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]
                }
            }
        },
        {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}]
                }
            }
        },
        {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]}
                    ]
                }
            }
        },
        {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchFields": [{"key": "bad", "operator": "In", "values": ["x"]}]}]
                }
            }
        },
        {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}},
        {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 5, "preference": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}}
                ]
            }
        },
        {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [AFFINITY_TERM]}},
        {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}}]}},
        {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "podAffinityTerm": AFFINITY_TERM}]
            }
        },
        {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": {**AFFINITY_TERM, "namespaces": ["Bad_"]}}
                ]
            }
        },
        {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k"}]}},
    ),
    *_s(
        "topologySpreadConstraints",
        [{}],
        [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}],
        [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Bad"}],
        [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2}],
        [
            {
                "maxSkew": 1,
                "topologyKey": "a",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"a": "b"}},
            }
        ]
        * 2,
        [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["x"]}],
        [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "nodeAffinityPolicy": "Bad"}],
    ),
    *_s("schedulingGates", [{"name": "a.b/c"}], [{"name": "bad name"}], [{"name": "a"}, {"name": "a"}]),
    *_s(
        "hostAliases",
        [{"ip": "1.1.1.1", "hostnames": ["a"]}],
        [{"ip": "x"}],
        [{"ip": "1.1.1.1", "hostnames": ["Bad_"]}],
    ),
    *_s("os", {"name": "linux"}, {"name": "bad"}, {"name": "windows"}),
    *_s(
        "securityContext",
        {"runAsUser": 5, "fsGroup": 6},
        {"runAsUser": -1},
        {"supplementalGroups": [-1]},
        {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]},
        {"sysctls": [{"name": "bad name", "value": "1"}]},
        {"fsGroupChangePolicy": "Bad"},
        {"seccompProfile": {"type": "RuntimeDefault"}},
        {"windowsOptions": {}},
    ),
    *_s(
        "resourceClaims",
        [{"name": "a"}],
        [{"name": "a", "resourceClaimName": "x"}],
        [{"name": "Bad_", "resourceClaimName": "x"}],
        [{"name": "a", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}],
    ),
    *_s("resources", {"limits": {"cpu": "1"}}),
    *_s("workloadRef", {"name": "x"}),
]
VOLUMES: Cases = _s(
    "volumes",
    *(
        [{"name": "v", **source}]
        for source in cases(
            {},
            {"emptyDir": {}},
            {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
            {"emptyDir": {"medium": "Bad"}},
            {"emptyDir": {"sizeLimit": "-1"}},
            {"hostPath": {"path": "/x"}},
            {"hostPath": {"path": ""}},
            {"hostPath": {"path": "/../x"}},
            {"hostPath": {"path": "/x", "type": "Bad"}},
            {"configMap": {"name": "c"}},
            {"configMap": {}},
            {"configMap": {"name": "c", "defaultMode": 1000}},
            {"configMap": {"name": "c", "items": [{"key": "", "path": ""}]}},
            {"configMap": {"name": "c", "items": [{"key": "a", "path": "../x"}]}},
            {"configMap": {"name": "c", "items": [{"key": "a", "path": "/x", "mode": 9999}]}},
            {"secret": {"secretName": "s"}},
            {"secret": {}},
            {"secret": {"secretName": "s", "defaultMode": -1}},
            {"persistentVolumeClaim": {"claimName": "p"}},
            {"persistentVolumeClaim": {}},
            {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]}},
            {"downwardAPI": {"items": [{"path": "a"}]}},
            {"downwardAPI": {"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
            {"projected": {"sources": []}},
            {"projected": {"sources": [{"configMap": {"name": "c"}}]}},
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"projected": {"sources": [{"serviceAccountToken": {"path": "", "expirationSeconds": 5}}]}},
            {"projected": {"sources": [{}]}},
            {"nfs": {"server": "s", "path": "/x"}},
            {"nfs": {"server": "", "path": "x"}},
            {"csi": {"driver": "d.x"}},
            {"csi": {}},
            {
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
                    }
                }
            },
            {"ephemeral": {}},
            {"emptyDir": {}, "hostPath": {"path": "/x"}},
            {"image": {"reference": "x"}},
            {"image": {}},
            {"iscsi": {}},
            {"gitRepo": {"repository": "x"}},
            {"awsElasticBlockStore": {"volumeID": "x"}},
            {"gcePersistentDisk": {"pdName": "x"}},
            {"azureDisk": {"diskName": "x", "diskURI": "y"}},
            {"azureFile": {"secretName": "x", "shareName": "y"}},
            {"rbd": {"image": "x", "monitors": ["a"]}},
            {"cephfs": {"monitors": ["x"]}},
            {"glusterfs": {"endpoints": "x", "path": "y"}},
            {"flexVolume": {"driver": "x"}},
            {"fc": {"targetWWNs": ["x"], "lun": 1}},
            {"cinder": {"volumeID": "x"}},
            {"portworxVolume": {"volumeID": "x"}},
            {"scaleIO": {"gateway": "x", "system": "y", "volumeName": "z", "secretRef": {"name": "s"}}},
            {"storageos": {"volumeName": "x"}},
            {"vsphereVolume": {"volumePath": "x"}},
            {"quobyte": {"registry": "x:1", "volume": "y"}},
        )
    ),
) + _s("volumes", [{}], [{"name": "Bad_"}], [{"name": "a"}, {"name": "a"}], [{"name": "v", "unknown": {}}])


def _updates() -> Iterator[Step]:
    p = f"{PODS}/p"
    yield post(PODS, metadata(pod(schedulingGates=[{"name": "a.b/c"}], nodeSelector={"a": "b"}), labels={"x": "y"}))
    for body in (
        {"spec": {"containers": [{"name": "c", "image": "i:2"}]}},
        {"spec": {"containers": [{"name": "c", "image": ""}]}},
        {"spec": {"activeDeadlineSeconds": 50}},
        {"spec": {"activeDeadlineSeconds": 60}},
        {"spec": {"activeDeadlineSeconds": 40}},
        {"spec": {"activeDeadlineSeconds": None}},
        {"spec": {"tolerations": [{"key": "n", "operator": "Exists"}]}},
        {"spec": {"nodeSelector": {"c": "d"}}},
        {"spec": {"nodeSelector": {"a": "z"}}},
        {"spec": {"schedulingGates": [{"name": "d.e/f"}]}},
        {"spec": {"schedulingGates": None}},
        {"spec": {"nodeSelector": {"e": "f"}}},
        {"spec": {"nodeName": "x"}},
        {"spec": {"restartPolicy": "Never"}},
        {"spec": {"terminationGracePeriodSeconds": 5}},
        {"spec": {"serviceAccountName": "x"}},
        {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}},
        {"spec": {"hostname": "x"}},
        {"spec": {"priority": 7}},
        {"metadata": {"labels": {"n": "m"}}},
        {"spec": {"containers": [{"name": "n", "image": "x"}]}},
        {"status": {"phase": "Running"}},
    ):
        yield patch(p, body, STRATEGIC)
    yield put(p, pod())
    yield get(p, TABLE)


def _subresources() -> Iterator[Step]:
    p = f"{PODS}/p"
    yield post(PODS, pod())
    for query in (
        "",
        "?container=c",
        "?container=none",
        "?follow=true",
        "?tailLines=5",
        "?tailLines=-1",
        "?limitBytes=0",
        "?sinceSeconds=-5",
        "?sinceTime=bad",
        "?previous=true",
        "?timestamps=true",
        "?sinceSeconds=1&sinceTime=2024-01-01T00:00:00Z",
        "?stream=Bad",
        "?tailLines=x",
    ):
        yield get(f"{p}/log{query}")
    yield get(f"{PODS}/none/log")
    for path in (
        "exec",
        "attach",
        "portforward",
        "proxy",
        "nothing",
        "binding",
        "eviction",
        "ephemeralcontainers",
        "resize",
        "status",
    ):
        yield get(f"{p}/{path}")
    yield post(f"{p}/ephemeralcontainers", {})
    yield patch(
        f"{p}/ephemeralcontainers",
        {"spec": {"ephemeralContainers": [{"name": "e", "image": "x", "targetContainerName": "c"}]}},
        STRATEGIC,
    )
    yield patch(f"{p}/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"name": "c", "image": "x"}]}}, STRATEGIC)
    yield patch(
        f"{p}/ephemeralcontainers",
        {"spec": {"ephemeralContainers": [{"name": "f", "image": "x", "ports": [{"containerPort": 1}]}]}},
        STRATEGIC,
    )
    yield patch(f"{p}/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"name": "e", "image": "y"}]}}, STRATEGIC)
    yield patch(
        f"{p}/resize", {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}, STRATEGIC
    )
    yield patch(f"{p}/resize", {"spec": {"containers": [{"name": "c", "image": "other"}]}}, STRATEGIC)
    for target in (
        {},
        {"name": "n"},
        {"kind": "Node", "name": "node-x"},
        {"kind": "Bad", "name": "x"},
        {"kind": "Node", "name": "Bad_"},
    ):
        yield post(f"{p}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": target})
    yield post(f"{p}/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "again"}})
    yield post(f"{CORE}/bindings", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "again"}})
    yield post(f"{p}/binding", {"metadata": {"name": "other"}, "target": {"name": "again"}})
    yield get(p, TABLE)
    yield get(p)
    for body in (
        {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["All"]}},
        {"metadata": {"name": "other"}},
        {},
        {"kind": "Eviction", "apiVersion": "policy/v1beta1", "metadata": {"name": "p"}},
        {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "p"}},
    ):
        yield post(f"{p}/eviction", body)
    yield post(f"{PODS}/none/eviction", {"metadata": {"name": "none"}})
    yield get(p)


def _status() -> Iterator[Step]:
    s = f"{PODS}/p/status"
    running = {
        "containerStatuses": [
            {
                "name": "c",
                "ready": True,
                "restartCount": 2,
                "image": "i",
                "imageID": "",
                "state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}},
            }
        ]
    }
    failed = {
        "containerStatuses": [
            {
                "name": "c",
                "ready": False,
                "restartCount": 0,
                "image": "i",
                "imageID": "",
                "state": {"terminated": {"exitCode": 3, "reason": "Error"}},
            }
        ]
    }
    waiting = {
        "containerStatuses": [
            {
                "name": "c",
                "ready": False,
                "restartCount": 0,
                "image": "i",
                "imageID": "",
                "state": {"waiting": {"reason": "ImagePullBackOff"}},
            }
        ]
    }
    yield post(PODS, pod("p", nodeName="n-{{run}}", restartPolicy="Never"))
    for status in (
        {"phase": "Running", **running},
        {"phase": "Odd"},
        {"phase": ""},
        {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}]},
        {"conditions": [{"type": "bad type", "status": "True"}]},
        {"conditions": [{"type": "X", "status": ""}]},
        {"podIP": "1.2.3.4"},
        {"podIPs": [{"ip": "x"}]},
        {"podIPs": [{"ip": "1.2.3.4"}], "podIP": "1.2.3.4"},
        {"hostIP": "1.1.1.1"},
        {"phase": "Pending", **waiting},
        {"phase": "Failed", "reason": "Evicted", **failed},
        {"startTime": "2024-01-01T00:00:00Z"},
        {"qosClass": "Guaranteed"},
        {"nominatedNodeName": "x"},
        {"initContainerStatuses": [{"name": "none", "ready": True, "restartCount": 0, "image": "", "imageID": ""}]},
        {"containerStatuses": None},
        {"observedGeneration": 5},
        {"colour": 1},
    ):
        yield patch(s, {"status": status})
        yield get(f"{PODS}/p", TABLE)
    yield put(s, {**pod(), "status": {"phase": "Succeeded"}})
    yield patch(s, [{"op": "replace", "path": "/status/phase", "value": "Failed"}], JSON_PATCH)
    yield get(s)
    yield delete(s)


def scenarios() -> Iterator[Scenario]:
    base = having(pod(), [{"name": "v", "emptyDir": {}}], "spec", "volumes")
    for name, changes in (("containers", CONTAINER), ("spec", SPEC), ("volumes", VOLUMES)):
        bodies = variants(base if name == "containers" else pod(), changes)
        half = len(bodies) // 2
        yield scenario(f"pods-create-{name}-1", [post(PODS, body) for body in bodies[:half]])
        yield scenario(f"pods-create-{name}-2", [post(PODS, body) for body in bodies[half:]])
    yield scenario(
        "pods-create-other",
        [
            post(PODS, body)
            for body in (
                {},
                {"metadata": {"name": "x"}},
                {"metadata": {"name": "x"}, "spec": {}},
                metadata(pod(), name="Bad_"),
                metadata(pod(), name="a" * 254),
                metadata(pod(), generateName="g-", name=""),
                metadata(pod("dots.name")),
                metadata(pod("a" * 64)),
                {**pod("st"), "status": {"phase": "Running"}},
                pod(
                    "many",
                    restartPolicy="Bad",
                    dnsPolicy="Bad",
                    terminationGracePeriodSeconds=-1,
                    containers=[{}, container(name="x", image="")],
                ),
                pod("two", containers=[container(ports=[{"containerPort": 0}], imagePullPolicy="Bad")]),
                metadata(pod("ann"), annotations={"seccomp.security.alpha.kubernetes.io/pod": "x"}),
                metadata(pod("ann2"), annotations={"container.apparmor.security.beta.kubernetes.io/c": "bad"}),
                metadata(pod("ann3"), annotations={"kubernetes.io/config.mirror": "x"}),
            )
        ],
    )
    yield scenario("pods-update", _updates())
    yield scenario("pods-subresources", _subresources())
    yield scenario("pods-status", _status())
    template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": {"spec": pod_spec()}}
    yield scenario(
        "pods-templates",
        [
            post(f"{CORE}/podtemplates", template),
            *(
                post(f"{CORE}/podtemplates", having(metadata(template, name=f"t{n}"), value, "template", *path))
                for n, (path, value) in enumerate(
                    (
                        (("spec", "restartPolicy"), "Never"),
                        (("spec", "containers"), []),
                        (("metadata", "labels"), {"a b": "c"}),
                        (("spec", "volumes"), [{"name": "v"}]),
                        (("spec", "initContainers"), [container(name="i", restartPolicy="Always")]),
                        (("spec", "containers", 0, "resources"), {"limits": {"cpu": "1"}}),
                        (("spec", "securityContext"), {"runAsUser": 1}),
                        (("spec", "serviceAccountName"), "x"),
                        (
                            ("spec", "topologySpreadConstraints"),
                            [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}],
                        ),
                        (("spec", "ephemeralContainers"), [container(name="e")]),
                        (("spec", "hostNetwork"), True),
                        (("spec", "containers", 0, "ports"), [{"containerPort": 80}]),
                    )
                )
            ),
        ],
    )
