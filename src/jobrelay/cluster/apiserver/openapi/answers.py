"""Serves /openapi/v2 and /openapi/v3, with the headers that let clients keep what they have read.

Documents of version 3 have their hash in the address, so an answer to an address with the right hash never changes; a
wrong hash is sent on to the right one. Any method is answered, as the real server does.
"""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from jobrelay.cluster.apiserver import errors, negotiate
from jobrelay.cluster.apiserver.openapi.cache import CACHE, Document, DocumentIndex
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ResourceTable
from jobrelay.cluster.apiserver.response import ApiResponse

_PROTOBUF: Final = "application/com.github.proto-openapi.spec.{}.v1.0+protobuf"
_PROTOBUF_ASKED: Final = "application/com.github.proto-openapi.spec.{}@v1.0+protobuf"
_PLAIN: Final = "text/plain; charset=utf-8"
_COMPRESSED_FROM: Final = 128 * 1024


class OpenApi:
    """Answers for the resources of one cluster; `now` is the clock, `remote` are addresses of aggregated documents."""

    def __init__(
        self, resources: ResourceTable, now: Callable[[], dt.datetime], remote: Mapping[tuple[str, str], str]
    ) -> None:
        self._resources, self._now, self._remote = resources, now, remote
        self._changed = -1
        self._index: DocumentIndex | None = None

    @property
    def index(self) -> DocumentIndex:
        if self._index is None or self._changed != self._resources.changed:
            self._changed = self._resources.changed
            self._index = DocumentIndex(self._resources)
        return self._index

    async def answer(self, request: ApiRequest) -> ApiResponse:
        path = request.path
        if path == "/openapi/v2":
            return await self._v2(request)
        if path == "/openapi/v3":
            return ApiResponse(200, self._with_remote(self.index.index()), _PLAIN)
        if not path.startswith("/openapi/v3/"):
            raise errors.page_not_found()
        return await self._v3(request, path.removeprefix("/openapi/v3/"))

    def _with_remote(self, index: bytes) -> bytes:
        """The index with the documents of aggregated APIs."""
        entries = {f"apis/{group}/{version}": url for (group, version), url in self._remote.items() if url}
        if not entries:
            return index
        found = msgspec.json.decode(index)
        found["paths"] |= {path: {"serverRelativeURL": url} for path, url in entries.items()}
        return msgspec.json.encode(found)

    async def _v3(self, request: ApiRequest, path: str) -> ApiResponse:
        media = _accepted(request, "v3")
        document = self.index.v3(path, protobuf=media != negotiate.JSON)
        if document is None:
            return ApiResponse(404, b"", "")
        headers = {"Vary": "Accept"}
        if not media:
            return ApiResponse(406, b"", "", headers)
        headers["Etag"] = f'"{document.etag}"'
        wanted = request.first("hash")
        if wanted and wanted != document.etag:
            headers["Location"] = f"{request.path}?hash={document.etag}"
            return ApiResponse(301, b"", media, headers)
        if wanted:
            expires = self._now() + dt.timedelta(days=365)
            headers["Cache-Control"] = "public, immutable"
            headers["Expires"] = f"{expires:%a, %d %b %Y %H:%M:%S} UTC"
        return await _document(request, document, media, headers)

    async def _v2(self, request: ApiRequest) -> ApiResponse:
        headers = {"Vary": "Accept-Encoding, Accept"}
        media = _accepted(request, "v2")
        if not media:
            return ApiResponse(406, b"", "", headers)
        document = self.index.v2(protobuf=media != negotiate.JSON)
        headers["Etag"] = f'"{document.etag}"'
        return await _document(request, document, media, headers)


def _accepted(request: ApiRequest, version: str) -> str:
    """The media type that the client prefers, or nothing."""
    protobuf = _PROTOBUF.format(version)
    for range_ in negotiate.parse_accept(request.header("accept") or "*/*"):
        if range_.media in (negotiate.JSON, "*/*", "application/*"):
            return negotiate.JSON
        if range_.media in (protobuf, _PROTOBUF_ASKED.format(version)):
            return protobuf
    return ""


async def _document(request: ApiRequest, document: Document, media: str, headers: dict[str, str]) -> ApiResponse:
    known = [tag.strip().removeprefix("W/") for tag in request.header("if-none-match").split(",")]
    if headers["Etag"] in known or "*" in known:
        return ApiResponse(304, b"", media, headers)
    packed = await CACHE.read(document, media)
    encodings = negotiate.parse_accept(request.header("accept-encoding"))
    if any(encoding.media == "gzip" and encoding.quality > 0 for encoding in encodings):
        size = int.from_bytes(packed[-4:], "little")
        if size > _COMPRESSED_FROM:
            return ApiResponse(200, packed, media, {**headers, "Content-Encoding": "gzip"})
    return ApiResponse(200, gzip.decompress(packed), media, headers)
