"""Files of recorded statuses: written by an audit, read to repeat one.

A recording has one JSON document per line, a watch event with the time at which it came:

    {"time": "2026-01-01T00:00:00Z", "type": "MODIFIED", "object": {"metadata": ..., "spec": ..., "status": ...}}

Pod templates are left out, and of managedFields all but who wrote the status. Also read are watch events without a time
(`kubectl get jobs -w --output-watch-events -o json`) and audit logs of an API server (`audit.k8s.io/v1`) at level
RequestResponse. These show writes that were refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

import msgspec

from jobrelay.apimachinery.decode import DecodeError
from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.conformance.auditing import AuditFinding, Auditor

__all__ = ["RecordingError", "record_line", "replay"]

Obj = dict[str, Any]
Kind = Literal["created", "changed", "deleted", "refused"]
_KEPT: Final = ("name", "namespace", "uid", "creationTimestamp", "resourceVersion")
_EVENTS: Final[dict[str, Kind]] = {"ADDED": "changed", "MODIFIED": "changed", "DELETED": "deleted"}
_INVALID: Final = 422
_LONGEST: Final = 2 * 1024 * 1024
"""Of a document in several lines; it is read again with each of them."""


class RecordingError(Exception):
    """A file is not a recording; the message says where."""


class _Version(NamedTuple):
    kind: Kind
    time: str
    job: Obj


def record_line(time: str, type: str, job: Obj) -> bytes:
    """One line of a recording."""
    metadata = {name: job["metadata"][name] for name in _KEPT if name in job["metadata"]}
    writers = [
        {"manager": each.get("manager", ""), "subresource": "status"}
        for each in job["metadata"].get("managedFields") or ()
        if each.get("subresource") == "status"
    ]
    spec = {name: value for name, value in job["spec"].items() if name != "template"}
    kept = {"metadata": {**metadata, "managedFields": writers}, "spec": spec, "status": job.get("status") or {}}
    return msgspec.json.encode({"time": time, "type": type, "object": kept}) + b"\n"


def replay(lines: Iterable[bytes], auditor: Auditor) -> Iterator[AuditFinding]:
    """Feed an auditor with a file; raises RecordingError."""
    for number, document in _documents(lines):
        try:
            for version in _versions(document):
                yield from _fed(auditor, version)
        except (DecodeError, KeyError, TypeError, AttributeError) as error:
            raise RecordingError(f"line {number}: not a Job: {error}") from error


def _fed(auditor: Auditor, version: _Version) -> tuple[AuditFinding, ...]:
    if version.kind == "refused":
        return auditor.refused(version.job, version.time)
    found = auditor.seen(version.job, version.time, created=version.kind == "created")
    if version.kind == "deleted":
        auditor.gone(version.job)
    return found


def _documents(lines: Iterable[bytes]) -> Iterator[tuple[int, Any]]:
    """JSON documents, each in a line or, as kubectl prints them, in several; with the number of the last line."""
    begun = b""
    number = 0
    for number, line in enumerate(lines, 1):
        begun += line
        if not begun.strip():
            begun = b""
            continue
        try:
            document = msgspec.json.decode(begun)
        except UNREADABLE as error:
            if len(begun) > _LONGEST or not begun.lstrip().startswith(b"{"):
                raise RecordingError(f"line {number}: not JSON: {error}") from error
            continue
        begun = b""
        yield number, document
    if begun.strip():
        raise RecordingError(f"line {number}: the last document is not complete")


def _versions(document: Any) -> Iterator[_Version]:
    if document.get("apiVersion", "").startswith("audit.k8s.io/"):
        yield from _audited(document)
    elif document.get("type") in _EVENTS:
        job = document["object"]
        if job.get("kind", "Job") == "Job":
            yield _Version(_EVENTS[document["type"]], document.get("time", ""), job)
    elif document.get("type") not in ("BOOKMARK", "ERROR"):
        raise RecordingError("a document is neither a watch event nor an event of an audit log")


def _audited(event: Obj) -> Iterator[_Version]:
    """The version of a Job that one request of an audit log has made, or that the API server has refused."""
    about = event.get("objectRef") or {}
    if (about.get("resource"), about.get("apiGroup")) != ("jobs", "batch") or event.get("stage") != "ResponseComplete":
        return
    time = event.get("stageTimestamp", "")
    code = (event.get("responseStatus") or {}).get("code", 0)
    sent, made = event.get("requestObject") or {}, event.get("responseObject") or {}
    if code == _INVALID and about.get("subresource") == "status" and event.get("verb") == "update":
        yield _Version("refused", time, sent)
    elif code < 300 and made.get("kind") == "Job" and event.get("verb") in ("create", "update", "patch"):
        yield _Version("created" if event["verb"] == "create" else "changed", time, made)
