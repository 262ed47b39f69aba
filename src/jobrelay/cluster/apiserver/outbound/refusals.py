"""Answers that are no successes, in the words of Kubernetes' client."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery import gojson
from jobrelay.apimachinery.field import go_quote
from jobrelay.cluster.apiserver.outbound.client import OutboundAnswer

_SHOWN_BYTES: Final = 2048
_STATUS_TEXTS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    406: "the server was unable to respond with a content type that the client supports",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


def refused(answer: OutboundAnswer) -> str:
    """What client-go says of an answer that is not a success; a Status speaks for itself."""
    try:
        status = gojson.loads(answer.body)
        if isinstance(status, dict) and status.get("kind") == "Status" and status.get("apiVersion") == "v1":
            return str(status.get("message") or "")
    except gojson.JsonError:
        pass
    media = (answer.headers.get("Content-Type") or "text/").lower()
    text = answer.body[:_SHOWN_BYTES].decode("utf-8", "replace").strip() if media.startswith("text/") else "unknown"
    if answer.status in (403, 415) or (answer.status == 406 and text not in ("", "unknown")):
        return text
    if answer.status in _STATUS_TEXTS:
        return _STATUS_TEXTS[answer.status]
    if answer.status >= 500:
        return f"an error on the server ({go_quote(text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {answer.status} but did not return more information"
