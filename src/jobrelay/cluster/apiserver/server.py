"""The API server as one function: a request comes in, an answer goes out.

`ApiServer.handle` is the seam that the network server and the in-process transport share. Every answer is made here: the
identity, the permission, the route, the verb, and at the end the one place where errors become Status objects.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from jobrelay.apimachinery.times import TimeError, parse_duration
from jobrelay.cluster.apiserver import actions, custom, errors, negotiate, represent
from jobrelay.cluster.apiserver.access import Access
from jobrelay.cluster.apiserver.body import BODY_LIMIT
from jobrelay.cluster.apiserver.crds import Definitions
from jobrelay.cluster.apiserver.discovery import Discovery
from jobrelay.cluster.apiserver.handlers import Handlers
from jobrelay.cluster.apiserver.metrics import Metrics
from jobrelay.cluster.apiserver.paths import Paths
from jobrelay.cluster.apiserver.request import ApiRequest, Info, parse_info
from jobrelay.cluster.apiserver.resources import Served
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.apiserver.reviews import Reviews
from jobrelay.cluster.apiserver.services import Services
from jobrelay.cluster.apiserver.subresources import Subresources
from jobrelay.cluster.apiserver.watch import Watches
from jobrelay.cluster.store import StoreFailure
from jobrelay.kinds import context
from jobrelay.kinds.deprecations import deprecation_warning

log = structlog.get_logger(__name__)
Verb = Callable[[ApiRequest, Served], Awaitable[ApiResponse]]


class ApiServer:
    def __init__(self, services: Services, access: Access, address: str) -> None:
        self.services, self.access = services, access
        self.watches = Watches()
        self.metrics = Metrics(services, self.watches)
        self.definitions = Definitions(services, self.watches)
        self.handlers = Handlers(services, self.watches, Reviews(services, access))
        self.subresources = Subresources(self.handlers, access)
        self.paths = Paths(services, Discovery(services.resources, address), self.metrics)
        self._verbs: dict[str, Verb] = {
            "get": self.handlers.get, "list": self.handlers.list, "watch": self.handlers.watch,
            "create": self.handlers.create, "update": self.handlers.update, "patch": self.handlers.patch,
            "delete": self.handlers.delete, "deletecollection": self.handlers.deletecollection,
        }  # fmt: skip

    async def handle(self, request: ApiRequest) -> ApiResponse:
        """Answers a request; never raises."""
        with self.metrics.timed(request) as outcome:
            try:
                answer = await self._answer(request)
            except errors.ApiError as error:
                answer = _refusal(request, await self._settled(request, error))
            except StoreFailure as failure:
                answer = _refusal(request, _not_written(failure))
            except RecursionError:
                answer = _refusal(request, errors.bad_request("the body is nested too deeply"))
            except Exception:  # the boundary of a request: nothing may take the server down
                log.exception("request failed", method=request.method, path=request.path)
                answer = _refusal(request, errors.internal("the request could not be handled; see the server's log"))
            answer.warnings = request.warnings
            outcome.code = answer.code
        return answer

    async def _settled(self, request: ApiRequest, error: errors.ApiError) -> errors.ApiError:
        """A write may be refused because of writes that are not durable yet: the refusal waits for them, and falls with them."""
        if request.method in ("GET", "HEAD"):
            return error
        try:
            await self.services.store.settled()
        except StoreFailure as failure:
            return _not_written(failure)
        return error

    async def _answer(self, request: ApiRequest) -> ApiResponse:
        request.info = parse_info(request.method, request.path, request.query)
        if "//" in request.path:
            raise errors.page_not_found()
        self.access.authenticate(request)
        self.access.authorize(request)
        if len(request.body) > BODY_LIMIT:
            raise errors.too_large(f"limit is {BODY_LIMIT}")
        if not request.info.about_resource:
            return await self.paths.answer(request)
        if timeout := request.first("timeout"):
            _check_timeout(timeout)
        requester = context.Requester(request.user.name, request.user.uid, request.user.groups, request.user.extra)
        context.current.set(context.Request(self.services.now(), requester))
        return await self._on_resource(request, request.info)

    async def _on_resource(self, request: ApiRequest, info: Info) -> ApiResponse:
        served = self.services.resources.get(info.group, info.version, info.resource)
        if served is None:
            raise self._unknown(info)
        if (not info.subresource or info.subresource in served.subresources) and (
            warning := deprecation_warning(info.group, info.version, info.resource)
        ):
            request.warn(warning)
        if served.custom is not None:
            custom.check_route(request, served)
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

    def _unknown(self, info: Info) -> errors.ApiError:
        known = any(served.group == info.group and served.custom is None for served in self.services.resources)
        if info.prefix == "apis" and not known:
            return errors.page_not_found()
        return errors.no_such_resource()


def _check_timeout(text: str) -> None:
    try:
        parse_duration(text)
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
