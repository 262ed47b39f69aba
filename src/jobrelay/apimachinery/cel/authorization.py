"""The `authorizer` of admission expressions: permissions of the requesting user, checked step by step.

`authorizer.group('apps').resource('deployments').namespace('x').check('create').allowed()` collects what is asked for
in an `AccessCheck`; who evaluates supplies the function that answers it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery import names
from jobrelay.apimachinery.access import Attributes
from jobrelay.apimachinery.cel.functions import declare
from jobrelay.apimachinery.cel.values import CelError, Opaque

_PREFIX: Final = "kubernetes.authorization."
AUTHORIZER: Final = f"{_PREFIX}Authorizer"
PATH_CHECK: Final = f"{_PREFIX}PathCheck"
GROUP_CHECK: Final = f"{_PREFIX}GroupCheck"
RESOURCE_CHECK: Final = f"{_PREFIX}ResourceCheck"
DECISION: Final = f"{_PREFIX}Decision"


class Decision(NamedTuple):
    """Whether it is allowed, and why."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AccessCheck:
    """What is asked: a verb on a resource, or on a path; by a service account, or by the user of the request."""

    answer: Callable[[AccessCheck], Decision]
    asked: Attributes = field(default_factory=Attributes)
    service_account: tuple[str, str] | None = None  # namespace and name

    def about(self, **attributes: str) -> AccessCheck:
        """The same check with these attributes."""
        return replace(self, asked=replace(self.asked, **attributes))


def authorizer(answer: Callable[[AccessCheck], Decision]) -> Opaque:
    """The value of the variable `authorizer`."""
    return Opaque(AUTHORIZER, AccessCheck(answer))


def request_resource(check: AccessCheck) -> Opaque:
    """The value of the variable `authorizer.requestResource`."""
    return Opaque(RESOURCE_CHECK, check)


def _path(target: Opaque, path: str) -> Opaque:
    if not path.strip():
        raise CelError("path must not be empty")
    return Opaque(PATH_CHECK, target.value.about(path=path))


def _resource(target: Opaque, resource: str) -> Opaque:
    if not resource.strip():
        raise CelError("resource must not be empty")
    return Opaque(RESOURCE_CHECK, target.value.about(resource=resource))


def _service_account(target: Opaque, namespace: str, name: str) -> Opaque:
    if names.name_is_dns_subdomain(name, False):
        raise CelError("Invalid service account name")
    if names.name_is_dns_label(namespace, False):
        raise CelError("Invalid service account namespace")
    return Opaque(AUTHORIZER, replace(target.value, service_account=(namespace, name)))


def _field(field: str) -> Callable[[Opaque, str], Opaque]:
    return lambda target, text: Opaque(RESOURCE_CHECK, target.value.about(**{field: text}))


def _check(target: Opaque, verb: str) -> Opaque:
    check = target.value.about(verb=verb)
    return Opaque(DECISION, check.answer(check))


def declare_functions() -> None:
    """A field or label selector changes nothing: RBAC ignores it."""
    impls: dict[str, Callable[..., Any]] = {field: _field(field) for field in ("subresource", "namespace", "name")}
    impls |= dict.fromkeys(("fieldSelector", "labelSelector"), lambda target, text: target)
    declare("path", f"{AUTHORIZER}.(string) {PATH_CHECK}", _path)
    declare(
        "group",
        f"{AUTHORIZER}.(string) {GROUP_CHECK}",
        lambda target, group: Opaque(GROUP_CHECK, target.value.about(group=group)),
    )
    declare("serviceAccount", f"{AUTHORIZER}.(string, string) {AUTHORIZER}", _service_account)
    declare("resource", f"{GROUP_CHECK}.(string) {RESOURCE_CHECK}", _resource)
    for name, impl in impls.items():
        declare(name, f"{RESOURCE_CHECK}.(string) {RESOURCE_CHECK}", impl)
    for check in (PATH_CHECK, RESOURCE_CHECK):
        declare("check", f"{check}.(string) {DECISION}", _check)
    declare("allowed", f"{DECISION}.() bool", lambda decision: decision.value.allowed)
    declare("reason", f"{DECISION}.() string", lambda decision: decision.value.reason)
    declare("errored", f"{DECISION}.() bool", lambda decision: False)
    declare("error", f"{DECISION}.() string", lambda decision: "")
