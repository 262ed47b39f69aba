"""The manifests that the relay needs on the management cluster.

They have one source: `jobrelay install` prints or applies these, and the files in `deploy/` are generated from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from jobrelay import __version__
from jobrelay.kube import Resource
from jobrelay.kube.resource import (
    APISERVICES,
    CONFIGMAPS,
    CUSTOMRESOURCEDEFINITIONS,
    DEPLOYMENTS,
    MUTATINGWEBHOOKCONFIGURATIONS,
    NAMESPACES,
    PODDISRUPTIONBUDGETS,
    SERVICEACCOUNTS,
    SERVICES,
    VALIDATINGWEBHOOKCONFIGURATIONS,
)
from jobrelay.operate.copying import copy_arguments, source_manifests
from jobrelay.operate.kinds import KindFile, installed_kinds, kind_rules
from jobrelay.operate.manifests import Manifest, binding, manifest, role, rule
from jobrelay.operate.roles import api_rules, user_roles
from jobrelay.queueing.definitions import make_definitions
from jobrelay.queueing.names import KUEUE_LEASE
from jobrelay.queueing.webhooks.configurations import NAME as WEBHOOKS
from jobrelay.queueing.webhooks.converting import DEFINITIONS
from jobrelay.relay.api.names import API_SERVICE, AUTHORITY, GROUP, PRIORITIES, SERVICE, VERSION
from jobrelay.relay.api.names import PORT as API_PORT
from jobrelay.relay.copy_rules import CopyRules
from jobrelay.relay.dependencies.copies import RESOURCES
from jobrelay.relay.workers.install import crds
from jobrelay.relay.workers.proof_secret import NAME as PROOF
from jobrelay.workloads.kind_files import KIND_FILE
from jobrelay.workloads.references import PRIORITYCLASSES

__all__ = ["IMAGE", "NAME", "PORT", "Installation", "management_manifests"]

NAME: Final = "jobrelay"
IMAGE: Final = f"jobrelay:{__version__}"
PORT: Final = 8080
USER: Final = 65532
_SELECTOR: Final = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": "relay"}
_KUEUE: Final = "kueue.x-k8s.io"
_QUEUES: Final = f"{NAME}-queues"


@dataclass(frozen=True, slots=True)
class Installation:
    """What can be configured."""

    namespace: str = "jobrelay-system"
    image: str = IMAGE
    replicas: int = 2
    arguments: tuple[str, ...] = ()
    """Additional options of `jobrelay relay run`."""
    copies: CopyRules = field(default_factory=CopyRules)
    """Which objects it may read to copy them to workers."""
    kinds: tuple[KindFile, ...] = ()
    """Descriptions of further kinds, which it is to follow."""
    queues: bool = False
    """Whether Kueue's kinds of queues are defined too."""


def management_manifests(chosen: Installation) -> list[Manifest]:
    """All objects, in the order in which they can be applied."""
    account = (chosen.namespace, NAME)
    service = {"selector": dict(_SELECTOR), "ports": [{"name": "metrics", "port": PORT, "targetPort": "http"}]}
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": dict(_SELECTOR)}}
    return [
        *crds(),
        *(make_definitions() if chosen.queues else ()),
        manifest(NAMESPACES, chosen.namespace, labels={"pod-security.kubernetes.io/enforce": "restricted"}),
        manifest(SERVICEACCOUNTS, NAME, chosen.namespace),
        role(NAME, "", _cluster_rules()),
        binding(NAME, "", account),
        role(NAME, chosen.namespace, _namespace_rules()),
        binding(NAME, chosen.namespace, account),
        role(_QUEUES, "", _queue_rules()),
        binding(_QUEUES, "", account),
        *source_manifests(chosen.copies, f"{NAME}-copies", account),
        *_described_kinds(chosen.kinds, account),
        *user_roles(NAME),
        manifest(SERVICES, f"{NAME}-metrics", chosen.namespace, _SELECTOR, spec=service),
        manifest(SERVICES, SERVICE, chosen.namespace, _SELECTOR, spec=_api_port()),
        manifest(APISERVICES, API_SERVICE, spec=_api(chosen.namespace)),
        *(manifest(kind, WEBHOOKS) for kind in (MUTATINGWEBHOOKCONFIGURATIONS, VALIDATINGWEBHOOKCONFIGURATIONS)),
        manifest(PODDISRUPTIONBUDGETS, NAME, chosen.namespace, _SELECTOR, spec=budget),
        manifest(DEPLOYMENTS, NAME, chosen.namespace, _SELECTOR, spec=_deployment(chosen)),
    ]


def _cluster_rules() -> list[Manifest]:
    """Delegated workloads can be in any namespace. The relay never creates or deletes them, and reads no pods or
    Secrets. Definitions tell it which kinds there are; runtimes, Pipelines and Tasks, which pods a workload has;
    PriorityClasses, which of them comes first. Where Kueue admits, the relay tells it by the statuses of
    AdmissionChecks and Workloads which worker was chosen."""
    return [
        *_original_rules(installed_kinds()),
        *kind_rules([each for each in RESOURCES.values() if each.group], "get"),
        rule(CUSTOMRESOURCEDEFINITIONS.group, CUSTOMRESOURCEDEFINITIONS.plural, "get list watch"),
        rule("events.k8s.io", "events", "create patch"),
        rule("", "namespaces", "get list watch"),
        rule(PRIORITYCLASSES.group, PRIORITYCLASSES.plural, "get list watch"),
        rule(_KUEUE, "multikueueclusters multikueueconfigs admissionchecks workloads", "get list watch"),
        rule(_KUEUE, "multikueueclusters/status admissionchecks/status workloads/status", "patch"),
        *api_rules(),
    ]


def _queue_rules() -> list[Manifest]:
    """What admission by queues needs, where their kinds are served. The Lease says whether Kueue's manager leads.
    Where it does not, the relay puts its webhooks into configurations that are installed without any, and has the
    definitions whose versions differ converted by itself.

    Where owners are protected, the owner of a Workload may be named only by who may update its finalizers.
    """
    queues = "clusterqueues localqueues cohorts resourceflavors workloadpriorityclasses admissionchecks topologies"
    return [
        rule(_KUEUE, queues, "get list watch"),
        rule(_KUEUE, "clusterqueues resourceflavors", "patch"),
        rule(_KUEUE, "clusterqueues/status localqueues/status cohorts/status admissionchecks/status", "patch"),
        rule(_KUEUE, "workloads", "get list watch create patch delete"),
        rule(_KUEUE, "workloads/status", "patch"),
        rule("", "limitranges", "list watch"),
        rule("node.k8s.io", "runtimeclasses", "list watch"),
        rule("coordination.k8s.io", "leases", "list watch", KUEUE_LEASE),
        rule(CUSTOMRESOURCEDEFINITIONS.group, CUSTOMRESOURCEDEFINITIONS.plural, "patch", *DEFINITIONS),
        *kind_rules(installed_kinds(), "update", "finalizers"),
        *(
            rule(kind.group, kind.plural, "get list watch patch", WEBHOOKS)
            for kind in (MUTATINGWEBHOOKCONFIGURATIONS, VALIDATINGWEBHOOKCONFIGURATIONS)
        ),
    ]


def _api_port() -> Manifest:
    return {"selector": dict(_SELECTOR), "ports": [{"name": "api", "port": 443, "targetPort": "api"}]}


def _api(namespace: str) -> Manifest:
    """The registration of the API for users; the relay adds the authority of its certificates (`caBundle`)."""
    service = {"namespace": namespace, "name": SERVICE, "port": 443}
    return {"group": GROUP, "version": VERSION, "service": service, **PRIORITIES}


def _original_rules(kinds: Sequence[Resource]) -> list[Manifest]:
    return [*kind_rules(kinds, "get list watch patch"), *kind_rules(kinds, "patch", "status")]


def _described_kinds(files: Sequence[KindFile], account: tuple[str, str]) -> list[Manifest]:
    """A ConfigMap with descriptions of kinds, where the relay finds them, and the rights to their objects."""
    if not files:
        return []
    name = f"{NAME}-kinds"
    described = manifest(
        CONFIGMAPS, name, account[0], {KIND_FILE: "true"}, data={each.key: each.text for each in files}
    )
    rules = _original_rules([each.resource for each in files])
    return [described, role(name, "", rules), binding(name, "", account)]


def _namespace_rules() -> list[Manifest]:
    """In its own namespace: its Lease, ConfigMaps (its record of lost workers, workload kinds, kept logs), and Secrets.

    Secrets are workers' kubeconfigs, of any name, to renew their tokens, and the one with the keys of proofs.
    """
    return [
        rule("coordination.k8s.io", "leases", "create"),
        rule("coordination.k8s.io", "leases", "get update", NAME),
        rule("", "configmaps", "create get list watch patch delete"),
        rule("", "secrets", "get list watch patch"),
        rule("", "secrets", "create", PROOF, AUTHORITY),
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
        "args": [
            *("relay", "run", f"--listen=0.0.0.0:{PORT}", f"--api-listen=0.0.0.0:{API_PORT}", "--log-format=json"),
            *chosen.arguments,
            *copy_arguments(chosen.copies),
        ],
        "env": [_field("POD_IP", "status.podIP"), _field("JOBRELAY_NAMESPACE", "metadata.namespace")],
        "ports": [{"name": "http", "containerPort": PORT}, {"name": "api", "containerPort": API_PORT}],
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
