"""The manifests that the relay needs on the management cluster.

They have one source: `jobrelay install` prints or applies these, and the files in `deploy/` are generated from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jobrelay import __version__
from jobrelay.kube.resource import DEPLOYMENTS, NAMESPACES, PODDISRUPTIONBUDGETS, SERVICEACCOUNTS, SERVICES
from jobrelay.operate.manifests import Manifest, binding, manifest, role, rule
from jobrelay.relay.workers.install import crds
from jobrelay.relay.workers.loss import NAME as LOSSES
from jobrelay.relay.workers.proof_secret import NAME as PROOF

__all__ = ["IMAGE", "NAME", "PORT", "Installation", "management_manifests"]

NAME: Final = "jobrelay"
IMAGE: Final = f"jobrelay:{__version__}"
PORT: Final = 8080
USER: Final = 65532
_SELECTOR: Final = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": "relay"}
_KUEUE: Final = "kueue.x-k8s.io"


@dataclass(frozen=True, slots=True)
class Installation:
    """What can be configured."""

    namespace: str = "jobrelay-system"
    image: str = IMAGE
    replicas: int = 2
    arguments: tuple[str, ...] = ()
    """Additional options of `jobrelay relay run`."""


def management_manifests(chosen: Installation) -> list[Manifest]:
    """All objects, in the order in which they can be applied."""
    account = (chosen.namespace, NAME)
    service = {"selector": dict(_SELECTOR), "ports": [{"name": "metrics", "port": PORT, "targetPort": "http"}]}
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": dict(_SELECTOR)}}
    return [
        *crds(),
        manifest(NAMESPACES, chosen.namespace, labels={"pod-security.kubernetes.io/enforce": "restricted"}),
        manifest(SERVICEACCOUNTS, NAME, chosen.namespace),
        role(NAME, "", _cluster_rules()),
        binding(NAME, "", account),
        role(NAME, chosen.namespace, _namespace_rules()),
        binding(NAME, chosen.namespace, account),
        manifest(SERVICES, f"{NAME}-metrics", chosen.namespace, _SELECTOR, spec=service),
        manifest(PODDISRUPTIONBUDGETS, NAME, chosen.namespace, _SELECTOR, spec=budget),
        manifest(DEPLOYMENTS, NAME, chosen.namespace, _SELECTOR, spec=_deployment(chosen)),
    ]


def _cluster_rules() -> list[Manifest]:
    """Delegated Jobs can be in any namespace. The relay never creates or deletes them, and reads no pods or Secrets."""
    return [
        rule("batch", "jobs", "get list watch patch"),
        rule("batch", "jobs/status", "patch"),
        rule("events.k8s.io", "events", "create patch"),
        rule("", "namespaces", "get list watch"),
        rule(_KUEUE, "multikueueclusters multikueueconfigs", "get list watch"),
        rule(_KUEUE, "multikueueclusters/status", "patch"),
    ]


def _namespace_rules() -> list[Manifest]:
    """In its own namespace: its Lease, its record of lost workers, and Secrets.

    Those are workers' kubeconfigs, of any name, to renew their tokens, and the one with the keys of proofs.
    """
    return [
        rule("coordination.k8s.io", "leases", "create"),
        rule("coordination.k8s.io", "leases", "get update", NAME),
        rule("", "configmaps", "create"),
        rule("", "configmaps", "get patch", LOSSES),
        rule("", "secrets", "get list watch patch"),
        rule("", "secrets", "create", PROOF),
    ]


def _deployment(chosen: Installation) -> Manifest:
    notes = {"prometheus.io/scrape": "true", "prometheus.io/port": str(PORT), "prometheus.io/path": "/metrics"}
    return {
        "replicas": chosen.replicas,
        "selector": {"matchLabels": dict(_SELECTOR)},
        "template": {"metadata": {"labels": dict(_SELECTOR), "annotations": notes}, "spec": _pod(chosen)},
    }


def _pod(chosen: Installation) -> Manifest:
    """Replicas are spread over nodes if possible; one leads, and another takes over within 15 seconds."""
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(_SELECTOR)},
    }
    security = {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return {
        "serviceAccountName": NAME,
        "securityContext": security,
        "topologySpreadConstraints": [spread],
        "terminationGracePeriodSeconds": 30,
        "containers": [_container(chosen)],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }


def _container(chosen: Installation) -> Manifest:
    return {
        "name": "relay",
        "image": chosen.image,
        "args": ["relay", "run", f"--listen=0.0.0.0:{PORT}", "--log-format=json", *chosen.arguments],
        "env": [_field("POD_IP", "status.podIP"), _field("JOBRELAY_NAMESPACE", "metadata.namespace")],
        "ports": [{"name": "http", "containerPort": PORT}],
        "livenessProbe": {**_probe("/healthz"), "periodSeconds": 10, "failureThreshold": 6},
        "readinessProbe": {**_probe("/readyz"), "periodSeconds": 5},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108
    }


def _field(name: str, path: str) -> Manifest:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _probe(path: str) -> Manifest:
    return {"httpGet": {"path": path, "port": "http"}}
