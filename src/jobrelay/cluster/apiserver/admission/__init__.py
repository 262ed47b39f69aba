"""Admission: everything between an object that a write asks for and the object that is stored, step by step."""

from jobrelay.cluster.apiserver.admission.chain import CREATE, DELETE, UPDATE, Chain, Step, finish, run
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest

__all__ = ["CREATE", "DELETE", "UPDATE", "AdmissionRequest", "Chain", "Step", "finish", "run"]
