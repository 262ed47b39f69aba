"""Subresources: routes paths below an object to what serves them.

`status` and its likes are updates of the object with hooks of their own. `scale` is a view that is read and written as
if it were the object. The others (`binding`, `eviction`, `token`, `log`) are actions, one function each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from jobrelay.cluster.apiserver import actions, errors
from jobrelay.cluster.apiserver.access import Access
from jobrelay.cluster.apiserver.handlers import ResourceHandlers
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.apiserver.scale import ScaleHandler

_UPDATES: Final = ("status", "ephemeralcontainers", "resize", "finalize", "approval")
Action = Callable[[ResourceHandlers, Access, ApiRequest, ServedResource], Awaitable[ApiResponse]]
_ACTIONS: Final[dict[tuple[str, str], Action]] = {
    ("pods", "binding"): actions.bind,
    ("pods", "eviction"): actions.evict,
    ("pods", "log"): actions.log,
    ("pods", "exec"): actions.connect,
    ("pods", "attach"): actions.connect,
    ("pods", "portforward"): actions.connect,
    ("serviceaccounts", "token"): actions.request_token,
}


class SubresourceHandler:
    def __init__(self, handlers: ResourceHandlers, access: Access) -> None:
        self._handlers, self._access = handlers, access
        self._scales = ScaleHandler(handlers)

    async def answer(self, request: ApiRequest, served: ServedResource) -> ApiResponse:
        info = request.info
        sub = served.subresources.get(info.subresource)
        if sub is None or (len(info.parts) > 3 and info.subresource != "proxy"):
            raise errors.no_such_resource()
        if served.namespaced != bool(info.namespace) and served.plural != "namespaces":
            raise errors.no_such_resource()
        if info.verb not in sub.verbs:
            raise errors.method_not_allowed()
        if info.subresource == "scale":
            return await self._scales.answer(request, served)
        if info.subresource in _UPDATES:
            return await self._update(request, served)
        action = _ACTIONS.get((served.plural, info.subresource))
        if action is None:
            raise errors.bad_request("address not allowed")
        return await action(self._handlers, self._access, request, served)

    async def _update(self, request: ApiRequest, served: ServedResource) -> ApiResponse:
        if request.info.verb == "get":
            return await self._handlers.get(request, served)
        change = self._handlers.update if request.info.verb == "update" else self._handlers.patch
        return await change(request, served, request.info.subresource)
