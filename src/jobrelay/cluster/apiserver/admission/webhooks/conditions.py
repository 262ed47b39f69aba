"""Match conditions: expressions that all have to hold for a webhook to be asked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from jobrelay.apimachinery.cel.checker import CompileError
from jobrelay.apimachinery.cel.program import CostMeter, build
from jobrelay.apimachinery.cel.steps import CostExceeded
from jobrelay.apimachinery.cel.values import CelError
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.admission.webhooks.configurations import Invocation
from jobrelay.cluster.apiserver.admission.webhooks.review import request_fields
from jobrelay.cluster.apiserver.admission.webhooks.subject import Subject
from jobrelay.kinds.admissionregistration.expressions import ExpressionCompiler

_BUDGET: Final = 2_500_000


def holds(invocation: Invocation, subject: Subject) -> bool:
    """Whether all conditions hold. One that is false decides; errors count as the failure policy says."""
    variables: dict[str, Any] = {
        "object": subject.in_version(subject.new, invocation.served),
        "oldObject": subject.in_version(subject.old, invocation.served),
        "request": request_fields(subject, invocation.served),
    }
    failures: list[str] = []
    for _, source in invocation.webhook.conditions:
        try:
            if _program(source)(variables, CostMeter()) is False:
                return False
        except (CelError, CompileError, CostExceeded) as error:
            failures.append(f"expression '{source}' resulted in error: {error}")
    if not failures:
        return True
    if not invocation.webhook.fails:
        return False
    served, why = subject.admission.served, failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
    raise errors.forbidden(served.group, served.plural, subject.name, why)


@functools.lru_cache(1024)
def _program(source: str) -> Callable[..., Any]:
    return build(ExpressionCompiler().compile(source))
