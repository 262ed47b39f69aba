"""Create and update rules of the kinds that are stored without a controller, each broken alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import Scenario, patch, post, scenario
from ._kinds import EVERY, Kind
from ._objects import having, metadata

Case = tuple[tuple[str | int, ...], Any]


def _spec(field: str, *values: Any) -> list[Case]:
    return [(("spec", *field.split(".")), value) for value in values]


def _top(field: str, *values: Any) -> list[Case]:
    return [(tuple(field.split(".")), value) for value in values]


WORKLOAD: list[Case] = [
    *_spec("replicas", -1, 0, None),
    *_spec("selector", {}, None, {"matchLabels": {"x": "y"}}, {"matchExpressions": [{"key": "a", "operator": "In"}]}),
    *_spec("template", {}, None),
    *_spec("template.spec.restartPolicy", "Never", "OnFailure"),
    *_spec("template.spec.activeDeadlineSeconds", 5),
    *_spec("template.spec.containers", []),
    *_spec("template.metadata", {}),
    *_spec("minReadySeconds", -1, 5),
    *_spec("revisionHistoryLimit", -1),
    (("spec",), {}),
]
CASES: dict[str, list[Case]] = {
    "deployments": [
        *WORKLOAD,
        *_spec(
            "strategy",
            {"type": "Recreate"},
            {"type": "Bad"},
            {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
            {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}},
            {"rollingUpdate": {"maxSurge": "x%"}},
            {"rollingUpdate": {"maxUnavailable": "200%"}},
            {"rollingUpdate": {"maxSurge": -1}},
            {"rollingUpdate": {"maxSurge": "30%"}},
        ),
        *_spec("progressDeadlineSeconds", 0, 5, -1),
        *_spec("paused", True),
    ],
    "replicasets": WORKLOAD,
    "statefulsets": [
        *WORKLOAD,
        *_spec("podManagementPolicy", "Parallel", "Bad"),
        *_spec(
            "updateStrategy",
            {"type": "OnDelete"},
            {"type": "Bad"},
            {"type": "RollingUpdate", "rollingUpdate": {"partition": -1}},
        ),
        *_spec("serviceName", "", "Bad_"),
        *_spec("ordinals", {"start": -1}, {"start": 2}),
        *_spec("persistentVolumeClaimRetentionPolicy", {"whenDeleted": "Bad"}, {"whenScaled": "Delete"}),
        *_spec(
            "volumeClaimTemplates",
            [
                {
                    "metadata": {"name": "v"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }
            ],
        ),
    ],
    "daemonsets": [
        *WORKLOAD[3:],
        *_spec(
            "updateStrategy",
            {"type": "OnDelete"},
            {"type": "Bad"},
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "x"}},
        ),
    ],
    "replicationcontrollers": [
        *_spec("replicas", -1),
        *_spec("selector", {}, {"x": "y"}),
        *_spec("template", None, {}),
        *_spec("minReadySeconds", -1),
        (("spec",), {}),
    ],
    "controllerrevisions": [*_top("revision", -1, 0), *_top("data", None, [], "x", {"apiVersion": "v1", "kind": "X"})],
    "poddisruptionbudgets": [
        *_spec("minAvailable", "50%", -1, "x", "101%", None),
        *_spec("maxUnavailable", 1),
        *_spec("selector", None, {}, {"matchExpressions": [{"key": "a", "operator": "Bad"}]}),
        *_spec("unhealthyPodEvictionPolicy", "AlwaysAllow", "Bad"),
        (("spec",), {"maxUnavailable": "0%", "selector": {}}),
    ],
    "networkpolicies": [
        *_spec("policyTypes", ["Ingress"], ["Bad"], []),
        *_spec(
            "ingress",
            [{}],
            [{"ports": [{"port": 80}]}],
            [{"ports": [{"port": 0}]}],
            [{"ports": [{"protocol": "Bad"}]}],
            [{"from": [{}]}],
            [{"from": [{"ipBlock": {"cidr": "1.2.3.4/8"}}]}],
            [{"from": [{"ipBlock": {"cidr": "x"}}]}],
            [{"from": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}],
            [{"ports": [{"port": 80, "endPort": 70}]}],
            [{"ports": [{"port": "http", "endPort": 90}]}],
            [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/8"]}}]}],
        ),
        *_spec("egress", [{}], [{"to": [{"namespaceSelector": {}}]}]),
    ],
    "ingresses": [
        *_spec(
            "rules",
            [{}],
            [{"host": "a.b", "http": {"paths": []}}],
            [{"host": "Bad_"}],
            [{"host": "1.2.3.4"}],
            [{"http": {"paths": [{"path": "/", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}],
            [{"http": {"paths": [{"path": "x", "pathType": "Prefix", "backend": {}}]}}],
            [
                {
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Bad",
                                "backend": {"service": {"name": "s", "port": {"number": 80}}},
                            }
                        ]
                    }
                }
            ],
            [
                {
                    "host": "*.a.b",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Exact",
                                "backend": {"service": {"name": "s", "port": {"name": "http"}}},
                            }
                        ]
                    },
                }
            ],
        ),
        *_spec("tls", [{"hosts": ["a.b"]}], [{"hosts": ["Bad_"]}]),
        *_spec("ingressClassName", "x", "Bad_"),
        *_spec(
            "defaultBackend",
            {},
            {"service": {"name": "s"}},
            {"service": {"name": "s", "port": {"number": 0}}},
            {"resource": {"kind": "K", "name": "n", "apiGroup": "g.io"}},
            None,
        ),
        (("spec",), {}),
    ],
    "leases": [*_spec("leaseDurationSeconds", 0)],
    "endpoints": [
        *_top(
            "subsets",
            [{}],
            [{"addresses": [{}]}],
            [{"addresses": [{"ip": "x"}]}],
            [{"addresses": [{"ip": "127.0.0.1"}]}],
            [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 0}]}],
            [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 1}, {"port": 2}]}],
            [{"addresses": [{"ip": "1.2.3.4", "hostname": "Bad_"}]}],
            [{"notReadyAddresses": [{"ip": "1.2.3.4"}]}],
            [],
        )
    ],
    "serviceaccounts": [
        *_top("secrets", [{"name": "x"}]),
        *_top("imagePullSecrets", [{"name": "x"}]),
        *_top("automountServiceAccountToken", True),
    ],
    "priorityclasses": [
        *_top("value", 1000000001, -5, None),
        *_top("globalDefault", False),
        *_top("preemptionPolicy", "Never", "Bad"),
        *_top("metadata.name", "system-x"),
    ],
    "storageclasses": [
        *_top("provisioner", "", "Bad Name", "kubernetes.io/no-provisioner"),
        *_top("reclaimPolicy", "Retain", "Bad"),
        *_top("volumeBindingMode", "WaitForFirstConsumer", "Bad"),
        *_top("parameters", {"a": "b"}, {"": "x"}),
        *_top("mountOptions", ["a"]),
        *_top(
            "allowedTopologies",
            [{"matchLabelExpressions": [{"key": "a", "values": ["b"]}]}],
            [{"matchLabelExpressions": [{"key": "a", "values": []}]}],
        ),
    ],
    "csidrivers": [
        *_spec("attachRequired", False),
        *_spec("volumeLifecycleModes", ["Ephemeral"], ["Bad"]),
        *_spec("fsGroupPolicy", "None", "Bad"),
        *_spec("tokenRequests", [{"audience": "a"}, {"audience": "a"}], [{"audience": "a", "expirationSeconds": 5}]),
        *_spec("podInfoOnMount", True),
    ],
    "csinodes": [
        *_spec(
            "drivers",
            [{"name": "d.x", "nodeID": "n", "topologyKeys": ["a"]}],
            [{}],
            [{"name": "d", "nodeID": "n"}, {"name": "d", "nodeID": "n"}],
            [{"name": "d", "nodeID": "n", "allocatable": {"count": -1}}],
        )
    ],
    "volumeattachments": [
        *_spec("attacher", "", "Bad Name"),
        *_spec("nodeName", ""),
        *_spec("source", {}, {"persistentVolumeName": "a", "inlineVolumeSpec": {}}),
    ],
    "volumeattributesclasses": [*_top("driverName", "", "Bad Name"), *_top("parameters", {}, {"": "x"})],
    "csistoragecapacities": [
        *_top("storageClassName", "", "Bad_"),
        *_top("capacity", "-1"),
        *_top("maximumVolumeSize", "5Gi"),
        *_top("nodeTopology", {"matchExpressions": [{"key": "a", "operator": "Bad"}]}),
    ],
    "runtimeclasses": [
        *_top("handler", "", "Bad_"),
        *_top("overhead", {"podFixed": {"cpu": "1"}}, {"podFixed": {"cpu": "-1"}}, {"podFixed": {"bad": "1"}}),
        *_top(
            "scheduling",
            {"nodeSelector": {"a": "b"}},
            {"nodeSelector": {"bad key": "b"}},
            {"tolerations": [{"key": "a"}]},
            {"tolerations": [{"operator": "Exists"}, {"operator": "Exists"}]},
        ),
    ],
    "ingressclasses": [
        *_spec("controller", "", "bad", "x" * 251),
        *_spec(
            "parameters",
            {"kind": "K", "name": "n"},
            {"kind": "K"},
            {"kind": "K", "name": "n", "scope": "Namespace"},
            {"kind": "K", "name": "n", "scope": "Bad"},
            {"kind": "K", "name": "n", "scope": "Cluster", "namespace": "x"},
        ),
    ],
    "resourceclaims": [
        *_spec(
            "devices",
            {},
            {"requests": [{}]},
            {"requests": [{"name": "r"}]},
            {"requests": [{"name": "Bad_", "exactly": {"deviceClassName": "x"}}]},
            {"requests": [{"name": "r", "exactly": {"deviceClassName": ""}}]},
            {"requests": [{"name": "r", "exactly": {"deviceClassName": "x", "allocationMode": "Bad"}}]},
            {"requests": [{"name": "r", "exactly": {"deviceClassName": "x", "allocationMode": "All", "count": 2}}]},
            {"requests": [{"name": "r", "exactly": {"deviceClassName": "x", "count": -1}}]},
            {
                "requests": [
                    {"name": "r", "exactly": {"deviceClassName": "x", "selectors": [{"cel": {"expression": "bad("}}]}}
                ]
            },
            {"requests": [{"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "x"}]}]},
            {"constraints": [{"requests": ["none"], "matchAttribute": "a.b/c"}]},
            {
                "requests": [
                    {"name": "r", "exactly": {"deviceClassName": "x"}},
                    {"name": "r", "exactly": {"deviceClassName": "x"}},
                ]
            },
        ),
        (("spec",), {}),
    ],
    "deviceclasses": [
        *_spec("selectors", [{}], [{"cel": {"expression": "device.driver == 'x'"}}], [{"cel": {"expression": "bad("}}]),
        *_spec("config", [{}], [{"opaque": {"driver": "d.x", "parameters": {"a": 1}}}]),
        *_spec("extendedResourceName", "example.com/gpu", "cpu"),
    ],
    "resourceslices": [
        *_spec("driver", "", "Bad_"),
        *_spec("nodeName", ""),
        *_spec("allNodes", True),
        *_spec("pool", {"name": "p", "resourceSliceCount": 0}),
        *_spec(
            "devices",
            [{"name": "a"}, {"name": "a"}],
            [{"name": "Bad_"}],
            [{"name": "a", "attributes": {"x": {"int": 1}}}],
            [{"name": "a", "attributes": {"x": {}}}],
            [{"name": "a", "capacity": {"m": {"value": "1Gi"}}}],
        ),
    ],
    "validatingwebhookconfigurations": [
        *_top("webhooks", []),
        *(
            (("webhooks", 0, key), value)
            for key, value in (
                ("name", "bad"),
                ("sideEffects", None),
                ("sideEffects", "Bad"),
                ("admissionReviewVersions", []),
                ("admissionReviewVersions", ["v9"]),
                ("failurePolicy", "Bad"),
                ("failurePolicy", None),
                ("timeoutSeconds", 0),
                ("timeoutSeconds", 31),
                ("timeoutSeconds", None),
                ("matchPolicy", "Bad"),
                ("clientConfig", {}),
                ("clientConfig", {"url": "http://x"}),
                ("clientConfig", {"url": "https://x?y=1"}),
                ("clientConfig", {"service": {"name": "s", "namespace": "n"}}),
                ("clientConfig", {"url": "https://x/y", "service": {"name": "s", "namespace": "n"}}),
                ("clientConfig", {"service": {"name": "s", "namespace": "n", "path": "bad", "port": 0}}),
                ("rules", []),
                ("rules", [{}]),
                ("rules", [{"operations": ["BAD"], "apiGroups": ["a"], "apiVersions": ["v"], "resources": ["r"]}]),
                (
                    "rules",
                    [
                        {
                            "operations": ["*", "CREATE"],
                            "apiGroups": ["*", "a"],
                            "apiVersions": [""],
                            "resources": ["*", "r"],
                            "scope": "Bad",
                        }
                    ],
                ),
                ("namespaceSelector", {"matchExpressions": [{"key": "a", "operator": "Bad"}]}),
                ("matchConditions", [{"name": "a", "expression": "true"}]),
                ("matchConditions", [{"name": "a", "expression": "bad("}]),
                ("matchConditions", [{"name": "", "expression": ""}]),
            )
        ),
    ],
    "mutatingwebhookconfigurations": [
        (("webhooks", 0, key), value)
        for key, value in (
            ("reinvocationPolicy", "IfNeeded"),
            ("reinvocationPolicy", "Bad"),
            ("sideEffects", "Some"),
            ("name", ""),
        )
    ],
    "validatingadmissionpolicies": [
        *_spec(
            "validations",
            [],
            [{}],
            [{"expression": "bad("}],
            [{"expression": "object.spec.x > 5", "message": "m\nn"}],
            [{"expression": "1"}],
            [{"expression": "true", "reason": "Bad"}],
            [{"expression": "true", "messageExpression": "'a'"}],
            [{"expression": "true", "messageExpression": "5"}],
        ),
        *_spec("failurePolicy", "Bad", "Ignore"),
        *_spec("matchConstraints", None, {}, {"resourceRules": [{}]}),
        *_spec("paramKind", {}, {"apiVersion": "v1", "kind": "ConfigMap"}),
        *_spec("variables", [{"name": "a", "expression": "1"}], [{"name": "1bad", "expression": ""}]),
        *_spec(
            "auditAnnotations", [{"key": "a", "valueExpression": "'x'"}], [{"key": "bad key", "valueExpression": "5"}]
        ),
        (("spec",), {}),
    ],
    "validatingadmissionpolicybindings": [
        *_spec("policyName", "", "Bad Name"),
        *_spec("validationActions", [], ["Bad"], ["Deny", "Warn"], ["Deny", "Deny"], ["Warn", "Audit"]),
        *_spec(
            "paramRef",
            {},
            {"name": "x"},
            {"name": "x", "parameterNotFoundAction": "Deny"},
            {"name": "x", "selector": {}, "parameterNotFoundAction": "Bad"},
        ),
        *_spec("matchResources", {"matchPolicy": "Bad"}),
    ],
    "horizontalpodautoscalers": [
        *_spec("maxReplicas", 0, None),
        *_spec("minReplicas", 0, 5),
        *_spec("scaleTargetRef", {}, {"kind": "K", "name": "bad/n"}),
        *_spec(
            "metrics",
            [{}],
            [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
                }
            ],
            [{"type": "Resource", "resource": {"name": "", "target": {}}}],
        ),
        *_spec("behavior", {"scaleDown": {"policies": []}}),
    ],
    "endpointslices": [
        *_top("addressType", "", "Bad", "IPv6"),
        *_top(
            "endpoints",
            [{}],
            [{"addresses": ["x"]}],
            [{"addresses": ["1.2.3.4"], "conditions": {"ready": True}}],
            [{"addresses": ["1.2.3.4"], "hostname": "Bad_"}],
        ),
        *_top("ports", [{"port": 1}, {"port": 2}], [{"name": "Bad_", "port": 1}], [{"port": 0}]),
    ],
}
CHANGES: dict[str, list[dict[str, Any]]] = {
    "deployments": [
        {"spec": {"selector": {"matchLabels": {"z": "z"}}}},
        {"spec": {"replicas": 2}},
        {"spec": {"template": {"metadata": {"labels": {"n": "m"}}}}},
        {"spec": {"paused": True}},
        {"metadata": {"annotations": {"deployment.kubernetes.io/revision": "1"}}},
    ],
    "replicasets": [
        {"spec": {"selector": {"matchLabels": {"z": "z"}}}},
        {"spec": {"template": {"spec": {"dnsPolicy": "Default"}}}},
    ],
    "statefulsets": [
        {"spec": {"serviceName": "z"}},
        {"spec": {"podManagementPolicy": "Parallel"}},
        {"spec": {"template": {"spec": {"dnsPolicy": "Default"}}}},
        {"spec": {"selector": {"matchLabels": {"z": "z"}}}},
        {"spec": {"minReadySeconds": 5}},
        {"spec": {"revisionHistoryLimit": 3}},
    ],
    "daemonsets": [
        {"spec": {"selector": {"matchLabels": {"z": "z"}}}},
        {"spec": {"template": {"spec": {"dnsPolicy": "Default"}}}},
    ],
    "priorityclasses": [{"value": 7}, {"preemptionPolicy": "Never"}, {"globalDefault": False, "description": "x"}],
    "storageclasses": [
        {"provisioner": "x.y"},
        {"parameters": {"a": "b"}},
        {"reclaimPolicy": "Retain"},
        {"volumeBindingMode": "WaitForFirstConsumer"},
    ],
    "csidrivers": [
        {"spec": {"attachRequired": False}},
        {"spec": {"podInfoOnMount": True}},
        {"spec": {"fsGroupPolicy": "None"}},
    ],
    "volumeattachments": [{"spec": {"nodeName": "z"}}],
    "runtimeclasses": [{"handler": "z"}],
    "ingressclasses": [{"spec": {"controller": "a.b/z"}}],
    "resourceclaims": [{"spec": {"devices": {"requests": []}}}],
    "resourceclaimtemplates": [{"spec": {"metadata": {"labels": {"a": "b"}}}}],
    "controllerrevisions": [{"data": {"b": 1}}, {"revision": 5}],
    "csistoragecapacities": [{"storageClassName": "z"}, {"capacity": "3Gi"}],
    "endpointslices": [{"addressType": "IPv6"}],
    "volumeattributesclasses": [{"driverName": "z.z"}, {"parameters": {"z": "z"}}],
    "validatingadmissionpolicybindings": [{"spec": {"policyName": "z"}}],
}


def _named(kind: Kind, number: int) -> str:
    return f"{kind.name}{number}"


def scenarios() -> Iterator[Scenario]:
    for kind in EVERY:
        if kind.plural == "events":
            continue
        cases = CASES.get(kind.plural, [])
        steps = [
            post(f"{kind.collection}?dryRun=All", having(metadata(kind.body, name=_named(kind, n)), value, *path))
            for n, (path, value) in enumerate(cases)
        ]
        steps += [
            post(f"{kind.collection}?dryRun=All", metadata(kind.body, name=bad)) for bad in ("Bad_Name", "x" * 254)
        ]
        steps.append(post(f"{kind.collection}?dryRun=All", {"metadata": {"name": "empty-{{run}}"}}))
        yield scenario(f"validation-{kind.plural}", steps)
        if kind.plural in CHANGES:
            changes = [patch(kind.path, change) for change in CHANGES[kind.plural]]
            yield scenario(
                f"validation-update-{kind.plural}",
                [post(kind.collection, kind.body), *changes],
                [kind.path] if kind.cluster else [],
            )
