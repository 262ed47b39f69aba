"""How /openapi/v2 and /openapi/v3 are answered: representations, hashes, caching, refreshing."""

from __future__ import annotations

import asyncio
import datetime as dt
import gzip
import pathlib
import subprocess
import sys
from typing import Any

import msgspec
import pytest

import jobrelay
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.openapi.answers import OpenApi
from jobrelay.cluster.apiserver.openapi.cache import Document, DocumentCache
from jobrelay.cluster.apiserver.request import received
from jobrelay.cluster.apiserver.resources import ResourceTable
from jobrelay.cluster.apiserver.response import ApiResponse
from tests.cluster.openapi_tools import with_gizmos

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
BATCH = "/openapi/v3/apis/batch/v1"


class Server:
    def __init__(self) -> None:
        self.resources = ResourceTable()
        self._openapi = OpenApi(self.resources, lambda: NOW, {})

    async def get(self, target: str, **headers: str) -> ApiResponse:
        named = {name.replace("_", "-"): (value,) for name, value in headers.items()}
        return await self._openapi.answer(received("GET", target, named))

    async def address(self, path: str) -> str:
        index: dict[str, Any] = msgspec.json.decode((await self.get("/openapi/v3")).body)
        found: str = index["paths"][path]["serverRelativeURL"]
        return found


@pytest.fixture
def server() -> Server:
    return Server()


async def test_the_index_leads_to_documents_that_never_change(server: Server) -> None:
    answer = await server.get(await server.address("apis/batch/v1"))
    assert answer.code == 200
    assert answer.headers["Cache-Control"] == "public, immutable"
    assert answer.headers["Expires"] == "Fri, 01 Jan 2027 00:00:00 UTC"
    assert "/apis/batch/v1/jobs" in msgspec.json.decode(answer.body)["paths"]


async def test_without_a_hash_nothing_is_promised(server: Server) -> None:
    answer = await server.get(BATCH)
    assert "Cache-Control" not in answer.headers
    assert answer.headers["Etag"].strip('"') in await server.address("apis/batch/v1")


async def test_a_wrong_hash_is_sent_on(server: Server) -> None:
    answer = await server.get(f"{BATCH}?hash=OLD")
    assert (answer.code, answer.body) == (301, b"")
    assert answer.headers["Location"] == await server.address("apis/batch/v1")


@pytest.mark.parametrize("path", [BATCH, "/openapi/v2"])
async def test_what_is_known_is_not_sent_again(server: Server, path: str) -> None:
    etag = (await server.get(path)).headers["Etag"]
    assert (await server.get(path, if_none_match=f'"other", {etag}')).code == 304
    assert (await server.get(path, if_none_match='"other"')).code == 200


@pytest.mark.parametrize("path", ["/openapi/v3/", "/openapi/v3/apis/nope/v1", BATCH + "/"])
async def test_unknown_documents_are_not_found(server: Server, path: str) -> None:
    answer = await server.get(path)
    assert (answer.code, answer.body) == (404, b"")


@pytest.mark.parametrize("path", ["/openapi", "/openapi/v2/", "/openapi/v2/foo"])
async def test_other_paths_are_no_pages(server: Server, path: str) -> None:
    with pytest.raises(errors.ApiError, match="404 page not found"):
        await server.get(path)


@pytest.mark.parametrize(
    "accept", ["", "*/*", "application/*", "application/json;g=x", "text/html, application/json;q=0.1"]
)
async def test_json_is_what_most_accept(server: Server, accept: str) -> None:
    answer = await server.get("/openapi/v3/version", accept=accept)
    assert (answer.code, answer.media) == (200, "application/json")


@pytest.mark.parametrize("path", ["/openapi/v3/version", "/openapi/v2"])
async def test_yaml_is_not_served(server: Server, path: str) -> None:
    answer = await server.get(path, accept="application/yaml")
    assert (answer.code, answer.body) == (406, b"")


@pytest.mark.parametrize(
    ("path", "version", "start"), [("v2", "v2", b"\x0a\x032.0"), ("v3/version", "v3", b"\x0a\x053.0.0")]
)
async def test_documents_come_in_protobuf(server: Server, path: str, version: str, start: bytes) -> None:
    asked = f"application/com.github.proto-openapi.spec.{version}@v1.0+protobuf"
    answer = await server.get(f"/openapi/{path}", accept=f"application/json;q=0.5, {asked}")
    assert (answer.code, answer.media) == (200, asked.replace("@", "."))
    assert answer.body.startswith(start)


async def test_large_answers_are_compressed_for_those_who_take_it(server: Server) -> None:
    packed = await server.get(BATCH, accept_encoding="gzip, deflate")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == (await server.get(BATCH)).body
    assert "Content-Encoding" not in (await server.get("/openapi/v3/version", accept_encoding="gzip")).headers
    refused = await server.get(BATCH, accept_encoding="gzip;q=0, identity")
    assert "Content-Encoding" not in refused.headers


async def test_custom_resources_appear_change_and_go(server: Server) -> None:
    before = (await server.get("/openapi/v2")).headers["Etag"]
    with_gizmos(server.resources)
    first = await server.address("apis/example.com/v1")
    assert (await server.get("/openapi/v2")).headers["Etag"] != before
    with_gizmos(server.resources, minimum=3)
    assert await server.address("apis/example.com/v1") != first
    server.resources.remove_custom("example.com", "gizmos")
    assert (await server.get(first)).code == 404
    assert (await server.get("/openapi/v2")).headers["Etag"] == before


async def test_clusters_agree_on_hashes() -> None:
    assert (await Server().get("/openapi/v3")).body == (await Server().get("/openapi/v3")).body


class Press:
    """Builds documents and remembers which."""

    def __init__(self) -> None:
        self.built: list[str] = []

    def document(self, name: str) -> Document:
        def build() -> bytes:
            self.built.append(name)
            return name.encode()

        return Document(name, build)


async def test_a_document_is_built_once() -> None:
    cache, press = DocumentCache(), Press()
    first, second = await asyncio.gather(*(cache.read(press.document("a"), "media") for _ in range(2)))
    assert gzip.decompress(first) == gzip.decompress(second) == b"a"
    assert press.built == ["a"]


async def test_the_least_used_document_goes_first() -> None:
    cache, press = DocumentCache(limit=60), Press()
    for name in ("a", "b", "a", "c", "a", "b"):
        await cache.read(press.document(name), "media")
    assert press.built == ["a", "b", "c", "b"]


def test_nothing_is_loaded_before_somebody_asks() -> None:
    code = "import sys, jobrelay.cluster.apiserver.server; print([m for m in sys.modules if '.openapi' in m])"
    source = pathlib.Path(jobrelay.__file__).parents[1]
    told = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(source)}, check=True, capture_output=True, text=True
    )
    assert told.stdout == "[]\n"
