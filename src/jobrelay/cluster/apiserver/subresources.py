"""Subresources: the paths below an object that mean something of their own."""

from __future__ import annotations

from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.access import Access
from jobrelay.cluster.apiserver.handlers import Handlers
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import Served
from jobrelay.cluster.apiserver.response import ApiResponse


class Subresources:
    def __init__(self, handlers: Handlers, access: Access) -> None:
        self._handlers, self._access = handlers, access

    async def answer(self, request: ApiRequest, served: Served) -> ApiResponse:
        info = request.info
        sub = served.subresources.get(info.subresource)
        if sub is None or len(info.parts) > 3:
            raise errors.no_such_resource()
        if info.verb not in sub.verbs:
            raise errors.method_not_allowed()
        if info.subresource in ("status",):
            if info.verb == "get":
                return await self._handlers.get(request, served)
            if info.verb == "update":
                return await self._handlers.update(request, served, info.subresource)
            return await self._handlers.patch(request, served, info.subresource)
        raise errors.no_such_resource()
