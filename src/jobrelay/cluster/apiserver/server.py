"""The API server as one function from requests to answers.

`ApiServer.handle` is the seam that the network server and the in-process transport share. Every answer is made here:
the identity, the permission, the route, the verb, and at the end the one place where errors become Status objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from jobrelay.apimachinery.times import TimeError, parse_duration
from jobrelay.cluster.apiserver import actions, conversions, custom, errors, heavy, negotiate, represent
from jobrelay.cluster.apiserver.access import Access
from jobrelay.cluster.apiserver.aggregation import AvailabilityController, Proxy, RemoteApis
from jobrelay.cluster.apiserver.body import BODY_LIMIT
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.crds import CrdControllers
from jobrelay.cluster.apiserver.discovery import Discovery
from jobrelay.cluster.apiserver.handlers import ResourceHandlers
from jobrelay.cluster.apiserver.metrics import ApiServerMetrics
from jobrelay.cluster.apiserver.nonresource import NonResourceHandler
from jobrelay.cluster.apiserver.request import ApiRequest, RequestInfo
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.apiserver.reviews import ReviewHandler
from jobrelay.cluster.apiserver.subresources import SubresourceHandler
from jobrelay.cluster.apiserver.watch import Watches
from jobrelay.cluster.store import StoreFailure
from jobrelay.kinds import context
from jobrelay.kinds.apiextensions.conversion import ConversionError
from jobrelay.kinds.deprecations import deprecation_warning
from jobrelay.kube.credentials import Certificate
from jobrelay.logs import get_logger

log = get_logger(__name__)
Verb = Callable[[ApiRequest, ServedResource], Awaitable[ApiResponse]]
ReadBody = Callable[[], Awaitable[bytes]]
_LONG_RUNNING: Final = frozenset({"attach", "exec", "log", "portforward", "proxy"})
_WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")


class ApiServer:
    """`front_proxy` is the certificate by which aggregated API servers know this one."""

    def __init__(
        self, server: ServerContext, access: Access, address: str, front_proxy: Certificate | None = None
    ) -> None:
        self.server, self.access = server, access
        self.watches = Watches()
        self.metrics = ApiServerMetrics(server, self.watches)
        self.crds = CrdControllers(server, self.watches)
        self.handlers = ResourceHandlers(server, self.watches, ReviewHandler(server, access))
        self.subresources = SubresourceHandler(self.handlers, access)
        self.remote = RemoteApis(server.store, server.resources.touch)
        self.proxy = Proxy(server.store, front_proxy)
        self.availability = AvailabilityController(server, self.remote, self.proxy)
        discovery = Discovery(server.resources, address, self.remote)
        self.nonresource = NonResourceHandler(server, discovery, self.metrics)
        self._verbs: dict[str, Verb] = {
            "get": self.handlers.get, "list": self.handlers.list, "watch": self.handlers.watch,
            "create": self.handlers.create, "update": self.handlers.update, "patch": self.handlers.patch,
            "delete": self.handlers.delete, "deletecollection": self.handlers.deletecollection,
        }  # fmt: skip

    async def close(self) -> None:
        """Ends watches, and the connections to other servers."""
        self.watches.close()
        self.availability.stop()
        await self.proxy.close()
        await self.server.outbound.close()

    async def handle(self, request: ApiRequest, read: ReadBody | None = None) -> ApiResponse:
        """Answers a request; never raises.

        `read` reads the body of a request that came without it; it is called once the caller is known and has the
        permission.
        """
        with self.metrics.timed(request) as outcome:
            try:
                answer = await self._answer(request, read)
                if answer.pending is not None:
                    answer = await heavy.beside(answer.pending)
            except errors.ApiError as error:
                answer = _refusal(request, await self._settled(request, error))
            except StoreFailure as failure:
                answer = _refusal(request, _not_written(failure))
            except ConversionError as error:
                answer = _refusal(request, errors.unknown(str(error)))
            except RecursionError:
                answer = _refusal(request, errors.bad_request("the body is nested too deeply"))
            except Exception:  # the boundary of a request: nothing may take the server down
                log.exception("request failed", method=request.method, path=request.path)
                answer = _refusal(request, errors.internal("the request could not be handled; see the server's log"))
            answer.warnings = list(request.warnings)
            outcome.code = answer.code
        return answer

    async def _settled(self, request: ApiRequest, error: errors.ApiError) -> errors.ApiError:
        """A refusal may rest on writes that are not durable yet: it waits for their commit, and fails if they do."""
        if request.method in ("GET", "HEAD"):
            return error
        try:
            await self.server.store.settled()
        except StoreFailure as failure:
            return _not_written(failure)
        return error

    async def _answer(self, request: ApiRequest, read: ReadBody | None) -> ApiResponse:
        asked = request.first("timeout")
        seconds = _timeout(asked) if asked and not _is_long_running(request.info) else 0.0
        if "//" in request.path:
            raise errors.page_not_found()
        request = self.access.authenticate(request)
        self.access.authorize(request)
        if read is not None:
            request = request.with_body(await read())
        if len(request.body) > BODY_LIMIT:
            raise errors.too_large(f"limit is {BODY_LIMIT}")
        if self.remote.by_version and (api := self.remote.find(request.path)) is not None:
            return await self.proxy.forward(request, api)
        if not request.info.about_resource:
            return await self.nonresource.answer(request)
        requester = context.RequestUser(request.user.name, request.user.uid, request.user.groups, request.user.extra)
        context.current.set(context.RequestContext(self.server.now(), requester))
        if seconds <= 0 or request.info.verb not in _WRITES:
            return await self._on_resource(request, request.info)
        try:
            async with asyncio.timeout(seconds):
                return await self._on_resource(request, request.info)
        except TimeoutError:
            raise errors.out_of_time() from None

    async def _on_resource(self, request: ApiRequest, info: RequestInfo) -> ApiResponse:
        served = self.server.resources.get(info.group, info.version, info.resource)
        if served is None:
            raise self._unknown(info)
        if (not info.subresource or info.subresource in served.subresources) and (
            warning := deprecation_warning(info.group, info.version, info.resource)
        ):
            request.warn(warning)
        if served.custom is not None:
            custom.check_route(request, served)
            served = conversions.for_request(served, info.verb)
        if info.subresource:
            return await self.subresources.answer(request, served)
        if served.plural == "bindings" and not served.group and info.verb == "create" and info.namespace:
            return await actions.bind(self.handlers, self.access, request, served)
        if info.namespace and not served.namespaced and (served.plural != "namespaces" or info.name != info.namespace):
            raise errors.no_such_resource()
        if served.namespaced and not info.namespace and (info.name or info.verb not in ("list", "watch")):
            raise errors.no_such_resource() if info.name else errors.method_not_allowed()
        if info.name and not {"get", "update", "patch", "delete"} & set(served.verbs):
            raise errors.no_such_resource()
        named = info.verb in ("get", "update", "patch", "delete")
        odd = request.method == "HEAD" or (named != bool(info.name) and info.verb != "watch")
        if info.verb not in served.verbs or (odd and (served.custom is None or info.verb not in ("create", "get"))):
            raise errors.method_not_allowed()
        return await self._verbs[info.verb](request, served)

    def _unknown(self, info: RequestInfo) -> errors.ApiError:
        known = any(served.group == info.group and served.custom is None for served in self.server.resources)
        if info.prefix == "apis" and not known:
            return errors.page_not_found()
        return errors.no_such_resource()


def _is_long_running(info: RequestInfo) -> bool:
    """Whether a request has no deadline, so that its `timeout` is not read."""
    return info.verb == "watch" or info.subresource in _LONG_RUNNING


def _timeout(text: str) -> float:
    """The seconds that a request may take, as it asks for; 0 for no limit."""
    try:
        return parse_duration(text) / 1e9
    except TimeError as error:
        raise errors.bad_request(f"invalid timeout specified in the request URL - {error}") from None


def _not_written(failure: StoreFailure) -> errors.ApiError:
    return errors.internal(f"the store could not be written: {failure}")


def _refusal(request: ApiRequest, error: errors.ApiError) -> ApiResponse:
    headers = {}
    if error.details and error.details.get("retryAfterSeconds"):
        headers["Retry-After"] = str(error.details["retryAfterSeconds"])
    if error.plain:
        return ApiResponse(error.code, error.message.encode(), "text/plain; charset=utf-8", headers)
    try:
        pretty = negotiate.pretty_print(request.query, request.header("user-agent"))
        out = negotiate.output(request.header("accept"), pretty=pretty)
        out = negotiate.Output(out.media, pretty=out.pretty)
    except errors.ApiError:
        out = negotiate.Output()
    answer = represent.finish(represent.encode(error.status()), out, error.code)
    answer.headers |= headers
    return answer
