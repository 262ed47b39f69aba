"""What the `authorizer` of expressions answers: the permissions of the user of a request, and of service accounts."""

from __future__ import annotations

from jobrelay.apimachinery.cel.authorization import AccessCheck, Decision
from jobrelay.cluster.apiserver.access.rbac import MASTERS
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.cluster.apiserver.request import UserInfo


class Permissions:
    """Answers the checks of one request by RBAC; each is answered once."""

    def __init__(self, admission: AdmissionRequest) -> None:
        self._authorizer, self._user = admission.server.authorizer, admission.request.user
        self._known: dict[AccessCheck, Decision] = {}

    def decide(self, check: AccessCheck) -> Decision:
        if check not in self._known:
            self._known[check] = self._ask(check)
        return self._known[check]

    def _ask(self, check: AccessCheck) -> Decision:
        user = _account(*check.service_account) if check.service_account else self._user
        allowed, reason = self._authorizer.allowed(user, check.asked)
        if allowed and MASTERS not in user.groups:
            reason = self._authorizer.explain(user, check.asked)
        return Decision(allowed, reason)


def _account(namespace: str, name: str) -> UserInfo:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return UserInfo(f"system:serviceaccount:{namespace}:{name}", groups)
