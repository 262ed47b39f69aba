"""The verbs on resources: from a routed request to an answer."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import TypeVar

from jobrelay.cluster.apiserver import (
    admission,
    body,
    conversions,
    custom,
    heavy,
    negotiate,
    options,
    patching,
    reader,
    represent,
    watch,
    writes,
)
from jobrelay.cluster.apiserver.admission import AdmissionRequest
from jobrelay.cluster.apiserver.admission.request import Operation
from jobrelay.cluster.apiserver.admission.steps import check_name, ensure_namespace
from jobrelay.cluster.apiserver.body import ProposedObject
from jobrelay.cluster.apiserver.calls import Steps, finished
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.deletion import Deleted, Deleter
from jobrelay.cluster.apiserver.errors import OPTIMISTIC_LOCK, conflict
from jobrelay.cluster.apiserver.negotiate import Output
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.apiserver.reviews import ReviewHandler
from jobrelay.cluster.apiserver.selection import select
from jobrelay.cluster.apiserver.writes import WriteRequest
from jobrelay.kinds.strategy import Obj

_Result = TypeVar("_Result")


def output_for(request: ApiRequest, *, tables: bool = True) -> Output:
    pretty = negotiate.pretty_print(request.query, request.header("user-agent"))
    streams = request.info.verb in ("list", "watch")
    return negotiate.output(request.header("accept"), pretty=pretty, streams=streams, tables=tables)


class ResourceHandlers:
    """One method per verb; each ends with the store's commit."""

    def __init__(self, server: ServerContext, watches: watch.Watches, reviews: ReviewHandler) -> None:
        self.server, self.watches, self.reviews = server, watches, reviews

    async def get(self, request: ApiRequest, served: ServedResource) -> ApiResponse:
        out = output_for(request)
        return await reader.get(self.server, request, served, self._namespace(request, served), request.info.name, out)

    async def list(self, request: ApiRequest, served: ServedResource) -> ApiResponse:
        given = options.list_options(request)
        return await reader.list_(self.server, request, served, given, output_for(request))

    async def watch(self, request: ApiRequest, served: ServedResource) -> ApiResponse:
        given = options.list_options(request)
        return await watch.watch(self.server, self.watches, request, served, given, output_for(request))

    async def create(self, request: ApiRequest, served: ServedResource) -> ApiResponse:
        out = output_for(request, tables=not self.reviews.handles(served))
        negotiate.input_media(request.header("content-type"))  # is refused before wrong options are
        given = options.write_options(request, "CreateOptions")
        if self.reviews.handles(served):
            return await self._review(WriteRequest(self.server, request, served, given), out)

        def compute(server: ServerContext) -> Steps[tuple[bytes, bool]]:
            proposed = self.read(request, served, given.field_validation)
            return (yield from writes.create(WriteRequest(server, request, served, given), proposed)), True

        return await self._write(request, served, out, compute)

    async def _review(self, write: WriteRequest, out: Output) -> ApiResponse:
        request, served = write.request, write.served

        def compute() -> Obj:
            proposed = self.read(request, served, write.options.field_validation)
            ensure_namespace(proposed.obj["metadata"], write.namespace)
            return writes.own_fields(write, None, proposed._replace(sent=None))

        review = await heavy.read(len(request.body), compute)
        review = await self.admit(request, served, "CREATE", review, "", dry_run=write.options.dry_run)
        return represent.answer_unstored(served, self.reviews.answer(request, served, review), out)

    async def update(self, request: ApiRequest, served: ServedResource, subresource: str = "") -> ApiResponse:
        out = output_for(request)
        given = options.write_options(request, "UpdateOptions")

        def compute(server: ServerContext) -> Steps[tuple[bytes, bool]]:
            proposed = self.read(request, served, given.field_validation)
            write, metadata = WriteRequest(server, request, served, given, subresource), proposed.obj["metadata"]
            ensure_namespace(metadata, write.namespace)
            check_name(proposed.obj, request.info.name)
            uid = metadata.get("uid", "")
            return (yield from writes.update(write, request.info.name, lambda _: proposed, uid=uid))

        return await self._write(request, served, out, compute)

    async def patch(self, request: ApiRequest, served: ServedResource, subresource: str = "") -> ApiResponse:
        media = patching.patch_type(request, served)
        out = output_for(request)
        given = options.write_options(request, "PatchOptions", patch_type=media)
        create = media == options.APPLY and not subresource

        def compute(server: ServerContext) -> Steps[tuple[bytes, bool]]:
            patch = patching.PatchRequest(server, request, served, given, subresource, media=media)
            return writes.update(patch, request.info.name, patch.propose, create=create)

        return await self._write(request, served, out, compute)

    async def _write(
        self, request: ApiRequest, served: ServedResource, out: Output, compute: heavy.Compute[bytes]
    ) -> ApiResponse:
        raw, created = await self.perform(request, served, compute)
        return await self.answer(request, served, raw, out, 201 if created else 200)

    async def delete(self, request: ApiRequest, served: ServedResource) -> ApiResponse:
        out = output_for(request)
        given = await heavy.read(len(request.body), lambda: options.delete_options(request))
        gone, result = await self._delete(request, served, given, self._namespace(request, served), request.info.name)
        await self.server.store.settled()
        code = 202 if not gone and given.orphan is False else 200
        if isinstance(result, bytes):
            return await self.answer(request, served, result, out, code)
        return represent.finish(represent.encode({**result, **({"code": code} if "code" in result else {})}), out, code)

    async def deletecollection(self, request: ApiRequest, served: ServedResource) -> ApiResponse:
        out = output_for(request)
        chosen = options.list_options(request)
        given = await heavy.read(len(request.body), lambda: options.delete_options(request))
        selection = select(served, chosen)
        await self.server.store.settled()
        snapshot = self.server.store.snapshot(served.key)
        shown, selection, snapshot = await reader.shown(served, selection, snapshot, request.info.namespace)
        items, rest = reader.page(snapshot, request.info.namespace, selection, chosen, None)
        version = snapshot.version
        Deleter(self.server, request, served, given).warn()
        for item in items:
            await self._delete(request, served, given, item.namespace, item.name)
        await self.server.store.settled()
        metadata = represent.list_metadata(version, *rest)
        return represent.answer_list(shown, items, metadata, out, self.server.now(), request.first("includeObject"))

    async def _delete(
        self, request: ApiRequest, served: ServedResource, given: options.DeleteOptions, namespace: str, name: str
    ) -> Deleted:
        """Deletes one object: at once, unless there are policies or webhooks to ask."""

        def compute(server: ServerContext) -> Steps[tuple[Obj | bytes, bool]]:
            gone, result = yield from Deleter(server, request, served, given).delete(namespace, name)
            return result, gone

        async def run(server: ServerContext) -> tuple[Obj | bytes, bool]:
            if self.server.policies.covering(served, "", "DELETE"):
                return await self._compute_with_rules(server, request, served, compute)
            return await finished(server.outbound, compute(server))

        result, gone = await conversions.attempt(self.server, served, name, run)
        return gone, result

    async def admit(
        self,
        request: ApiRequest,
        served: ServedResource,
        operation: Operation,
        obj: Obj,
        name: str,
        *,
        dry_run: bool,
        ask: Callable[[AdmissionRequest], Steps[bool]] = admission.review,
    ) -> Obj:
        """Asks webhooks and policies about an object that is not stored; returns it as webhooks have changed it.

        `ask`: all of them, or only those that change it, or only those that do not.
        """
        subresource, namespace = request.info.subresource, self._namespace(request, served)
        if not admission.has_a_say(self.server, served, subresource, operation):
            return obj

        def compute(server: ServerContext) -> Steps[tuple[Obj, bool]]:
            new = copy.deepcopy(obj)
            yield from ask(
                AdmissionRequest(server, request, served, operation, namespace, name, new, {}, subresource, dry_run)
            )
            return new, False

        if self.server.policies.covering(served, subresource, operation):
            return (await self._compute_with_rules(self.server, request, served, compute))[0]
        return (await finished(self.server.outbound, compute(self.server)))[0]

    # Shared parts.

    async def perform(
        self, request: ApiRequest, served: ServedResource, compute: heavy.Compute[bytes]
    ) -> tuple[bytes, bool]:
        """Computes a write, stores it and waits for the commit."""
        if served.conversions is None:
            written = await self._compute(self.server, request, served, compute)
        else:
            run = functools.partial(self._compute, request=request, served=served, compute=compute)
            written = await conversions.attempt(self.server, served, request.info.name, run)
        await self.server.store.settled()
        return written

    async def _compute(
        self, server: ServerContext, request: ApiRequest, served: ServedResource, compute: heavy.Compute[bytes]
    ) -> tuple[bytes, bool]:
        if self._has_rules(request, served):
            return await self._compute_with_rules(server, request, served, compute)
        size = len(request.body)
        if (name := request.info.name) and (
            item := server.store.get(served.key, self._namespace(request, served), name)
        ) is not None:
            size += len(item.raw)
        return await heavy.perform(server, size, compute)

    def _has_rules(self, request: ApiRequest, served: ServedResource) -> bool:
        """Whether a write may have to evaluate expressions: rules of its kind, or policies."""
        if served.custom is not None and served.custom.rules is not None:
            return True
        policies, subresource = self.server.policies, request.info.subresource
        return policies.any and bool(
            policies.covering(served, subresource, "CREATE")
            or (request.info.verb != "create" and policies.covering(served, subresource, "UPDATE"))
        )

    async def _compute_with_rules(
        self, server: ServerContext, request: ApiRequest, served: ServedResource, compute: heavy.Compute[_Result]
    ) -> tuple[_Result, bool]:
        """Computes a write that evaluates expressions, and stores it."""
        try:
            return await heavy.perform_with_rules(server, compute)
        except heavy.Outpaced:
            raise conflict(served.group, served.plural, request.info.name, OPTIMISTIC_LOCK) from None

    def read(self, request: ApiRequest, served: ServedResource, directive: str) -> ProposedObject:
        """The object in a request's body, canonical and defaulted."""
        if served.custom is not None:
            proposed = ProposedObject(custom.read(request, served, directive))
        else:
            proposed = body.read(request, served, directive)
        served.strategy.default(proposed.obj)
        return proposed

    async def answer(
        self, request: ApiRequest, served: ServedResource, raw: bytes, out: Output, code: int
    ) -> ApiResponse:
        served, raw = await conversions.shown_raw(served, raw)
        return represent.answer_object(served, raw, out, self.server.now(), request.first("includeObject"), code)

    def _namespace(self, request: ApiRequest, served: ServedResource) -> str:
        return request.info.namespace if served.namespaced else ""
