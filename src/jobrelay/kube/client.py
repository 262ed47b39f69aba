"""The verbs of the Kubernetes API, over any transport.

A call is one request, and its response becomes an `Object` or an exception. There are two exceptions to this, both
bounded: `list` follows continue tokens, and a response with `Retry-After` (429, or a 5xx while a server starts) is
retried after that time. All other retries are left to the caller, who knows whether the request still makes sense.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from typing import Any, Literal, Unpack

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE

from .clock import Clock, Deadline, SystemClock, sleep
from .errors import ProtocolError, TransportTimeout, error_from_response
from .objects import Body, Key, Object, ObjectList, decode_list, decode_object, encode
from .patch import Patch, apply_patch
from .query import ListQuery, LogQuery, Selectors, WatchQuery, WriteQuery, query_parameters, with_query
from .resource import PODS, Resource
from .transport import Request, Response, Transport
from .watch import WatchEvent, read_events

__all__ = ["Client", "Propagation"]

Propagation = Literal["Background", "Foreground", "Orphan"]

_JSON = "application/json"
_METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1,application/json"
_QUOTED = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_RETRYABLE = frozenset({429, 500, 502, 503, 504})


class Client:
    """A client of one API server.

    - `timeout` bounds each request in seconds, but not watches and log streams; None sets no bound.
    - `retries` and `longest_wait` bound how often and for how many seconds in all `Retry-After` is followed.
    - `page_size` is the limit of each request of `list` and `pages`.
    - `on_warning` is called with each warning of the server, such as unknown fields and deprecated versions.
    - `metadata_only` has lists and watches ask for the metadata of objects, since some are large.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock | None = None,
        user_agent: str = "jobrelay",
        timeout: float | None = 30.0,
        page_size: int = 500,
        retries: int = 5,
        longest_wait: float = 30.0,
        on_warning: Callable[[str], None] | None = None,
        metadata_only: bool = False,
    ) -> None:
        self.transport = transport
        self._clock = clock or SystemClock()
        self._headers = {"Accept": _JSON, "User-Agent": user_agent}
        self._timeout = timeout
        self._page_size = page_size
        self._retries = retries
        self._longest_wait = longest_wait
        self._on_warning = on_warning
        self._accept_list = _METADATA.format("List") if metadata_only else _JSON
        self._accept_watch = _METADATA.format("") if metadata_only else _JSON

    async def get(
        self, resource: Resource, name: str, namespace: str | None = None, *, subresource: str | None = None
    ) -> Object:
        """Read one object."""
        return decode_object(await self.call("GET", resource.path(namespace, name, subresource)))

    async def get_metadata(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        """Read the metadata of one object, without what it contains."""
        return decode_object(await self.call("GET", resource.path(namespace, name), accept=_METADATA.format("")))

    async def pages(
        self, resource: Resource, namespace: str | None = None, **query: Unpack[ListQuery]
    ) -> AsyncIterator[ObjectList]:
        """Read a collection page by page; all pages show the state of the first."""
        async for page in self._pages(resource, namespace, query, self._accept_list):
            yield page

    async def _pages(
        self, resource: Resource, namespace: str | None, query: ListQuery, accept: str
    ) -> AsyncIterator[ObjectList]:
        parameters = {**query_parameters(query), "limit": self._page_size}
        path = resource.path(namespace)
        while True:
            page = decode_list(await self.call("GET", path, parameters, accept=accept), resource)
            yield page
            if not page.continue_token:
                return
            parameters |= {"continue": page.continue_token, "resourceVersion": "", "resourceVersionMatch": ""}

    async def list(self, resource: Resource, namespace: str | None = None, **query: Unpack[ListQuery]) -> ObjectList:
        """Read a whole collection, or what the selectors leave of it."""
        return await _whole(self._pages(resource, namespace, query, self._accept_list))

    async def list_metadata(
        self, resource: Resource, namespace: str | None = None, **query: Unpack[ListQuery]
    ) -> ObjectList:
        """Read the metadata of a whole collection, without what the objects contain."""
        return await _whole(self._pages(resource, namespace, query, _METADATA.format("List")))

    async def create(
        self,
        resource: Resource,
        body: Body,
        namespace: str | None = None,
        *,
        name: str | None = None,
        subresource: str | None = None,
        **query: Unpack[WriteQuery],
    ) -> Object:
        """Create an object, or with `name` and `subresource` post to a part of one (a binding, an eviction)."""
        raw = encode(body)
        path = resource.path(namespace or _namespace_of(raw, resource), name, subresource)
        return decode_object(await self.call("POST", path, query_parameters(query), raw))

    async def update(
        self,
        resource: Resource,
        body: Body,
        *,
        key: Key | None = None,
        subresource: str | None = None,
        **query: Unpack[WriteQuery],
    ) -> Object:
        """Replace an object by `body`; if that has a resourceVersion, only if it is still current.

        Name and namespace are read from the body unless `key` gives them.
        """
        raw = encode(body)
        key = key or decode_object(raw).key
        path = resource.path(key.namespace or None, key.name, subresource)
        return decode_object(await self.call("PUT", path, query_parameters(query), raw))

    async def replace_status(
        self, resource: Resource, body: Body, *, key: Key | None = None, **query: Unpack[WriteQuery]
    ) -> Object:
        """Replace the status of an object; its spec in `body` is ignored by the server."""
        return await self.update(resource, body, key=key, subresource="status", **query)

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Patch,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        **query: Unpack[WriteQuery],
    ) -> Object:
        """Change part of an object; see `jobrelay.kube.patch` for the kinds of patches."""
        path = resource.path(namespace, name, subresource)
        parameters = {**query_parameters(query), **patch.query}
        return decode_object(await self.call("PATCH", path, parameters, patch.body, content_type=patch.content_type))

    async def apply(
        self,
        resource: Resource,
        body: Body,
        *,
        field_manager: str,
        force: bool = False,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply; name and namespace are read from `body`. Creates the object if it does not exist."""
        raw = encode(body)
        metadata = decode_object(raw).metadata
        patch = apply_patch(raw, field_manager=field_manager, force=force)
        namespace = metadata.namespace or None
        return await self.patch(resource, metadata.name, patch, namespace, subresource=subresource, dry_run=dry_run)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
    ) -> Object | None:
        """Delete an object, with a `uid` or `resource_version` only if it still has that one.

        Returns the object if the server does (it waits for finalizers or a grace period, or its kind always responds
        so), None if the server returns a Status.
        """
        options = _delete_options(propagation, grace_period, uid, resource_version, dry_run)
        raw = await self.call("DELETE", resource.path(namespace, name), body=encode(options))
        return None if _is_status(raw) else decode_object(raw)

    async def delete_collection(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        **selectors: Unpack[Selectors],
    ) -> None:
        """Delete all objects that the selectors match."""
        options = _delete_options(propagation, grace_period)
        await self.call("DELETE", resource.path(namespace), query_parameters(selectors), encode(options))

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        bookmarks: bool = True,
        send_initial_events: bool = False,
        **query: Unpack[WatchQuery],
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Watch for changes: `async with client.watch(JOBS) as events: async for event in events: ...`.

        The iteration ends without an error when the server ends the watch, which it does every few minutes.
        """
        initial = {"send_initial_events": True, "resource_version_match": "NotOlderThan"} if send_initial_events else {}
        parameters = query_parameters({"watch": True, "allow_watch_bookmarks": bookmarks, **initial, **query})
        async with (
            self.stream(
                resource.path(namespace), parameters, accept=self._accept_watch, begin_within=self._timeout
            ) as chunks,
            aclosing(read_events(chunks)) as events,
        ):
            yield events

    @asynccontextmanager
    async def logs(self, pod: str, namespace: str, **query: Unpack[LogQuery]) -> AsyncIterator[AsyncIterator[bytes]]:
        """The output of a container, as chunks of bytes."""
        async with self.stream(PODS.path(namespace, pod, "log"), query_parameters(query), accept="*/*") as chunks:
            yield chunks

    async def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        *,
        content_type: str = _JSON,
        accept: str = _JSON,
    ) -> bytes:
        """Send any request and return the body of a successful response; for paths that have no method here."""
        headers = self._headers if body is None else self._headers | {"Content-Type": content_type}
        if accept != _JSON:
            headers = headers | {"Accept": accept}
        request = Request(method, with_query(path, query), headers, body)
        response = await self._send(request, self._timeout)
        if response.whole is not None:
            return response.whole
        async with response, _request_deadline(self._clock, request, self._timeout):
            return await response.read()

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        query: Mapping[str, Any] | None = None,
        *,
        accept: str = _JSON,
        begin_within: float | None = None,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a response of unknown length and yield its chunks; `begin_within` bounds the wait for its headers."""
        request = Request("GET", with_query(path, query), self._headers | {"Accept": accept})
        async with await self._send(request, begin_within) as response:
            yield response.chunks()

    async def _send(self, request: Request, within: float | None) -> Response:
        """Send, and follow `Retry-After` within the bounds."""
        attempts, waited = 0, 0.0
        while True:
            async with _request_deadline(self._clock, request, within):
                response = await self.transport.send(request)
                self._report_warnings(response)
                if response.status < 300:
                    return response
                async with response:
                    error = await error_from_response(response)
            wait = error.retry_after if error.code in _RETRYABLE else None
            if wait is None or attempts == self._retries or waited + wait > self._longest_wait:
                raise error
            attempts, waited = attempts + 1, waited + wait
            await sleep(self._clock, wait)

    def _report_warnings(self, response: Response) -> None:
        if self._on_warning is not None:
            for text in _QUOTED.findall(response.headers.get("Warning", "")):
                self._on_warning(text.replace('\\"', '"').replace("\\\\", "\\"))


class _RequestDeadline(Deadline):
    """A deadline for the response to a request."""

    __slots__ = ("_request",)

    def __init__(self, clock: Clock, request: Request, seconds: float) -> None:
        super().__init__(clock, seconds)
        self._request = request

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            await super().__aexit__(kind, error, trace)
            if not isinstance(error, TimeoutError):
                return
        except TimeoutError as late:
            error = late
        raise TransportTimeout(f"{self._request}: no answer within {self._seconds:g} s") from error


def _request_deadline(clock: Clock, request: Request, within: float | None) -> AbstractAsyncContextManager[object]:
    return nullcontext() if within is None else _RequestDeadline(clock, request, within)


async def _whole(pages: AsyncIterator[ObjectList]) -> ObjectList:
    items: list[Object] = []
    version = ""
    async for page in pages:
        items += page.items
        version = page.resource_version
    return ObjectList(tuple(items), version)


class _KindView(msgspec.Struct):
    kind: str = ""


class _MetadataView(msgspec.Struct):
    metadata: dict[str, Any] = {}


_kind_decoder = msgspec.json.Decoder(_KindView)
_metadata_decoder = msgspec.json.Decoder(_MetadataView)


def _is_status(raw: bytes) -> bool:
    try:
        return _kind_decoder.decode(raw).kind == "Status"
    except UNREADABLE as error:
        raise ProtocolError(f"not an answer to a deletion: {error}") from error


def _namespace_of(raw: bytes, resource: Resource) -> str | None:
    if not resource.namespaced:
        return None
    return _metadata_decoder.decode(raw).metadata.get("namespace")


def _delete_options(
    propagation: str | None, grace_period: int | None, uid: str = "", resource_version: str = "", dry_run: bool = False
) -> dict[str, Any]:
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    options: dict[str, Any] = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": propagation,
        "gracePeriodSeconds": grace_period,
        "preconditions": {name: value for name, value in preconditions.items() if value} or None,
        "dryRun": ["All"] if dry_run else None,
    }
    return {name: value for name, value in options.items() if value is not None}
