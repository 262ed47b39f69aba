"""The kept part of a workload's log as a value, and as the ConfigMap that holds it.

Lines are kept with the times at which they were written, so that they can be shown with or without, and chosen by age.
The text is compressed, since logs repeat themselves.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.apimachinery.times import TimeError, parse_time
from jobrelay.kube import Object

KEPT: Final = "jobrelay.dev/kept-log"
"""The label of ConfigMaps with kept logs."""
SIZE: Final = "jobrelay.dev/kept-log-size"
"""The annotation with the number of bytes that one holds."""
WORKLOAD: Final = "jobrelay.dev/kept-log-of"
"""The annotation that names the workload: `jobs.batch default/train`."""
_PREFIX: Final = "jobrelay-log-"
AT: Final = "jobrelay.dev/kept-log-at"
"""The annotation with the time at which it was read."""
_KEY: Final = "log.json.zlib"
_LARGEST: Final = 4 * 1024 * 1024
_TIME: Final = re.compile(r"\A\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) ")
_UNUSABLE: Final = (*UNREADABLE, zlib.error, Base64Error, KeyError, TypeError)


class ContainerLog(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last lines of one container, each with its time; `cut` if there were more before."""

    pod: str
    container: str
    text: str
    index: str = ""
    cut: bool = False


class KeptLog(msgspec.Struct, frozen=True):
    """What is kept of one run."""

    cluster: str
    run: int
    at: str
    """When it was read."""
    logs: tuple[ContainerLog, ...]


class LogChoice(msgspec.Struct, frozen=True):
    """Which lines are wanted, as of a log on a worker."""

    container: str = ""
    pod: str = ""
    index: str = ""
    timestamps: bool = False
    tail: int | None = None
    since: datetime | None = None


def config_map_name(uid: str) -> str:
    """The name of the ConfigMap for the original with this uid."""
    return f"{_PREFIX}{uid}"


def original_uid(config_map: Object) -> str:
    """The uid of the original whose log a ConfigMap holds."""
    return config_map.name.removeprefix(_PREFIX)


def config_map(namespace: str, uid: str, workload: str, kept: KeptLog) -> dict[str, Any]:
    """The ConfigMap that holds this."""
    packed = b64encode(zlib.compress(msgspec.json.encode(kept))).decode()
    metadata = {
        "name": config_map_name(uid),
        "namespace": namespace,
        "labels": {KEPT: "true"},
        "annotations": {SIZE: str(len(packed)), WORKLOAD: workload, AT: kept.at},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "binaryData": {_KEY: packed}}


def read_config_map(obj: Object) -> KeptLog | None:
    """What a ConfigMap holds; None if it is nothing that a relay has written."""
    try:
        packed = (obj.decode().get("binaryData") or {})[_KEY]
        return msgspec.json.decode(zlib.decompressobj().decompress(b64decode(packed), _LARGEST), type=KeptLog)
    except _UNUSABLE:
        return None


def chosen_lines(kept: KeptLog, choice: LogChoice) -> Iterator[tuple[ContainerLog, str]]:
    """The wanted lines with their newlines, container by container."""
    for log in kept.logs:
        if choice.container not in ("", log.container) or choice.pod not in ("", log.pod):
            continue
        if choice.index in ("", log.index):
            lines = [line for line in log.text.splitlines(keepends=True) if _is_recent(line, choice.since)]
            for line in lines if choice.tail is None else lines[len(lines) - min(choice.tail, len(lines)) :]:
                yield log, line if choice.timestamps else _TIME.sub("", line, count=1)


def _is_recent(line: str, since: datetime | None) -> bool:
    if since is None:
        return True
    try:
        return parse_time(line.partition(" ")[0]) >= since
    except TimeError:
        return True
