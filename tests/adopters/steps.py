"""Whether an original has shown nothing but what its mirrors showed, in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .managers import Obj


def without_nulls(value: Any) -> Any:
    """A status without the nulls that Tekton writes and a merge patch cannot carry."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def invented(shown: Sequence[Obj], had: Sequence[Obj]) -> Obj | None:
    """The first status that was shown and that the mirrors did not have, or not after those shown before; else None.

    Statuses may be left out: what follows quickly is written together.
    """
    at = 0
    for status in shown:
        found = next((index for index in range(at, len(had)) if had[index] == status), None)
        if found is None:
            return status
        at = found
    return None
