"""Pod Security: the standards that the labels of a namespace name."""

from __future__ import annotations

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.admission.plugins.objects import one_of
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.kinds.strategy import Obj


def pod_security(admission: AdmissionRequest) -> None:
    """Enforces the Pod Security Standards that the namespace's labels set."""
    if admission.subresource not in ("", "ephemeralcontainers"):
        return
    namespace = one_of(admission, "namespaces", "", admission.namespace)
    labels = (namespace or {"metadata": {}})["metadata"].get("labels")
    if not any(key.startswith("pod-security.kubernetes.io/") for key in labels or ()):
        return
    from jobrelay.kinds.core.pod.podsecurity import admit_pod_security, is_significant_update, template_of

    if admission.served.key == "pods":
        if admission.old and not is_significant_update(admission.new, admission.old):
            return
        subject: Obj | None = admission.new
    else:
        subject = template_of(admission.served.group, admission.served.plural, admission.new)
    if subject is None or not subject.get("spec"):
        return
    why, warnings = admit_pod_security(
        labels, subject.get("metadata") or {}, subject["spec"], enforce=admission.served.key == "pods"
    )
    if why:
        raise admission.forbidden(why)
    admission.request.warn(*warnings)


def namespace_pod_security(admission: AdmissionRequest) -> None:
    """Validates a namespace's Pod Security labels; warns of existing pods that violate a stricter level."""
    if not admission.is_about("namespaces"):
        return
    from jobrelay.kinds.core.pod.podsecurity import namespace_warnings, validate_namespace_labels

    labels = admission.metadata.get("labels")
    old = admission.old["metadata"].get("labels") if admission.old else None
    if found := validate_namespace_labels(labels, old):
        raise admission.invalid(found)
    if not admission.old or labels == old:
        return
    name = admission.metadata["name"]
    pods = [represent.stored(item.raw) for item in admission.server.store.snapshot("pods").walk(name)]
    admission.request.warn(*namespace_warnings(name, labels, old, pods))
