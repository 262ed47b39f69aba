"""The one default priority class."""

from __future__ import annotations

from jobrelay.cluster.apiserver.admission.plugins.objects import all_of
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest


def check_default_priority(admission: AdmissionRequest) -> None:
    if admission.is_about("priorityclasses.scheduling.k8s.io"):
        from jobrelay.kinds.core.admission import second_default_refusal

        if why := second_default_refusal(admission.new, all_of(admission, admission.served.key)):
            raise admission.forbidden(why)
