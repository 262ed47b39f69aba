"""Content negotiation: the representation of the answer, and the media type of the body.

Kubernetes negotiates twice: its router first checks the plain media type, then the handler reads the parameters
(`as=Table`). Both steps are here because their errors differ.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jobrelay.cluster.apiserver import errors

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
BUILT_IN: Final = (JSON, YAML, PROTOBUF)
TRANSFORMS: Final = {"Table", "PartialObjectMetadata", "PartialObjectMetadataList"}
META_VERSIONS: Final = ("v1", "v1beta1")


@dataclass(frozen=True, slots=True)
class Output:
    """The representation to answer in. `transform` is "" or Table, PartialObjectMetadata(List).

    `untyped`: items of a list of metadata do not name their type. JSON stands in for protobuf, which leaves it out, and
    metadata clients compare items with objects from a watch, which have lost theirs.
    """

    media: str = JSON
    transform: str = ""
    meta_version: str = "v1"
    pretty: bool = False
    untyped: bool = False


@dataclass(frozen=True, slots=True)
class MediaRange:
    media: str
    params: tuple[tuple[str, str], ...]
    quality: float


def parse_accept(header: str) -> list[MediaRange]:
    """The media ranges of an Accept header, preferred first."""
    ranges = []
    for part in header.split(","):
        media, *raw = (piece.strip() for piece in part.split(";"))
        if not media:
            continue
        quality, params = 1.0, []
        for piece in raw:
            key, _, value = piece.partition("=")
            if key == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 1.0
            else:
                params.append((key, value.strip('"')))
        ranges.append(MediaRange(media, tuple(params), quality))
    return sorted(ranges, key=lambda range_: -range_.quality)


def _matches(range_: MediaRange) -> str | None:
    """The media type of ours that matches a media range. Protobuf is answered in JSON: all clients read it."""
    if range_.media in BUILT_IN:
        return JSON if range_.media == PROTOBUF else range_.media
    if range_.media == "*/*":
        return JSON
    return None


STREAMS: Final = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")


@functools.lru_cache(128)
def output(header: str, *, pretty: bool, streams: bool = False, tables: bool = True) -> Output:
    """The representation for an Accept header; raises 406 when there is none.

    `streams`: the path can be watched. `tables`: its objects can be shown as a table.
    """
    if not header:
        return Output(pretty=pretty)
    ranges = parse_accept(header)
    if not any(_matches(range_) for range_ in ranges):
        available = BUILT_IN + STREAMS if streams else BUILT_IN
        text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(available)}"
        raise errors.ApiError(406, "NotAcceptable", text, details={})
    for range_ in ranges:
        media = _matches(range_)
        params = dict(range_.params)
        if media is None or (params.get("stream") not in (None, "", "watch")):
            continue
        target = params.get("as", "")
        if target == "Table" and not tables:
            continue
        if not ({"as", "g", "v"} & params.keys()):
            return Output(media, pretty=pretty or params.get("pretty") == "1")
        if target in TRANSFORMS and params.get("g") == "meta.k8s.io" and params.get("v") in META_VERSIONS:
            prettily = pretty or params.get("pretty") == "1"
            return Output(media, target, params["v"], prettily, untyped=range_.media == PROTOBUF)
    raise errors.not_acceptable(BUILT_IN)


def pretty_print(query: Mapping[str, list[str]], user_agent: str) -> bool:
    wanted = query.get("pretty")
    if wanted and wanted[0]:
        return wanted[0] in ("1", "t", "T", "true", "TRUE", "True")
    return user_agent.startswith(("curl", "Wget", "Mozilla/5.0"))


def input_media(content_type: str) -> str:
    """The media type of a body; none given means JSON; raises 415 for one that is not supported."""
    media = content_type.split(";", 1)[0].strip().lower() or JSON
    if media not in BUILT_IN:
        raise errors.unsupported_media_type(BUILT_IN)
    return media
