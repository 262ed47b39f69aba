"""Files of recorded statuses, and audit logs of API servers."""

from __future__ import annotations

from typing import Final

from jobrelay.conformance import Auditor, Level, RecordingError, replay

from ..target import Target, plain
from .documents import JSON_WORDS

_WORDS: Final = (
    *JSON_WORDS, b'{"type":"MODIFIED","object":', b'"metadata":{"name":"j","uid":"u"}', b'"spec":{', b'"status":{',
    b'"completionMode":"Indexed"', b'"completions":3', b'"parallelism":2', b'"active":1', b'"failed":1',
    b'"completedIndexes":"0-2"', b'"failedIndexes":""', b'"backoffLimitPerIndex":0', b'"startTime":"',
    b'"suspend":true',
    b'"conditions":[{"type":"Complete","status":"True"}]', b'"uncountedTerminatedPods":{"failed":["a"]}',
    b'"creationTimestamp":"2026-01-01T00:00:00Z"', b'"managedFields":[{"manager":"m","subresource":"status"}]',
    b'"apiVersion":"audit.k8s.io/v1"', b'"stage":"ResponseComplete"', b'"verb":"update"',
    b'"responseStatus":{"code":422}',
    b'"objectRef":{"resource":"jobs","apiGroup":"batch","subresource":"status"}', b'"requestObject":', b"\n",
)  # fmt: skip


def _replayed(data: bytes) -> None:
    auditor = Auditor(Level.COMPLETE)
    for finding in replay(data.splitlines(keepends=True), auditor):
        finding.as_json()
    assert auditor.violations >= 0
    auditor.summary()


RECORDINGS: Final = (Target("recording", plain(_replayed), (RecordingError,), _WORDS, per_byte=4000),)
