"""LimitRanger: default resources of containers, and bounds of what pods and claims ask for."""

from __future__ import annotations

from jobrelay.cluster.apiserver.admission.plugins.objects import Fields, all_inside
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest


def _ranges(admission: AdmissionRequest) -> list[Fields]:
    """The limit ranges that a write is held to. Pods are judged when they are new or resized."""
    if admission.served.key == "pods":
        judged = admission.subresource == ("resize" if admission.old else "")
    else:
        judged = admission.is_about("persistentvolumeclaims")
    if not judged or (admission.old and admission.old["metadata"].get("deletionTimestamp")):
        return []
    return all_inside(admission, "limitranges")


def set_default_resources(admission: AdmissionRequest) -> None:
    if admission.served.key == "pods" and (ranges := _ranges(admission)):
        from jobrelay.kinds.core import limitranger

        limitranger.fill_in(admission.new, ranges)


def check_limits(admission: AdmissionRequest) -> None:
    if ranges := _ranges(admission):
        from jobrelay.kinds.core import limitranger

        check = limitranger.pod_refusal if admission.served.key == "pods" else limitranger.claim_refusal
        if why := check(admission.new, ranges):
            raise admission.forbidden(why)
