"""ResourceQuota: writes that would use more than a quota allows are refused, the others are charged at once.

Check and charge are one step with the write itself, so writes at the same time cannot exceed a quota together.
"""

from __future__ import annotations

from typing import Final

from jobrelay.cluster.apiserver import quotas, represent
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest

_MANAGER: Final = "kube-apiserver"


def charge_quotas(admission: AdmissionRequest) -> None:
    """Checks the quotas of the namespace and charges them; a dry run is only checked."""
    namespace = admission.namespace
    items = admission.server.store.inside(quotas.KEY, namespace) if namespace else ()
    if not items:
        return
    from jobrelay.kinds.core.quota.check import QuotaRefused, QuotaWrite, check
    from jobrelay.kinds.core.quota.registry import evaluator_of

    evaluator = evaluator_of(admission.served.key)
    write = QuotaWrite(admission.operation, admission.subresource, admission.new, admission.old)
    if evaluator is None or not evaluator.handles(*write):
        return
    found = [represent.stored(item.raw) for item in items]
    try:
        charges = check(found, evaluator, write, admission.server.now())
    except QuotaRefused as refused:
        raise admission.forbidden(str(refused)) from None
    if admission.dry_run or _will_fail(admission):
        return
    for quota, used in charges:
        quotas.write_status(admission.server, quota, {**quota["status"], "used": used}, _MANAGER)


def _will_fail(admission: AdmissionRequest) -> bool:
    """Whether a create is refused after admission: it is not charged."""
    if admission.old:
        return False
    metadata, server = admission.metadata, admission.server
    taken = server.store.get(admission.served.key, admission.namespace, metadata["name"])
    return taken is not None or bool(metadata.get("resourceVersion"))
