"""Authentication by certificate or token, impersonation, and authorization of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from jobrelay.apimachinery.access import Attributes
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.access.rbac import MASTERS, Authorizer, attributes_of, refusal
from jobrelay.cluster.apiserver.access.tokens import ISSUER, TokenError, Tokens
from jobrelay.cluster.apiserver.request import ANONYMOUS, ApiRequest, UserInfo

_EXTRA: Final = "impersonate-extra-"
AUTHENTICATED: Final = "system:authenticated"
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


class Access:
    """Authenticates and authorizes. `static` are bearer tokens that do not expire."""

    def __init__(self, authorizer: Authorizer, tokens: Tokens, static: Mapping[str, UserInfo] | None = None) -> None:
        self.authorizer, self.tokens, self._static = authorizer, tokens, static or {}

    def authenticate(self, request: ApiRequest) -> ApiRequest:
        """The request with its user; raises 401 for credentials that are wrong."""
        user = self._identify(request)
        if "impersonate-" in "\n".join(request.headers):
            user = self._impersonate(request, user)
        return request.authenticated(user)

    def _identify(self, request: ApiRequest) -> UserInfo:
        if request.peer is not None:
            return with_group(request.peer, AUTHENTICATED)
        kind, _, token = request.header("authorization").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        try:
            return self.identify_token(token.strip())[0]
        except TokenError:
            raise errors.unauthorized() from None

    def identify_token(self, token: str, audiences: tuple[str, ...] = ()) -> tuple[UserInfo, list[str]]:
        """The user of a bearer token; raises TokenError."""
        if token in self._static:
            return with_group(self._static[token], AUTHENTICATED), list(audiences or (ISSUER,))
        user, shared = self.tokens.check(token, audiences or (ISSUER,))
        return with_group(user, AUTHENTICATED), shared

    def authorize(self, request: ApiRequest) -> None:
        if MASTERS not in request.user.groups:
            authorize(self.authorizer, request.user, attributes_of(request.info))

    def _impersonate(self, request: ApiRequest, user: UserInfo) -> UserInfo:
        name, uid = request.header("impersonate-user"), request.header("impersonate-uid")
        groups = tuple(filter(None, request.headers.get("impersonate-group", ())))
        extra = {
            unquote(key[len(_EXTRA) :]).lower(): tuple(values)
            for key, values in request.headers.items()
            if key.startswith(_EXTRA)
        }
        if not name and not groups and not uid and not extra:
            return user
        if not name:
            asked = [f"{{Group  {g}    }}" for g in groups] + (
                [f"{{UID  {uid}  authentication.k8s.io/v1  }}"] if uid else []
            )
            raise errors.bad_request(f"requested [{' '.join(asked)}] without impersonating a user")
        self._may_impersonate(user, name, groups, uid, extra)
        return _impersonated(name, groups, uid, extra)

    def _may_impersonate(
        self, user: UserInfo, name: str, groups: tuple[str, ...], uid: str, extra: Mapping[str, tuple[str, ...]]
    ) -> None:
        wanted = [_impersonation_of(name)]
        wanted += [Attributes("impersonate", "", "groups", name=group) for group in groups]
        wanted += [Attributes("impersonate", "authentication.k8s.io", "uids", name=uid)] if uid else []
        for key, values in extra.items():
            wanted += [Attributes("impersonate", "authentication.k8s.io", "userextras", key, name=v) for v in values]
        for attributes in wanted:
            authorize(self.authorizer, user, attributes)


def _impersonation_of(name: str) -> Attributes:
    if name.startswith(_SERVICE_ACCOUNT) and name.count(":") == 3:
        _, _, namespace, account = name.split(":")
        return Attributes("impersonate", "", "serviceaccounts", namespace=namespace, name=account)
    return Attributes("impersonate", "", "users", name=name)


def _impersonated(name: str, groups: tuple[str, ...], uid: str, extra: Mapping[str, tuple[str, ...]]) -> UserInfo:
    if name.startswith(_SERVICE_ACCOUNT) and name.count(":") == 3 and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{name.split(':')[2]}")
    if name == ANONYMOUS.name:
        return UserInfo(name, groups if ANONYMOUS.groups[0] in groups else (*groups, *ANONYMOUS.groups), uid, extra)
    return with_group(UserInfo(name, groups, uid, extra), AUTHENTICATED)


def with_group(user: UserInfo, group: str) -> UserInfo:
    return user if group in user.groups else UserInfo(user.name, (*user.groups, group), user.uid, user.extra)


def authorize(authorizer: Authorizer, user: UserInfo, wanted: Attributes) -> None:
    """Raises 403 for what a user may not do."""
    allowed, reason = authorizer.allowed(user, wanted)
    if not allowed:
        raise forbidden(user, wanted, reason)


def forbidden(user: UserInfo, wanted: Attributes, reason: str) -> errors.ApiError:
    text = refusal(user, wanted, reason)
    if wanted.path:
        return errors.ApiError(403, "Forbidden", f"forbidden: {text}", details={})
    return errors.forbidden(wanted.group, wanted.resource, wanted.name, text)
