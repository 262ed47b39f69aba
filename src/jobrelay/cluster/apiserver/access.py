"""Who asks, and may they: authentication and authorization of a request."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.request import ANONYMOUS, ApiRequest, User


class Access:
    """Authenticates by client certificate or bearer token."""

    def __init__(self, tokens: Mapping[str, User]) -> None:
        self._tokens = tokens

    def authenticate(self, request: ApiRequest) -> None:
        if request.peer is not None:
            request.user = _authenticated(request.peer)
            return
        kind, _, token = request.header("authorization").partition(" ")
        if not token:
            request.user = ANONYMOUS
            return
        user = self._tokens.get(token.strip()) if kind.lower() == "bearer" else None
        if user is None:
            raise errors.unauthorized()
        request.user = _authenticated(user)

    def authorize(self, request: ApiRequest) -> None:
        if request.user is ANONYMOUS:
            raise errors.forbidden("", "", "", f'User "{request.user.name}" cannot get path "{request.path}"')


def _authenticated(user: User) -> User:
    return dataclasses.replace(user, groups=(*user.groups, "system:authenticated"))
