"""Service account, priority and tolerations of new pods."""

from __future__ import annotations

from typing import Any

from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.admission.plugins.objects import all_of, one_of
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest


def fill_in_pod(admission: AdmissionRequest) -> None:
    """Sets service account, priority and tolerations of a new pod; keeps what an update left out."""
    if not admission.is_about("pods"):
        return
    from jobrelay.kinds.core.pod.admission import admit_pod, admit_pod_update, service_account_of

    if admission.old:
        admit_pod_update(admission.new, admission.old)
        return
    namespace = admission.namespace
    account = service_account_of(admission.new)
    runtime = admission.new["spec"].get("runtimeClassName")
    refused = admit_pod(
        admission.new,
        service_account=one_of(admission, "serviceaccounts", namespace, account) if account else None,
        priority_classes=all_of(admission, "priorityclasses.scheduling.k8s.io"),
        random_suffix=admission.server.suffix(),
        runtime_class=one_of(admission, "runtimeclasses.node.k8s.io", "", runtime) if runtime else None,
    )
    if refused is not None:
        raise errors.ApiError(refused[0], "Forbidden", refused[1], details=_pod_details(admission))


def _pod_details(admission: AdmissionRequest) -> dict[str, Any]:
    name = admission.metadata.get("name") or admission.metadata.get("generateName", "")
    return {"name": name, "kind": "pods"} if name else {"kind": "pods"}
