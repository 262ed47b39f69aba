"""Caches which specs passed a check.

Batch users create the same template over and over: a controller for each of its runs, a user for each item of a sweep.
Serialising a spec and looking it up costs a small part of checking it. Only specs without errors are cached, a few
hundred of ordinary size, so that a client cannot make the cache grow.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from jobrelay.apimachinery.field import Path
from jobrelay.apimachinery.names import is_dns1123_label
from jobrelay.kinds.core.pod.common import Fields

MOST: Final = 512
LONGEST: Final = 8192
_CREDENTIALS: Final = re.compile(rb'"kube-api-access-[a-z0-9]{5}"')
_VALID: Final = msgspec.Raw(b"~")  # nothing else is written so
Finding = TypeVar("Finding")
Check = Callable[[Fields, Path], list[Finding]]


def remember_silence(check: Check[Finding]) -> Check[Finding]:
    """The same check, which is not made again for a spec and place that it found nothing wrong with."""
    silent: set[tuple[bytes, str]] = set()

    def remembering(spec: Fields, path: Path) -> list[Finding]:
        key = (_shape(spec), str(path))
        if key in silent:
            return []
        found = check(spec, path)
        if not found and len(key[0]) <= LONGEST:
            if len(silent) >= MOST:
                silent.clear()
            silent.add(key)
        return found

    return remembering


def _shape(spec: Fields) -> bytes:
    """A spec with a common host name and a common name for the volume of credentials.

    The pods of an Indexed Job have different host names, and the volume has another name in every pod. What is wrong
    with a spec does not depend on which valid names they are.
    """
    if (name := spec.get("hostname")) and not is_dns1123_label(name):
        spec = {**spec, "hostname": _VALID}
    raw = msgspec.json.encode(spec)
    names = set(_CREDENTIALS.findall(raw))
    return raw.replace(names.pop(), b'"*"') if len(names) == 1 else raw
