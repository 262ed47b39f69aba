"""Reading: get and list, at the newest version or at one that the client names."""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import Any, Final

import msgspec

from jobrelay.apimachinery import gojson
from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.goint import read_int
from jobrelay.cluster.apiserver import conversions, errors, represent
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.negotiate import Output
from jobrelay.cluster.apiserver.options import ListOptions
from jobrelay.cluster.apiserver.request import ApiRequest, flag
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.apiserver.selection import Selection, select
from jobrelay.cluster.store import Item, StoreSnapshot, VersionTooOld

_VERSION_WAIT: Final = 3.0  # seconds to wait for a version that is not reached yet
_TOKEN_VERSION: Final = "meta.k8s.io/v1"
_ANY_VERSION: Final = -1  # in a continue token: what there is when it is used
_CONTINUE_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def parse_version(text: str) -> int:
    """A resourceVersion as a number; "" is 0. Raises ValueError with Go's message."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: invalid syntax")
    if (version := read_int(text)) >= 2**64:
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return version


def bad_version(text: str, why: str) -> str:
    return f"resourceVersion: Invalid value: {go_quote(text)}: {why}"


def checked_version(text: str) -> int:
    """As `parse_version`, but raises the error of a get, a watch or a write."""
    try:
        return parse_version(text)
    except ValueError as error:
        raise errors.unknown(bad_version(text, str(error))) from None


async def wait_for_version(server: ServerContext, version: int) -> None:
    """Waits a moment for a version that the store has not reached; raises 504."""
    loop = asyncio.get_running_loop()
    end = loop.time() + _VERSION_WAIT
    while server.store.committed < version:
        if loop.time() >= end:
            raise errors.version_too_large(version, server.store.committed)
        await asyncio.sleep(0.05)


async def get(
    server: ServerContext, request: ApiRequest, served: ServedResource, namespace: str, name: str, out: Output
) -> ApiResponse:
    wanted = request.first("resourceVersion")
    if flag(request.query, "export"):
        raise errors.bad_request("the export parameter, deprecated since v1.14, is no longer supported")
    version = checked_version(wanted)
    await wait_for_version(server, version)
    item = server.store.read(served.key, namespace, name)
    if item is None:
        plural = "componentstatus" if served.key == "componentstatuses" else served.plural
        raise errors.not_found(served.group, plural, name)
    served, raw = await conversions.shown_raw(served, item.raw)
    return represent.answer_object(served, raw, out, server.now(), request.first("includeObject"))


async def list_(
    server: ServerContext,
    request: ApiRequest,
    served: ServedResource,
    options: ListOptions,
    out: Output,
    name: str = "",
) -> ApiResponse:
    selection = select(served, options, name)
    snapshot, after = await _snapshot(server, served, options)
    served, selection, snapshot = await shown(served, selection, snapshot, request.info.namespace)
    items, rest = page(snapshot, request.info.namespace, selection, options, after)
    if rest[0]:
        server.pages.shown(snapshot.version, server.now())
    metadata = represent.list_metadata(snapshot.version, *rest)
    return represent.answer_list(served, items, metadata, out, server.now(), request.first("includeObject"))


async def shown(
    served: ServedResource, selection: Selection, snapshot: StoreSnapshot, namespace: str
) -> tuple[ServedResource, Selection, StoreSnapshot]:
    """What to list from: of a resource with a conversion webhook, all objects in its version."""
    if served.conversions is None:
        return served, selection, snapshot
    items = await conversions.shown(served, list(snapshot.walk(namespace)))
    found = {(item.namespace, item.name): item for item in items}
    assert served.webhook is not None
    served = served.webhook.unbound(served)
    return served, selection.of(served), StoreSnapshot(snapshot.version, sorted(found), found)


async def _snapshot(
    server: ServerContext, served: ServedResource, options: ListOptions
) -> tuple[StoreSnapshot, tuple[str, str] | None]:
    if options.continue_:
        version, after = parse_continue(options)
        try:
            server.pages.check(version, server.now())
            return server.store.snapshot(served.key, version if version > 0 else server.store.committed), after
        except VersionTooOld:
            raise errors.expired(_CONTINUE_EXPIRED, continue_token(_ANY_VERSION, *after)) from None
    try:
        version = parse_version(options.version)
    except ValueError as error:
        why = bad_version(options.version, str(error))
        raise errors.bad_request(f"invalid resource version: {why}") from None
    await wait_for_version(server, version)
    exact = options.version_match == "Exact" or (options.limit > 0 and version > 0 and not options.version_match)
    try:
        return server.store.snapshot(served.key, version if exact else server.store.committed), None
    except VersionTooOld:
        message = "The resourceVersion for the provided list is too old."
        raise errors.expired(message) from None


def page(
    snapshot: StoreSnapshot, namespace: str, selection: Selection, options: ListOptions, after: tuple[str, str] | None
) -> tuple[list[Item], tuple[str, int | None]]:
    """One page of a list, and what its metadata says about the rest: the continue token and the count."""
    limit = 0 if options.version == "0" else max(options.limit, 0)
    found: list[Item] = []
    walk = snapshot.walk(namespace, after)
    if not limit:
        return [item for item in walk if selection.matches(item)], ("", None)
    exact = options.version_match == "Exact"
    for item in walk:
        if not selection.matches(item) and not (exact and len(found) == limit):
            continue
        if len(found) == limit:
            last = found[-1]
            remaining = 1 + sum(1 for _ in walk) if selection.everything else None
            return found, (continue_token(snapshot.version, last.namespace, last.name), remaining)
        found.append(item)
    return found, ("", None)


def continue_token(version: int, namespace: str, name: str) -> str:
    """What continues a list after the object of that name, as it was at a version."""
    raw = msgspec.json.encode({"v": _TOKEN_VERSION, "rv": version, "start": f"{namespace}/{name}\0"})
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _token(text: str) -> dict[str, Any]:
    """The fields of a continue token; raises ValueError with the server's message."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        good = len(text) - len(text.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"))
        raise ValueError(f"illegal base64 data at input byte {good}") from None
    token = gojson.loads(raw)
    if not isinstance(token, dict) or token.get("v") != _TOKEN_VERSION:
        version = token.get("v", "") if isinstance(token, dict) else ""
        raise ValueError(f"server does not recognize this encoded version {version}")
    if not isinstance(token.get("rv"), int) or not token.get("start"):
        raise ValueError("encoded start key empty (version meta.k8s.io/v1)")
    return token


def parse_continue(options: ListOptions) -> tuple[int, tuple[str, str]]:
    """The version and the last key of a continue token; raises 400."""
    try:
        token = _token(options.continue_)
    except ValueError as error:
        raise errors.bad_request(f"invalid continue token: continue key is not valid: {error}") from None
    version, start = token.get("rv", 0), token.get("start", "")
    if options.version not in ("", "0"):
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    namespace, _, name = start.rstrip("\0").rpartition("/")
    return version, (namespace, name)
