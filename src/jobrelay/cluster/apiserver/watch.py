"""Watching: a stream of changes, pushed straight from the store's commits to the sockets.

There is no task per watcher. The store calls `_Watch.changed` for each committed change; frames are collected and
written once per loop tick. The bytes of a frame are made once per change and representation and shared by all watchers
of that representation (`EncodedEvents`), so a thousand watchers cost a thousand socket writes and one encoding.

A watch from a version that is not reached yet, as after a restore from a backup, is silent until it is, without
bookmarks too; that is what a real server does.

A watcher that reads too slowly is cut off with a 410 ERROR event once its backlog passes a limit, instead of growing
memory; its client lists again and goes on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

from jobrelay.cluster.apiserver import conversions, errors, negotiate, reader, represent
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.convertedchanges import ConvertedChanges
from jobrelay.cluster.apiserver.negotiate import Output
from jobrelay.cluster.apiserver.options import ListOptions
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.response import ApiResponse, Sink
from jobrelay.cluster.apiserver.selection import Selection, select
from jobrelay.cluster.apiserver.watchevents import EncodedEvents, SelectionMatches, error_frame, frame
from jobrelay.cluster.store import Change, Item, VersionTooOld

MAX_BACKLOG: Final = 16 * 1024 * 1024
MAX_WATCHES: Final = 20_000
BOOKMARK_SECONDS: Final = 60.0
DEFAULT_TIMEOUT: Final = 1800.0
_INITIAL_END: Final = {"k8s.io/initial-events-end": "true"}


class Watches:
    """All open watches of a server, limited in number; they end when the server stops."""

    def __init__(self) -> None:
        self.open: set[_Watch] = set()
        self.frames = EncodedEvents()
        self.matches = SelectionMatches()
        self.delivered: Counter[ServedResource] = Counter()

    def close(self) -> None:
        for watch in list(self.open):
            watch.finish()

    def close_resource(self, served: ServedResource) -> None:
        """Ends the watches of a resource that is no longer served."""
        for watch in [w for w in self.open if (w.served.key, w.served.version) == (served.key, served.version)]:
            watch.finish()


class _Watch:
    """One watcher: a selection of one resource in one representation, and the sink it is written to."""

    def __init__(
        self, watches: Watches, server: ServerContext, served: ServedResource, selection: Selection,
        namespace: str, out: Output, include: str, options: ListOptions,
    ) -> None:  # fmt: skip
        self.watches, self.server, self.served, self.selection = watches, server, served, selection
        self.namespace, self.out, self.include, self.options = namespace, out, include, options
        self.version = self._after = 0
        self._sink: Sink | None = None
        self._pending: list[bytes] = []
        self._flushing = False
        self._unsubscribe: Callable[[], None] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._columns_sent = False
        self._changes: ConvertedChanges | None = None

    @property
    def scope(self) -> str:
        """How much is watched: one `resource`, a `namespace` or the `cluster`."""
        return "resource" if self.selection.named else "namespace" if self.namespace else "cluster"

    # The life of a watch.

    def prepare(self, initial: list[bytes], version: int, replay: list[Change]) -> None:
        """Subscribes to the store's changes, right after the state that `initial` and `replay` describe."""
        self._begin(initial, version)
        for change in replay:
            self._take(change)
        self._unsubscribe = self.server.store.subscribe(self.served.key, self._changed)

    def prepare_converted(self, initial: list[bytes], version: int, changes: ConvertedChanges) -> None:
        """As `prepare`, with changes whose objects a webhook converts first."""
        self._begin(initial, version)
        self._changes = changes
        changes.start(self._changed, self._fail)
        self._unsubscribe = changes.stop

    def _begin(self, initial: list[bytes], version: int) -> None:
        self._pending = initial
        self.version = self._after = version

    def _fail(self, error: errors.ApiError) -> None:
        """Ends the stream with an error."""
        self._pending.append(error_frame(error))
        self.finish()

    def start(self, sink: Sink) -> None:
        self._sink = sink
        self.watches.open.add(self)
        loop = asyncio.get_running_loop()
        timeout = float(self.options.timeout_seconds or DEFAULT_TIMEOUT * (1 + self.server.random.random()))
        self._timers.append(loop.call_later(timeout, self.finish))
        if self.options.bookmarks:
            self._timers.append(loop.call_later(BOOKMARK_SECONDS, self._bookmark_later))
        self._flush()

    def stop(self) -> None:
        self.watches.open.discard(self)
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._pending.clear()

    def finish(self) -> None:
        """Ends the stream cleanly: what is pending is written first."""
        self._flush()
        sink, self._sink = self._sink, None
        self.stop()
        if sink is not None:
            sink.end()

    # Changes.

    def _changed(self, change: Change) -> None:
        self._take(change)
        if self._pending and not self._flushing and self._sink is not None:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _take(self, change: Change) -> None:
        if change.version <= self._after:
            return
        self.version = change.version
        item = change.after or change.before
        assert item is not None
        if self.namespace and item.namespace != self.namespace:
            return
        before, after = self.watches.matches.of(self.selection, change)
        if after:
            assert change.after is not None
            self._pending.append(self._frame("MODIFIED" if before else "ADDED", change.after, change.version))
        elif before:
            gone = Item(item.namespace, item.name, change.version, _deleted_state(change))
            self._pending.append(self._frame("DELETED", gone, change.version))

    def _frame(self, kind: str, item: Item, version: int) -> bytes:
        if self.out.transform == "Table":
            return frame(kind, self._table(item))
        form = self.out.transform + self.out.meta_version
        return self.watches.frames.get(version, kind, self.served, form, lambda: frame(kind, self._body(item)))

    def _body(self, item: Item) -> bytes:
        if self.out.transform == "PartialObjectMetadata":
            return represent.encode(represent.metadata_only(represent.partial_object(self.served, item.raw), self.out))
        return represent.whole(self.served, item.raw)

    def _table(self, item: Item) -> bytes:
        columns, self._columns_sent = not self._columns_sent, True
        metadata = {"resourceVersion": str(item.version)}
        now = self.server.now()
        made = represent.table(self.served, [item.raw], self.out, now, self.include, metadata, columns=columns)
        return represent.encode(made)

    def initial(self, item: Item) -> bytes:
        return self._frame("ADDED", item, item.version)

    def bookmark(self, version: int, annotations: dict[str, str] | None = None) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(version)}
        if annotations:
            metadata["annotations"] = annotations
        if self.out.transform == "PartialObjectMetadata":
            kind = represent.metadata_only({"metadata": metadata}, self.out)
            return frame("BOOKMARK", represent.encode(kind))
        if self.out.transform == "Table":
            item = Item("", "", version, represent.encode({"metadata": metadata}))
            return frame("BOOKMARK", self._table(item))
        return frame("BOOKMARK", represent.encode({**self.served.blank, "metadata": metadata}))

    def _bookmark_later(self) -> None:
        late = self._changes is not None and self._changes.waiting
        if self.server.store.committed >= self._after and not late:
            self.version = max(self.version, self.server.store.committed)
            self._pending.append(self.bookmark(self.version))
            self._flush()
        self._timers.append(asyncio.get_running_loop().call_later(BOOKMARK_SECONDS, self._bookmark_later))

    def _flush(self) -> None:
        self._flushing = False
        if self._sink is None or not self._pending:
            return
        self.watches.delivered[self.served] += len(self._pending)
        data = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        self._pending.clear()
        if self._sink.backlog() > MAX_BACKLOG:
            self._sink.write(error_frame(errors.expired(f"too old resource version: {self.version} (slow watcher)")))
            self.finish()
            return
        self._sink.write(data)


def _deleted_state(change: Change) -> bytes:
    """The object of a DELETED event: its state at the deletion, or the last one that matched, with the new version."""
    if change.after is None:
        return change.raw
    assert change.before is not None
    obj = represent.stored(change.before.raw)
    obj["metadata"]["resourceVersion"] = str(change.version)
    return represent.encode(obj)


async def watch(
    server: ServerContext,
    watches: Watches,
    request: ApiRequest,
    served: ServedResource,
    options: ListOptions,
    out: Output,
) -> ApiResponse:
    """Opens a watch; the answer's stream starts when the sink is ready."""
    selection = select(served, options, request.info.name)
    if out.media == negotiate.YAML:
        raise errors.not_acceptable(negotiate.STREAMS)
    if len(watches.open) >= MAX_WATCHES:
        raise errors.too_many_requests("too many watches, please try again later", 1)
    version = reader.checked_version(options.version)
    shown, selection = (served, selection) if served.conversions is None else _without_conversions(served, selection)
    made = _Watch(
        watches, server, shown, selection, request.info.namespace, out, request.first("includeObject"), options
    )
    try:
        if options.send_initial_events:
            await reader.wait_for_version(server, version)
        if served.conversions is None:
            _place(made, version)
        else:
            await _place_converted(made, served, version)
    except VersionTooOld as error:
        return ApiResponse(200, stream=_RefusedWatch(errors.expired(str(error))))
    except errors.ApiError as error:
        return ApiResponse(200, stream=_RefusedWatch(error))
    return ApiResponse(200, stream=made)


def _place(made: _Watch, version: int) -> None:
    store, key = made.server.store, made.served.key
    if _wants_state(made.options, version):
        snapshot = store.snapshot(key, store.committed)
        made.prepare(_state(made, snapshot.walk(made.namespace), snapshot.version), snapshot.version, [])
        return
    start = version or store.committed
    made.prepare([], start, store.since(key, start) if start < store.committed else [])


async def _place_converted(made: _Watch, served: ServedResource, version: int) -> None:
    """As `_place`, for a resource with a conversion webhook. Changes are collected while the state is converted."""
    store, key, initial = made.server.store, made.served.key, list[bytes]()
    start = version or store.committed
    if _wants_state(made.options, version):
        snapshot = store.snapshot(key, store.committed)
        changes, start = ConvertedChanges(store, served, []), snapshot.version
        try:
            items = await conversions.shown(served, list(snapshot.walk(made.namespace)))
        except errors.ApiError:
            changes.stop()
            raise
        initial = _state(made, items, start)
    else:
        changes = ConvertedChanges(store, served, store.since(key, start) if start < store.committed else [])
    made.prepare_converted(initial, start, changes)


def _wants_state(options: ListOptions, version: int) -> bool:
    return bool(options.send_initial_events or (version == 0 and options.send_initial_events is None))


def _state(made: _Watch, items: Iterable[Item], version: int) -> list[bytes]:
    """The events for the state at the start of a watch."""
    initial = [made.initial(item) for item in items if made.selection.matches(item)]
    if made.options.bookmarks:
        initial.append(made.bookmark(version, _INITIAL_END))
    return initial


def _without_conversions(served: ServedResource, selection: Selection) -> tuple[ServedResource, Selection]:
    shown = served.webhook.unbound(served) if served.webhook is not None else served
    return shown, selection.of(shown)


class _RefusedWatch:
    """A watch from a version that is too old, or of a state not reached yet: a 200 whose only event is the error."""

    def __init__(self, error: errors.ApiError) -> None:
        self._error = error

    def start(self, sink: Sink) -> None:
        sink.write(error_frame(self._error))
        sink.end()

    def stop(self) -> None:
        return None
