"""Addresses of services."""

from __future__ import annotations

from jobrelay.cluster.apiserver.admission.plugins.objects import all_of
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest


def allocate_for_service(admission: AdmissionRequest) -> None:
    """Allocates cluster IPs and node ports; an address that is not available is the only error reported."""
    if not admission.is_about("services"):
        return
    from jobrelay.kinds.core.serviceaddresses import ServiceAllocator, begin_create, begin_update

    pool = ServiceAllocator(all_of(admission, "services"))
    if not admission.old:
        found = begin_create(admission.new, pool)
    else:
        found = begin_update(admission.new, admission.old, pool)
    if found:
        raise admission.invalid(found)
