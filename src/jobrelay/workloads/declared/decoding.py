"""Reads descriptions of kinds, strictly: whatever is not understood is an error that says where it is."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from jobrelay.apimachinery import yaml
from jobrelay.workloads.declared.description import KindDescription

_AT: Final = re.compile(r" - at `\$\.?(.*)`$")
_SEPARATOR: Final = re.compile(r"^---.*$", re.MULTILINE)
_CONTENT: Final = re.compile(r"^[ \t]*[^\s#]", re.MULTILINE)


class DescriptionError(ValueError):
    """A description that cannot be used; the message names its source, the field and what is wrong."""


def decode_description(text: str | bytes, source: str) -> KindDescription:
    """The description in a YAML text; `source` says in errors where it comes from. Raises DescriptionError."""
    written = text if isinstance(text, str) else text.decode(errors="replace")
    if sum(1 for document in _SEPARATOR.split(written) if _CONTENT.search(document)) > 1:
        raise DescriptionError(f"{source}: has several documents; write one kind per file")
    duplicates: list[str] = []
    try:
        found = yaml.load(written, duplicates)
    except yaml.YamlError as error:
        raise DescriptionError(f"{source}: not YAML: {error}") from None
    if duplicates:
        raise DescriptionError(f"{source}: {duplicates[0]}")
    if not isinstance(found, dict):
        raise DescriptionError(f"{source}: not a description of a kind: expected fields such as `resource`")
    try:
        return msgspec.convert(found, KindDescription)
    except msgspec.ValidationError as error:
        raise DescriptionError(f"{source}: {_readable(str(error))}") from None
    except RecursionError:
        raise DescriptionError(f"{source}: it is nested too deeply") from None


def _readable(message: str) -> str:
    """msgspec's message in the notation of the file: the field first."""
    where = _AT.search(message)
    what = _AT.sub("", message).replace("Object contains unknown field", "unknown field")
    what = what.replace("Object missing required field", "missing field")
    return f"{where[1]}: {what}" if where is not None and where[1] else what
