"""Merge patches that also remove fields.

A server omits a counter that is 0 and a list that is empty. Sent as a merge patch, such a status leaves the old value
in place: `active: 1` stays, and the end of the Job is refused. So fields that the new value lacks are sent as null,
at every depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def status_patch(old_status: Mapping[str, Any], new_status: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch from one status to another; empty if they are equal. It goes under the key `status`.

    Lists are replaced as a whole. It works for any two JSON objects.
    """
    patch: dict[str, Any] = {key: None for key in old_status if new_status.get(key) is None}
    for key, value in new_status.items():
        before = old_status.get(key)
        if value is None or (value == before and type(value) is type(before)):
            continue
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if inner := status_patch(before, value):
                patch[key] = inner
        else:
            patch[key] = value
    return patch
