"""Admission: the steps from a proposed object to the one that is stored."""

from jobrelay.cluster.apiserver.admission.chain import (
    CREATE,
    CREATE_ON_UPDATE,
    DELETE,
    UPDATE,
    Chain,
    Step,
    finish,
    run,
)
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.cluster.apiserver.admission.review import has_a_say, review, validate

__all__ = [
    "CREATE", "CREATE_ON_UPDATE", "DELETE", "UPDATE", "AdmissionRequest", "Chain", "Step", "finish", "has_a_say",
    "review", "run", "validate",
]  # fmt: skip
