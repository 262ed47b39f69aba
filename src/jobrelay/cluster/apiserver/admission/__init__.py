"""Admission: the steps from a proposed object to the one that is stored."""

from jobrelay.cluster.apiserver.admission.chain import CREATE, DELETE, UPDATE, Chain, Step, finish, run
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest

__all__ = ["CREATE", "DELETE", "UPDATE", "AdmissionRequest", "Chain", "Step", "finish", "run"]
