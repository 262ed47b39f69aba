"""ValidatingAdmissionPolicies: which of them match a request, what their expressions say, and what follows from it."""

from jobrelay.cluster.apiserver.admission.policies.cache import PolicyCache
from jobrelay.cluster.apiserver.admission.policies.dispatch import admit

__all__ = ["PolicyCache", "admit"]
