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

__all__ = ["CREATE", "CREATE_ON_UPDATE", "DELETE", "UPDATE", "AdmissionRequest", "Chain", "Step", "finish", "run"]
