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
from jobrelay.queueing.conversions.reviews import answer_conversion
from jobrelay.queueing.webhooks.configurations import MUTATE, VALIDATE
from jobrelay.queueing.webhooks.converting import CONVERT
from jobrelay.queueing.webhooks.reviews import AdmissionReviews
from jobrelay.relay.api.failures import ApiFailure, unavailable

__all__ = ["answered", "webhook_routes"]

_UNANSWERABLE: Final = (
    msgspec.DecodeError, KubeError, RecursionError, AttributeError, LookupError, TypeError, ValueError
)  # fmt: skip
_LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a review: an old and a new object, of which each has at most a few megabytes."""


def webhook_routes(reviews: Callable[[], AdmissionReviews | None]) -> list[web.RouteDef]:
    """Routes that answer by what `reviews` gives, None while the relay does not admit. Conversion needs none of it."""

    async def convert(request: web.Request) -> web.Response:
        return web.Response(body=answered(answer_conversion, await _read(request)), content_type="application/json")

    async def answer(request: web.Request) -> web.Response:
        present = reviews()
        if present is None:
            raise unavailable("the relay does not admit workloads at present")
        reply = present.mutate if request.path == MUTATE else present.validate
        return web.Response(body=answered(reply, await _read(request)), content_type="application/json")

    return [web.post(MUTATE, answer), web.post(VALIDATE, answer), web.post(CONVERT, convert)]


def answered(reply: Callable[[bytes], bytes], body: bytes) -> bytes:
    """The answer to a body that anybody may have sent; raises ApiFailure if it cannot be answered.

    An API server sends objects of the shape that their schemas have, so that is not checked here once more.
    """
    try:
        return reply(body)
    except _UNANSWERABLE as error:
        raise ApiFailure(400, "BadRequest", f"this is not a review that can be answered: {error}") from error


async def _read(request: web.Request) -> bytes:
    """The body; raises ApiFailure for one that is too large."""
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > _LARGEST:
            raise ApiFailure(413, "RequestEntityTooLarge", f"a review has at most {_LARGEST} bytes")
    return bytes(body)
