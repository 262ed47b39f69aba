"""The steps of each kind of write, by name and in Kubernetes' order.

A step gets an `AdmissionRequest` and returns, changes its new object in place, or raises the refusal. Each chain has
four parts: mutating admission, the registry's strategy (system metadata, preparation, validation, warnings), validating
admission, and what comes last (quota). Webhooks (`webhooks/`) are called after the mutating and after the validating
part; only there a write may have to wait, and only if one matches it. What reserves something belongs to the last part:
from there to the store nothing gives way to other requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from jobrelay.cluster.apiserver.admission import plugins, steps
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest

Step = Callable[[AdmissionRequest], None]


class Chain(NamedTuple):
    """The steps of one kind of write."""

    mutating: tuple[Step, ...] = ()
    strategy: tuple[Step, ...] = ()
    validating: tuple[Step, ...] = ()
    last: tuple[Step, ...] = ()


CREATE: Final = Chain(
    mutating=(
        steps.refuse_terminating_kind,
        steps.dedup_owners,
        steps.namespace_lifecycle,
        plugins.fill_in_pod,
        plugins.fill_in_claim,
        plugins.may_grant,
    ),
    strategy=(
        steps.fill_system_metadata,
        plugins.allocate_for_service,
        steps.prepare_create,
        steps.validate_create,
        steps.warn_create,
    ),
    validating=(
        plugins.namespace_pod_security,
        plugins.check_limits,
        plugins.check_default_priority,
        plugins.pod_security,
    ),
)
CREATE_ON_UPDATE: Final = CREATE._replace(validating=(plugins.may_create, *CREATE.validating))
UPDATE: Final = Chain(
    mutating=(steps.match_namespace, steps.match_name, plugins.fill_in_pod, steps.dedup_owners, plugins.may_grant),
    strategy=(
        steps.match_version,
        plugins.allocate_for_service,
        steps.keep_generation,
        steps.prepare_update,
        steps.keep_system_metadata,
        steps.validate_update,
    ),
    validating=(
        plugins.namespace_pod_security,
        plugins.check_claim_growth,
        plugins.check_default_priority,
        plugins.pod_security,
    ),
)
DELETE: Final = Chain(validating=(steps.protect_system_namespaces,))


def run(chain: tuple[Step, ...], admission: AdmissionRequest) -> None:
    for step in chain:
        step(admission)


def finish(chain: Chain, admission: AdmissionRequest) -> bool:
    """Takes an object that mutating admission has passed to its final form; returns whether labels were added late.

    Labels that canonicalization adds are in what the server shows, but on Kubernetes not yet in what it has stored.
    """
    run(chain.strategy, admission)
    strategy, labelled = admission.served.strategy, bool(admission.metadata.get("labels"))
    strategy.canonicalize(admission.new)
    run(chain.validating, admission)
    return strategy.late_labels and not labelled and bool(admission.metadata.get("labels"))
