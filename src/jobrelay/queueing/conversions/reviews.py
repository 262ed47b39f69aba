"""Answers to API servers that want objects in another version (ConversionReview)."""

from __future__ import annotations

from typing import Any

import msgspec

from jobrelay.queueing.conversions.versions import NEW, OLD, convert
from jobrelay.queueing.resources import GROUP

__all__ = ["answer_conversion"]


class _Request(msgspec.Struct, frozen=True):
    uid: str
    wanted: str = msgspec.field(name="desiredAPIVersion")
    objects: list[dict[str, Any]]


class _Review(msgspec.Struct, frozen=True):
    request: _Request


def answer_conversion(body: bytes) -> bytes:
    """The answer to a review.

    Raises msgspec.DecodeError for what is no review, and others of ValueError and LookupError for objects that are not
    of the shape that their schemas have.
    """
    request = msgspec.json.decode(body, type=_Review).request
    group, _, version = request.wanted.partition("/")
    if group != GROUP or version not in (OLD, NEW):
        raise ValueError(f"objects of {request.wanted} are not converted here")
    response = {
        "uid": request.uid,
        "convertedObjects": [convert(each, version) for each in request.objects],
        "result": {"status": "Success"},
    }
    review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}
    return msgspec.json.encode(review)
