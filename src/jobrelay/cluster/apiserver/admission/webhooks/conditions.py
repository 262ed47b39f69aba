"""Match conditions: expressions that all have to hold for a webhook to be asked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from jobrelay.apimachinery.access import Attributes
from jobrelay.apimachinery.cel.authorization import AccessCheck, authorizer, request_resource
from jobrelay.apimachinery.cel.checker import CompileError
from jobrelay.apimachinery.cel.program import CostMeter, build
from jobrelay.apimachinery.cel.steps import CostExceeded
from jobrelay.apimachinery.cel.values import CelError
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.admission.permissions import Permissions
from jobrelay.cluster.apiserver.admission.webhooks.review import request_fields
from jobrelay.cluster.apiserver.admission.webhooks.subject import Subject
from jobrelay.cluster.apiserver.registrations.webhooks import Invocation
from jobrelay.kinds.admissionregistration.expressions import ExpressionCompiler

_BUDGET: Final = 2_500_000
_NO_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


def holds(invocation: Invocation, subject: Subject) -> bool:
    """Whether all conditions hold. One that is false decides; errors count as the failure policy says."""
    variables, left, failures = _variables(invocation, subject), _BUDGET, []
    for _, source in invocation.webhook.conditions:
        meter = CostMeter()
        try:
            if _program(source)(variables, meter) is False:
                return False
        except (CelError, CompileError, CostExceeded) as error:
            failures.append(f"expression '{source}' resulted in error: {error}")
        left -= meter.spent
        if left < 0:
            failures = [_NO_BUDGET]
            break
    if not failures:
        return True
    if not invocation.webhook.fails:
        return False
    served, why = subject.admission.served, failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
    raise errors.forbidden(served.group, served.plural, subject.name, why)


def _variables(invocation: Invocation, subject: Subject) -> dict[str, Any]:
    served, admission = subject.admission.served, subject.admission
    asked = Attributes("", served.group, served.plural, admission.subresource, subject.namespace, subject.name)
    check = AccessCheck(Permissions(admission).decide, asked)
    return {
        "object": subject.in_version(subject.new, invocation.served),
        "oldObject": subject.in_version(subject.old, invocation.served),
        "request": request_fields(subject, invocation.served),
        "authorizer": authorizer(check.answer),
        "authorizer.requestResource": request_resource(check),
    }


@functools.lru_cache(1024)
def _program(source: str) -> Callable[..., Any]:
    return build(ExpressionCompiler().compile(source))
