"""Paths that are not about resources: discovery, version, health, metrics."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Final

from jobrelay.cluster.apiserver import errors, represent
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.discovery import Discovery
from jobrelay.cluster.apiserver.handlers import output_for
from jobrelay.cluster.apiserver.health import CHECKS, health
from jobrelay.cluster.apiserver.metrics import ApiServerMetrics
from jobrelay.cluster.apiserver.negotiate import Output
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.response import ApiResponse

if TYPE_CHECKING:
    from jobrelay.cluster.apiserver.openapi.answers import OpenApi

VERSION: Final = {
    "major": "1", "minor": "35", "emulationMajor": "1", "emulationMinor": "35", "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "34", "gitVersion": "v1.35.4", "gitCommit": "", "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z", "goVersion": f"python{platform.python_version()}", "compiler": "cpython",
    "platform": "linux/amd64",
}  # fmt: skip


class NonResourceHandler:
    def __init__(self, server: ServerContext, discovery: Discovery, metrics: ApiServerMetrics) -> None:
        self._server, self._discovery, self._metrics = server, discovery, metrics
        self._openapi: OpenApi | None = None

    async def answer(self, request: ApiRequest) -> ApiResponse:
        if request.path.startswith("/openapi"):
            return await self._documents().answer(request)
        if (answer := health(request)) is not None:
            return answer
        path = request.path.rstrip("/") or "/"
        if request.method not in ("GET", "HEAD"):
            raise errors.method_not_allowed() if path.startswith(("/api", "/version")) else errors.page_not_found()
        if path == "/version":
            return represent.finish(represent.encode(VERSION), output_for(request))
        if path == "/":
            return represent.finish(represent.encode({"paths": self._index()}), Output(pretty=True))
        if path == "/metrics":
            return ApiResponse(200, self._metrics.text(), "text/plain; version=0.0.4; charset=utf-8")
        found = self._discovery.answer(request)
        if found is None:
            raise errors.page_not_found()
        return found

    def _index(self) -> list[str]:
        """All paths apart from those of objects."""
        found = {"/api", "/api/v1", "/apis", "/metrics", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"}
        for endpoint, checks in CHECKS.items():
            found |= {f"/{endpoint}", *(f"/{endpoint}/{check}" for check in checks)}
        for group, versions in self._server.resources.groups.items():
            if group:
                found |= {f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)}
        for api in self._discovery.remote.by_version.values():
            found |= {f"/apis/{api.group}", api.path}
        return sorted(found)

    def _documents(self) -> OpenApi:
        """Imported on the first request: most clusters never serve OpenAPI."""
        if self._openapi is None:
            from jobrelay.cluster.apiserver.openapi.answers import OpenApi

            self._openapi = OpenApi(self._server.resources, self._server.now, self._discovery.remote.documents)
        return self._openapi
