"""Reads Kubernetes objects from files and folders that a user names.

Folders are read as kubectl reads them: all YAML and JSON files, but not those of subfolders.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any, Final

from jobrelay.apimachinery.yaml import YamlError, load
from jobrelay.operate.errors import OperateError

__all__ = ["files_of", "read_file", "read_objects"]

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_SEPARATOR: Final = re.compile(rb"^---(?:[ \t].*)?\r?$", re.MULTILINE)


def files_of(path: pathlib.Path) -> list[pathlib.Path]:
    """A file itself, or the files of a folder; raises OperateError."""
    if not path.is_dir():
        return [path]
    files = sorted(each for each in path.iterdir() if each.suffix in _SUFFIXES and each.is_file())
    if not files:
        raise OperateError(f"{path} has no YAML or JSON files", "name a folder that has; subfolders are not read")
    return files


def read_file(path: pathlib.Path) -> bytes:
    """The contents of a file; raises OperateError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise OperateError(f"{path} cannot be read: {error.strerror}") from error


def read_objects(source: str, text: bytes) -> Iterator[tuple[str, Any]]:
    """The objects of a file with where they are, also those of lists; raises OperateError."""
    documents = [each for each in _SEPARATOR.split(text) if each.strip()]
    for number, document in enumerate(documents, 1):
        where = source if len(documents) == 1 else f"{source}, document {number}"
        try:
            found = load(document)
        except YamlError as error:
            raise OperateError(f"{where} is not YAML: {error}", "correct it, or leave the file out") from error
        if isinstance(found, dict) and _is_list(found):
            for index, item in enumerate(found["items"]):
                yield f"{where}, items[{index}]", item
        elif found is not None:
            yield where, found


def _is_list(found: dict[str, Any]) -> bool:
    return str(found.get("kind")).endswith("List") and isinstance(found.get("items"), list)
