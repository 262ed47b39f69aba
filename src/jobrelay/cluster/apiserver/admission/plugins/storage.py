"""Claims: their default class, and when they may grow."""

from __future__ import annotations

from jobrelay.cluster.apiserver.admission.plugins.objects import all_of
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest


def fill_in_claim(admission: AdmissionRequest) -> None:
    if admission.is_about("persistentvolumeclaims") and not admission.old:
        from jobrelay.kinds.core.admission import fill_in_class

        fill_in_class(admission.new, all_of(admission, "storageclasses.storage.k8s.io"))


def check_claim_growth(admission: AdmissionRequest) -> None:
    if admission.is_about("persistentvolumeclaims") and admission.old:
        from jobrelay.kinds.core.admission import growth_refusal

        if why := growth_refusal(admission.new, admission.old, all_of(admission, "storageclasses.storage.k8s.io")):
            raise admission.forbidden(why)
