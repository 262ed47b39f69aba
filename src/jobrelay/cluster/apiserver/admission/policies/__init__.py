"""Admission by ValidatingAdmissionPolicies: which match a request, what their expressions say, what follows from it.

The policies themselves are compiled in `kinds.admissionregistration.compiled` and kept by `policycache`.
"""

from jobrelay.cluster.apiserver.admission.policies.dispatch import admit

__all__ = ["admit"]
