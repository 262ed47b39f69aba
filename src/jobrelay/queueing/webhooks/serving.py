"""The webhooks as routes of the relay's TLS listener.

API servers show no identity to webhooks. What is answered follows from what was sent, and from which LocalQueues and
namespaces there are, so a caller learns little that they did not send.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from aiohttp import web

from jobrelay.kube import KubeError
from jobrelay.queueing.webhooks.configurations import MUTATE, VALIDATE
from jobrelay.queueing.webhooks.reviews import Reviews
from jobrelay.relay.api.failures import ApiFailure, unavailable

__all__ = ["webhook_routes"]

_LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a review: an old and a new object, of which each has at most a few megabytes."""


def webhook_routes(reviews: Callable[[], Reviews | None]) -> list[web.RouteDef]:
    """Routes that answer by what `reviews` gives, None while the relay does not admit."""

    async def answer(request: web.Request) -> web.Response:
        present = reviews()
        if present is None:
            raise unavailable("the relay does not admit workloads at present")
        reply = present.mutate if request.path == MUTATE else present.validate
        try:
            body = reply(await _read(request))
        except (msgspec.DecodeError, KubeError) as error:
            raise ApiFailure(400, "BadRequest", f"this is not a review that can be answered: {error}") from error
        return web.Response(body=body, content_type="application/json")

    return [web.post(MUTATE, answer), web.post(VALIDATE, answer)]


async def _read(request: web.Request) -> bytes:
    """The body; raises ApiFailure for one that is too large."""
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > _LARGEST:
            raise ApiFailure(413, "RequestEntityTooLarge", f"a review has at most {_LARGEST} bytes")
    return bytes(body)
