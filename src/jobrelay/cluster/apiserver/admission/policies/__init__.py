"""Admission by ValidatingAdmissionPolicies: which match a request, what their expressions say, what follows from it.

The policies themselves are compiled in `kinds.admissionregistration.compiled` and kept by `policycache`. What evaluates
them is loaded when there are any.
"""

from __future__ import annotations

from jobrelay.cluster.apiserver.admission.request import AdmissionRequest

__all__ = ["admit"]


def admit(admission: AdmissionRequest) -> None:
    """Refuses what a policy denies; a step of the admission chain."""
    hooks = admission.server.policies.covering(admission.served, admission.subresource, admission.operation)
    if hooks:
        from jobrelay.cluster.apiserver.admission.policies.dispatch import dispatch

        dispatch(admission, hooks)
