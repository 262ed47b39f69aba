"""A picture of a namespace that can be compared with one taken in another cluster.

Whole objects are shown: Jobs, CronJobs, pods and events. What must differ is replaced: uids, random parts of names,
versions. A time is replaced by the number of the step in which it fell (`@2`), or `@before` when it is older than the
script.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

Obj = dict[str, Any]

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_RANDOM = re.compile(r"(?<=[a-z0-9]-)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_INDEX = re.compile(r"(?<=[a-z0-9])-\d+-(?=[bcdfghjklmnpqrstvwxz2456789]{5}\b)")
_STAMP = re.compile(r"\.[0-9a-f]{16}\b")
_MINUTES = re.compile(r"-\d{8}\b")
_LAST_FIELDS = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}")
_VARYING = ("resourceVersion", "uid")


def picture(kinds: dict[str, list[Obj]], namespace: str, begins: Sequence[dt.datetime], error: Obj | None) -> Obj:
    """What is there after a step; `begins` are the moments at which the steps so far began."""
    names = [one["metadata"]["name"] for one in kinds["pods"] if "generateName" in one["metadata"]]
    known = _Neutral(namespace, names, begins)
    shown: Obj = {
        kind: sorted((known.of(_shown(one)) for one in objects), key=_text) for kind, objects in kinds.items()
    }
    if error is not None:
        shown["error"] = known.of(error)
    return shown


def neutral(value: Any, namespace: str) -> Any:
    """A value without what must differ; times all look old."""
    return _Neutral(namespace, (), ()).of(value)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def lines(value: Any, path: str = "") -> Iterator[str]:
    """A picture as lines of paths and values."""
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from lines(value[key], f"{path}.{key}")
    elif isinstance(value, list) and value:
        for number, one in enumerate(value):
            yield from lines(one, f"{path}[{number}]")
    else:
        yield f"{path} = {json.dumps(value)}"


def _shown(obj: Obj) -> Obj:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _VARYING}
    owners = [{key: value for key, value in one.items() if key != "time"} for one in metadata.get("managedFields", ())]
    metadata["managedFields"] = sorted(owners, key=_text)
    shown = {**obj, "metadata": metadata}
    if "involvedObject" in obj:
        metadata.pop("creationTimestamp")
        shown["message"] = _INDEX.sub("-n-", obj.get("message", ""))
        about = dict(obj["involvedObject"])
        about["resourceVersion"] = "VERSION" if about.get("resourceVersion") else None
        shown["involvedObject"] = about
    if obj.get("status", {}).get("active") and isinstance(obj["status"]["active"], list):
        active = [{**one, "resourceVersion": "VERSION"} for one in obj["status"]["active"]]
        shown["status"] = {**obj["status"], "active": active}
    return shown


class _Neutral:
    def __init__(self, namespace: str, generated: Sequence[str], begins: Sequence[dt.datetime]) -> None:
        self._namespace = namespace
        self._generated = [name for name in generated if not _RANDOM.search(name)]
        self._begins = [begin.replace(microsecond=0) for begin in begins]
        self._known: dict[str, str] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.text(key): self.of(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.of(one) for one in value]
        return self.text(value) if isinstance(value, str) else value

    def text(self, text: str) -> str:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._replaced(text)
        return known

    def _replaced(self, text: str) -> str:
        for name in self._generated:
            text = text.replace(name, name[:-5] + "?????")
        text = _TIME.sub(self._step, text.replace(self._namespace, "NS"))
        text = _LAST_FIELDS.sub("TIME", _UID.sub("UID", text))
        return _MINUTES.sub("-MINUTES", _STAMP.sub(".STAMP", _RANDOM.sub("?????", text)))

    def _step(self, found: re.Match[str]) -> str:
        moment = dt.datetime.fromisoformat(found[1] + found[3].replace("Z", "+00:00"))
        number = sum(begin <= moment for begin in self._begins)
        zone = "" if found[3] == "Z" else found[3]
        return (f"@{number - 1}" if number else "@before") + zone
