"""The index of OpenAPI documents, and a cache of built ones.

The index names every document with a hash, but must not cost the building of all: the hash is made of what a document
is built from. A document is built in a worker thread when somebody reads it, and kept compressed. Equal documents of
several clusters in a process are one, because the cache is shared and the hash is the key.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import msgspec

import jobrelay
from jobrelay.cluster.apiserver.openapi import documents, gnostic_v2, gnostic_v3
from jobrelay.cluster.apiserver.openapi.documents import DocumentScope
from jobrelay.cluster.apiserver.resources import ResourceTable

_GENERAL: Final = (".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version")
_CACHE_BYTES: Final = 8 * 2**20
_LEVEL: Final = 6


@dataclass(frozen=True)
class Document:
    """A document that may not be built yet."""

    etag: str
    build: Callable[[], bytes]


class DocumentCache:
    """Built documents, compressed; the least recently used are dropped when there are too many.

    Documents are built one after the other in a thread of the cache's own, so no other work waits for them.
    """

    def __init__(self, limit: int = _CACHE_BYTES) -> None:
        self._limit, self._size = limit, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, "openapi")

    async def read(self, document: Document, media: str) -> bytes:
        """The gzip form of a document, built if it has to be."""
        key = f"{document.etag} {media}"
        kept = self._find(key)
        if kept is not None:
            return kept
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._obtain, key, document.build)

    def _find(self, key: str) -> bytes | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _obtain(self, key: str, build: Callable[[], bytes]) -> bytes:
        found = self._find(key)
        if found is None:
            found = gzip.compress(build(), _LEVEL, mtime=0)
            with self._lock:
                self._keep(key, found)
        return found

    def _keep(self, key: str, data: bytes) -> None:
        self._kept[key] = data
        self._size += len(data)
        while self._size > self._limit and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._size -= len(dropped)


CACHE: Final = DocumentCache()


class DocumentIndex:
    """The documents of one cluster at one time."""

    def __init__(self, resources: ResourceTable) -> None:
        self._parts = {part.path: part for part in sorted(document_scopes(resources), key=lambda part: part.path)}
        self._etags = {path: _etag(part) for path, part in self._parts.items()}
        joined = "".join(self._etags.values())
        self._whole = hashlib.sha512(joined.encode()).hexdigest().upper()

    def index(self) -> bytes:
        entries = {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={etag}"} for path, etag in self._etags.items()}
        return msgspec.json.encode({"paths": entries})

    def v3(self, path: str, *, protobuf: bool = False) -> Document | None:
        part = self._parts.get(path)
        if part is None:
            return None
        encode = gnostic_v3.encode if protobuf else msgspec.json.encode
        return Document(self._etags[path], lambda: encode(documents.document_v3(part)))

    def v2(self, *, protobuf: bool = False) -> Document:
        parts = list(self._parts.values())
        encode = gnostic_v2.encode if protobuf else msgspec.json.encode
        return Document(self._whole, lambda: encode(documents.document_v2(parts)))


def document_scopes(resources: ResourceTable) -> Iterator[DocumentScope]:
    yield from map(DocumentScope, _GENERAL)
    for group, versions in resources.groups.items():
        for version in versions:
            served = tuple(resources.in_version(group, version))
            yield DocumentScope(f"apis/{group}/{version}" if group else f"api/{version}", group, version, served)
        if group and any(
            served.custom is None for version in versions for served in resources.in_version(group, version)
        ):
            yield DocumentScope(f"apis/{group}", group)


def _etag(part: DocumentScope) -> str:
    """A hash of all that the document is built from."""
    made = hashlib.sha512(f"{jobrelay.__version__} {part.path}".encode())
    for served in part.resources:
        made.update(served.plural.encode())
        if served.custom is not None:
            made.update(served.custom.fingerprint)
    return made.hexdigest().upper()
