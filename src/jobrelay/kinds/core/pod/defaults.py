"""Defaults of pods and pod templates, and what conversion to the server's internal types shows of itself.

`default_pod_spec` fills what every pod spec gets. A real pod gets some more (`default_pod`): requests from limits,
service links, host ports. A template's pods get those when they are created.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from jobrelay.apimachinery import quantity
from jobrelay.kinds.core.pod.common import CONTAINER_LISTS, all_containers
from jobrelay.kinds.core.pod.images import default_pull_policy
from jobrelay.kinds.core.pod.resources import is_pod_level, sum_of_containers
from jobrelay.kinds.core.pod.volumes import SOURCE_NAMES
from jobrelay.kinds.core.resources import is_huge_page, is_overcommittable

Obj = dict[str, Any]
_DEAD_ANNOTATIONS: Final = tuple(
    f"pod.{stage}.kubernetes.io/init-container{what}" for what in ("s", "-statuses") for stage in ("beta", "alpha")
)
_MILLI: Final = Fraction(1, 1000)


def default_pod(pod: Obj) -> None:
    """A pod's defaults: those of its spec and those that only real pods get."""
    spec = pod["spec"]
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        _requests_from_limits(container["resources"])
    if spec.get("resources") is not None:
        default_pod_level_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    drop_dead_annotations(pod["metadata"])
    if pod.get("status"):
        _default_status(pod["status"])


def default_pod_template(template: Obj) -> None:
    default_pod_spec(template["spec"])
    drop_dead_annotations(template["metadata"])


def default_pod_spec(spec: Obj) -> None:
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    for volume in spec.get("volumes") or ():
        _default_volume(volume)
    for name in CONTAINER_LISTS:
        for container in spec.get(name) or ():
            _default_container(container)
    if spec.get("overhead"):
        _round_up(spec["overhead"])
    _round_resources(spec.get("resources"))
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def drop_dead_annotations(metadata: Obj) -> None:
    """Annotations of old init containers vanish in conversion."""
    annotations = metadata.get("annotations")
    if not annotations or not any(name in annotations for name in _DEAD_ANNOTATIONS):
        return
    for name in _DEAD_ANNOTATIONS:
        annotations.pop(name, None)
    if not annotations:
        del metadata["annotations"]


def _default_container(container: Obj) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image", ""))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom")
        if source:
            _default_field_ref(source.get("fieldRef"))
            if source.get("fileKeyRef") is not None:
                source["fileKeyRef"].setdefault("optional", False)
    _round_resources(container.get("resources"))
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            _default_probe(container[name])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _default_http_get(handler.get("httpGet"))


def _default_probe(probe: Obj) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    _default_http_get(probe.get("httpGet"))
    grpc = probe.get("grpc")
    if grpc is not None and grpc.get("service") is None:
        grpc["service"] = ""


def _default_http_get(action: Obj | None) -> None:
    if action is not None:
        action.setdefault("path", "/")
        action.setdefault("scheme", "HTTP")


def _default_field_ref(reference: Obj | None) -> None:
    if reference is not None:
        reference.setdefault("apiVersion", "v1")


def _default_volume(volume: Obj) -> None:
    if not SOURCE_NAMES & volume.keys():
        volume["emptyDir"] = {}
        return
    if (image := volume.get("image")) is not None:
        image.setdefault("pullPolicy", default_pull_policy(image.get("reference", "")))
    if (host_path := volume.get("hostPath")) is not None:
        host_path.setdefault("type", "")
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if volume.get(name) is not None:
            volume[name].setdefault("defaultMode", 0o644)
    for file in (volume.get("downwardAPI") or {}).get("items") or ():
        _default_field_ref(file.get("fieldRef"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        _default_projection(source)
    for name, values in _VOLUME_DEFAULTS.items():
        if volume.get(name) is not None:
            for field, value in values.items():
                volume[name].setdefault(field, value)
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        template["spec"].setdefault("volumeMode", "Filesystem")
        _round_resources(template["spec"].get("resources"))


_VOLUME_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def _default_projection(source: Obj) -> None:
    for file in (source.get("downwardAPI") or {}).get("items") or ():
        _default_field_ref(file.get("fieldRef"))
    if source.get("serviceAccountToken") is not None:
        source["serviceAccountToken"].setdefault("expirationSeconds", 3600)


def _round_resources(resources: Obj | None) -> None:
    if resources:
        for name in ("limits", "requests"):
            if resources.get(name):
                _round_up(resources[name])


def _round_up(listed: dict[str, str]) -> None:
    """Nothing below a thousandth is kept in resource lists."""
    for name, text in listed.items():
        if not text.endswith(("n", "u")):
            continue
        parsed = quantity.parse(text)
        listed[name] = str(quantity.Quantity(-(-parsed.value // _MILLI) * _MILLI, parsed.format))


def _requests_from_limits(resources: Obj) -> None:
    limits = resources.get("limits")
    if not limits:
        return
    requests = resources.get("requests") or {}
    resources["requests"] = {**requests, **{name: value for name, value in limits.items() if name not in requests}}


def default_pod_level_resources(spec: Obj) -> None:
    """Completes what is requested for a pod as a whole by what its containers request."""
    resources = spec["resources"]
    requests, limits = dict(resources.get("requests") or {}), dict(resources.get("limits") or {})
    if not requests and not limits:
        return
    for name, total in sum_of_containers(spec, "limits").items():
        if is_huge_page(name) and name not in requests:
            limits.setdefault(name, str(total))
    if limits:
        resources["limits"] = limits
        for name, total in sum_of_containers(spec, "requests").items():
            if is_pod_level(name) and is_overcommittable(name):
                requests.setdefault(name, str(total))
        for name, limit in limits.items():
            if is_pod_level(name):
                requests.setdefault(name, limit)
    if requests:
        resources["requests"] = requests


def _default_host_ports(spec: Obj) -> None:
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        for port in container.get("ports") or ():
            if not port.get("hostPort") and port.get("containerPort"):
                port["hostPort"] = port["containerPort"]


def _default_status(status: Obj) -> None:
    """Keeps podIP and podIPs equal; podIP takes precedence."""
    address, listed = status.get("podIP"), status.get("podIPs") or []
    if address and (not listed or listed[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif listed and listed[0].get("ip"):
        status["podIP"] = listed[0]["ip"]
    for name in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for container in status.get(name) or ():
            _round_up(container.get("allocatedResources") or {})
            _round_resources(container.get("resources"))


def drop_disabled_fields(spec: Obj, old: Obj | None = None) -> None:
    """Fields of features that are off vanish, unless the stored object has them already."""
    if not (old or {}).get("workloadRef"):
        spec.pop("workloadRef", None)
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            source.pop("clusterTrustBundle", None)
            source.pop("podCertificate", None)
    for container in all_containers(spec):
        lifecycle = container.get("lifecycle")
        if lifecycle and "stopSignal" in lifecycle:
            del lifecycle["stopSignal"]
            if not lifecycle:
                del container["lifecycle"]


def drop_disabled_template_fields(template: Obj | None, old: Obj | None = None) -> None:
    if template is not None:
        drop_disabled_fields(template["spec"], (old or {}).get("spec"))
