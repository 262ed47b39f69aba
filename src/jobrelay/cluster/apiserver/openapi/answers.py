"""Serves /openapi/v2 and /openapi/v3, with the headers that let clients keep what they have read.

Documents of version 3 have their hash in the address, so an answer to an address with the right hash never changes; a wrong
hash is sent on to the right one. Any method is answered, as the real server does.
"""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Callable
from typing import Final

from jobrelay.cluster.apiserver import errors, negotiate
from jobrelay.cluster.apiserver.openapi.library import SHELF, Catalogue, Document
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ResourceTable
from jobrelay.cluster.apiserver.response import ApiResponse

V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_OLD_V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_PLAIN: Final = "text/plain; charset=utf-8"
_COMPRESSED_FROM: Final = 128 * 1024


class OpenApi:
    """Answers for the resources of one cluster; `now` is the clock."""

    def __init__(self, resources: ResourceTable, now: Callable[[], dt.datetime]) -> None:
        self._resources, self._now = resources, now
        self._changed = -1
        self._catalogue: Catalogue | None = None

    @property
    def catalogue(self) -> Catalogue:
        if self._catalogue is None or self._changed != self._resources.changed:
            self._changed = self._resources.changed
            self._catalogue = Catalogue(self._resources)
        return self._catalogue

    async def answer(self, request: ApiRequest) -> ApiResponse:
        path = request.path
        if path == "/openapi/v2":
            return await self._v2(request)
        if path == "/openapi/v3":
            return ApiResponse(200, self.catalogue.index(), _PLAIN)
        if not path.startswith("/openapi/v3/"):
            raise errors.page_not_found()
        document = self.catalogue.v3(path.removeprefix("/openapi/v3/"))
        if document is None:
            return ApiResponse(404, b"", _PLAIN)
        return await self._v3(request, document)

    async def _v3(self, request: ApiRequest, document: Document) -> ApiResponse:
        headers = {"Vary": "Accept"}
        if not _accepted(request, (negotiate.JSON,)):
            return ApiResponse(406, b"", _PLAIN, headers)
        headers["Etag"] = f'"{document.etag}"'
        wanted = request.first("hash")
        if wanted and wanted != document.etag:
            headers["Location"] = f"{request.path}?hash={document.etag}"
            return ApiResponse(301, b"", negotiate.JSON, headers)
        if wanted:
            expires = self._now() + dt.timedelta(days=365)
            headers["Cache-Control"] = "public, immutable"
            headers["Expires"] = f"{expires:%a, %d %b %Y %H:%M:%S} UTC"
        return await _document(request, document, negotiate.JSON, headers)

    async def _v2(self, request: ApiRequest) -> ApiResponse:
        headers = {"Vary": "Accept-Encoding, Accept"}
        media = _accepted(request, (negotiate.JSON, V2_PROTOBUF, _OLD_V2_PROTOBUF))
        if not media:
            return ApiResponse(406, b"", _PLAIN, headers)
        document = self.catalogue.v2() if media == negotiate.JSON else self.catalogue.v2_protobuf()
        headers["Etag"] = f'"{document.etag}"'
        return await _document(request, document, negotiate.JSON if media == negotiate.JSON else V2_PROTOBUF, headers)


def _accepted(request: ApiRequest, offered: tuple[str, ...]) -> str:
    """The offered media type that the client likes best, or nothing."""
    for clause in negotiate.parse_accept(request.header("accept") or "*/*"):
        if clause.media in ("*/*", "application/*"):
            return offered[0]
        if clause.media in offered:
            return clause.media
    return ""


async def _document(request: ApiRequest, document: Document, media: str, headers: dict[str, str]) -> ApiResponse:
    known = [tag.strip().removeprefix("W/") for tag in request.header("if-none-match").split(",")]
    if headers["Etag"] in known or "*" in known:
        return ApiResponse(304, b"", media, headers)
    packed = await SHELF.read(document, media)
    if "gzip" in request.header("accept-encoding"):
        size = int.from_bytes(packed[-4:], "little")
        if size > _COMPRESSED_FROM:
            return ApiResponse(200, packed, media, {**headers, "Content-Encoding": "gzip"})
    return ApiResponse(200, gzip.decompress(packed), media, headers)
