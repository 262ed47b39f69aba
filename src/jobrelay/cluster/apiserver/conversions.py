"""Conversion webhooks: custom resources between versions, where a program converts them.

A webhook's answer has to be awaited, and what handles requests does not wait between reading the stored object and
storing the new one. So it is told apart from it: `convert` gives a conversion that was made before, or raises
`ConversionNeeded`; the caller that awaits the request calls the webhook and starts again, with the same time and the
same generated names (`attempt`). What only shows objects converts them first (`shown`), all of a list with one call.
Requests to resources without a webhook take no part in any of this.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import dataclasses
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import msgspec

from jobrelay.cluster.apiserver import errors, represent
from jobrelay.cluster.apiserver.calls import OutboundCall, Steps
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.errors import ApiError
from jobrelay.cluster.apiserver.outbound import CallTarget, Outbound, OutboundAnswer, OutboundError, refused
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.store import Change, Item
from jobrelay.kinds.apiextensions import conversion
from jobrelay.kinds.apiextensions.conversion import ConversionError
from jobrelay.kinds.apiextensions.versions import VersionForm
from jobrelay.kinds.strategy import Obj

_SECONDS: Final = 30
_ATTEMPTS: Final = 32
_KEPT_BYTES: Final = 32 * 1024 * 1024
_Result = TypeVar("_Result")
_Key = tuple[str, bytes]  # the wanted apiVersion, and the object as JSON


class ConversionNeeded(Exception):
    """An object that only the webhook can convert, and the apiVersion that it is wanted in.

    If it is not `required`, whoever needs it can do without it when the webhook fails.
    """

    def __init__(self, obj: Obj, api_version: str, *, required: bool = True) -> None:
        super().__init__(conversion.gvk(obj), api_version)
        self.obj, self.api_version, self.required = obj, api_version, required


def need(obj: Obj, api_version: str) -> Obj:
    """The conversion of a resource that is not bound to a request."""
    if obj.get("apiVersion") == api_version:
        return obj
    raise ConversionNeeded(obj, api_version)


class ConversionWebhook:
    """The webhook of one definition, and its latest answers."""

    def __init__(self, outbound: Outbound, uid: Callable[[], str], config: Obj) -> None:
        self._outbound, self._uid = outbound, uid
        self._target = CallTarget.from_client_config(_trusted(config["clientConfig"]))
        self._understood: Sequence[str] = config.get("conversionReviewVersions") or ()
        self._made: OrderedDict[_Key, Obj] = OrderedDict()
        self._size = 0
        self._calls: dict[_Key, asyncio.Task[list[Obj]]] = {}

    def known(self, key: _Key) -> Obj | None:
        found = self._made.get(key)
        if found is not None:
            self._made.move_to_end(key)
        return found

    async def convert(self, objects: Sequence[Obj], api_version: str) -> list[Obj]:
        """Objects in another version, by one call; raises ApiError."""
        review = self.review(objects, api_version)
        try:
            answer = await self._outbound.send(
                self._target, _body(review), seconds=_SECONDS, query=f"timeout={_SECONDS}s"
            )
        except OutboundError as error:
            return self.take(review, error)
        return self.take(review, answer)

    def review(self, objects: Sequence[Obj], api_version: str) -> Obj:
        """What to ask for objects in another version."""
        try:
            return conversion.review(objects, api_version, self._uid(), self._understood)
        except ConversionError as error:
            raise errors.unknown(str(error)) from None

    def call(self, review: Obj) -> OutboundCall:
        return OutboundCall(self._target, _body(review), _SECONDS)

    def take(self, review: Obj, answer: OutboundAnswer | OutboundError) -> list[Obj]:
        """The objects in the answer to a review, which are kept for others; raises ApiError."""
        objects, api_version = review["request"]["objects"], review["request"]["desiredAPIVersion"]
        why = str(answer) if isinstance(answer, OutboundError) else _refusal(answer)
        if why:
            raise errors.unknown(f"conversion webhook for {conversion.gvk(objects[0])} failed: {why}")
        assert isinstance(answer, OutboundAnswer)
        try:
            found = conversion.converted(review, answer.body, answer.headers.get("Content-Type", ""))
        except ConversionError as error:
            raise errors.unknown(str(error)) from None
        for before, after in zip(objects, found, strict=True):
            self._keep(_key(before, api_version), after)
        return found

    async def convert_once(self, obj: Obj, api_version: str) -> list[Obj]:
        """As `convert`, for one object that many may want at the same time: there is one call for all of them."""
        key = _key(obj, api_version)
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = asyncio.create_task(self.convert([obj], api_version))
            call.add_done_callback(lambda _: self._calls.pop(key, None))
        return await asyncio.shield(call)

    def _keep(self, key: _Key, obj: Obj) -> None:
        if key not in self._made:
            self._size += len(key[1])
        self._made[key] = obj
        while self._size > _KEPT_BYTES:
            (_, raw), _ = self._made.popitem(last=False)
            self._size -= len(raw)


def _refusal(answer: OutboundAnswer) -> str:
    """Why an answer is an error; empty when it is none."""
    if not 200 <= answer.status <= 206:
        return refused(answer)
    media = answer.headers.get("Content-Type", "")
    return "" if answer.body else f"0-length response with status code: {answer.status} and content type: {media}"


def _trusted(client: Obj) -> Obj:
    """A client configuration; a bundle of nothing but spaces is none."""
    bundle = base64.b64decode(client.get("caBundle") or "")
    return client if bundle.strip() else {**client, "caBundle": ""}


def _body(review: Obj) -> bytes:
    return msgspec.json.encode(review, order="sorted")


def _key(obj: Obj, api_version: str) -> _Key:
    return api_version, represent.encode(obj)


class WebhookConversions:
    """The conversions that one request has needed so far. Those of other requests serve it only where `shared`."""

    def __init__(self, webhook: ConversionWebhook, *, shared: bool) -> None:
        self._webhook, self._shared = webhook, shared
        self._made: dict[_Key, Obj] = {}
        self._failed: dict[_Key, ApiError] = {}

    def convert(self, obj: Obj, api_version: str) -> Obj:
        """A copy of an object in another version; raises ConversionNeeded, and ApiError where the webhook failed."""
        if obj.get("apiVersion") == api_version:
            return obj
        key = _key(obj, api_version)
        if key in self._failed:
            raise self._failed[key]
        found = self._made.get(key)
        if found is None and self._shared:
            found = self._webhook.known(key)
        if found is None:
            raise ConversionNeeded(obj, api_version)
        return copy.deepcopy(found)

    async def fetch(self, objects: Sequence[Obj], api_version: str) -> None:
        """Has objects converted by one call; raises ApiError."""
        if self._shared and len(objects) == 1:
            found = await self._webhook.convert_once(objects[0], api_version)
        else:
            found = await self._webhook.convert(objects, api_version)
        self._made |= {_key(obj, api_version): made for obj, made in zip(objects, found, strict=True)}

    async def try_fetch(self, obj: Obj, api_version: str) -> None:
        """As `fetch` of one object; if the webhook fails, `convert` raises why."""
        try:
            await self.fetch([obj], api_version)
        except ApiError as error:
            self._failed[_key(obj, api_version)] = error

    def ask(self, obj: Obj, api_version: str) -> Steps[None]:
        """As `fetch` of one object, as a step of a write."""
        review = self._webhook.review([obj], api_version)
        (result,) = yield (self._webhook.call(review),)
        self._made[_key(obj, api_version)] = self._webhook.take(review, result.answer)[0]


class WebhookForm:
    """The webhook as one version of a definition uses it."""

    def __init__(self, webhook: ConversionWebhook, form: VersionForm) -> None:
        self._webhook, self._form = webhook, form
        self._plain: ServedResource | None = None

    def bound(self, served: ServedResource, *, shared: bool) -> ServedResource:
        """The resource for one request."""
        conversions = WebhookConversions(self._webhook, shared=shared)
        form = self._form.with_conversion(conversions.convert)
        return dataclasses.replace(
            served, from_storage=form.read, to_storage=form.write, in_version=conversions.convert,
            conversions=conversions,
        )  # fmt: skip

    def unbound(self, served: ServedResource) -> ServedResource:
        """The resource for objects that are converted already: the same one for all requests."""
        if self._plain is None or self._plain.custom is not served.custom:
            self._plain = served.unconverted
        return self._plain


def for_request(served: ServedResource, verb: str) -> ServedResource:
    """A resource as one request uses it. A GET of a single object fails if its webhook does."""
    if served.webhook is None:
        return served
    return served.webhook.bound(served, shared=verb != "get")


# Showing objects.


async def shown(served: ServedResource, items: Sequence[Item]) -> list[Item]:
    """Stored items in the version of a resource with a webhook; raises ApiError."""
    conversions = served.conversions
    assert conversions is not None
    missing: dict[str, list[Obj]] = {}
    made = [_try(served, item, missing) for item in items]
    if not missing:
        return [item for item in made if item is not None]
    for api_version, objects in missing.items():
        await conversions.fetch(objects, api_version)
    return [found or _try(served, item, {}) or item for found, item in zip(made, items, strict=True)]


def _try(served: ServedResource, item: Item, missing: dict[str, list[Obj]]) -> Item | None:
    try:
        return item._replace(raw=represent.outgoing(served, item.raw))
    except ConversionNeeded as needed:
        missing.setdefault(needed.api_version, []).append(needed.obj)
        return None


async def shown_raw(served: ServedResource, raw: bytes) -> tuple[ServedResource, bytes]:
    """The JSON of a stored object in the version of a resource, and that resource without conversions."""
    if served.conversions is None:
        return served, raw
    (item,) = await shown(served, [Item("", "", 0, raw)])
    assert served.webhook is not None
    return served.webhook.unbound(served), item.raw


async def shown_change(served: ServedResource, change: Change) -> Change:
    """A change with its objects in the version of a resource."""
    given = [item for item in (change.before, change.after) if item is not None]
    if change.after is None:
        given.append(Item("", "", change.version, change.raw))
    made = iter(await shown(served, given))
    before = next(made) if change.before is not None else None
    last = next(made)
    return Change(change.version, before, last if change.after is not None else None, last.raw)


# Writes.


async def attempt(
    server: ServerContext, served: ServedResource, name: str, run: Callable[[ServerContext], Awaitable[_Result]]
) -> _Result:
    """What `run` gives, once all conversions that it needs are made; a conflict where `name` changes too often."""
    conversions = served.conversions
    if conversions is None:
        return await run(server)
    uids, suffixes = _Replayed(server.uid), _Replayed(server.suffix)
    view, now = copy.copy(server), server.now()
    view.now, view.uid, view.suffix = (lambda: now), uids.next, suffixes.next
    for _ in range(_ATTEMPTS):
        uids.rewind()
        suffixes.rewind()
        try:
            return await run(view)
        except ConversionNeeded as needed:
            if needed.required:
                await conversions.fetch([needed.obj], needed.api_version)
            else:
                await conversions.try_fetch(needed.obj, needed.api_version)
    raise errors.conflict(served.group, served.plural, name, errors.OPTIMISTIC_LOCK)


def storable(served: ServedResource, obj: Obj) -> Steps[bool]:
    """Has the conversion made that storing an object needs, whether or not; so that admission is not asked again."""
    conversions, waited = served.conversions, False
    while conversions is not None and served.to_storage is not None:
        try:
            served.to_storage(obj)
            break
        except ConversionNeeded as needed:
            yield from conversions.ask(needed.obj, needed.api_version)
            waited = True
    return waited


class _Replayed:
    """Generated texts that are the same again after `rewind`."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make, self._made, self._next = make, list[str](), 0

    def rewind(self) -> None:
        self._next = 0

    def next(self) -> str:
        if self._next == len(self._made):
            self._made.append(self._make())
        self._next += 1
        return self._made[self._next - 1]
