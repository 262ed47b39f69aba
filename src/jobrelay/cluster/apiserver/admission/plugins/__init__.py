"""Admission plugins: the rules that depend on other objects.

What the rules are is in `kinds/`, as pure functions; here the objects that they read are fetched from the store, and
a refusal becomes the answer. Each function is a step of the admission chain and returns at once for kinds it is not
about.
"""

from jobrelay.cluster.apiserver.admission.plugins.escalation import may_create, may_grant
from jobrelay.cluster.apiserver.admission.plugins.limits import check_limits, set_default_resources
from jobrelay.cluster.apiserver.admission.plugins.pod_security import namespace_pod_security, pod_security
from jobrelay.cluster.apiserver.admission.plugins.pods import fill_in_pod
from jobrelay.cluster.apiserver.admission.plugins.priority import check_default_priority
from jobrelay.cluster.apiserver.admission.plugins.quota import charge_quotas
from jobrelay.cluster.apiserver.admission.plugins.services import allocate_for_service
from jobrelay.cluster.apiserver.admission.plugins.storage import check_claim_growth, fill_in_claim

__all__ = [
    "allocate_for_service", "charge_quotas", "check_claim_growth", "check_default_priority", "check_limits",
    "fill_in_claim", "fill_in_pod", "may_create", "may_grant", "namespace_pod_security", "pod_security",
    "set_default_resources",
]  # fmt: skip
