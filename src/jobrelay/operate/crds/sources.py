"""Reads the CustomResourceDefinitions that a user names: files, folders, and names of the catalog.

Projects ship their definitions together with other objects. Those are left out and counted; a file without any
definition is an error.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable

import msgspec

from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.operate.crds.catalog import KNOWN, make_definitions
from jobrelay.operate.errors import OperateError
from jobrelay.operate.files import files_of, read_file, read_objects
from jobrelay.operate.manifests import Manifest

__all__ = ["Definition", "LoadedDefinitions", "read_definitions"]


class Definition(msgspec.Struct, frozen=True):
    """A CustomResourceDefinition, and where it comes from; one of our `own` stands in for a project's."""

    manifest: Manifest
    source: str
    own: bool = False

    @property
    def name(self) -> str:
        name: str = self.manifest["metadata"]["name"]
        return name


class LoadedDefinitions(msgspec.Struct, frozen=True):
    """What was read, and by source how many objects of other kinds were left out."""

    found: tuple[Definition, ...] = ()
    left_out: dict[str, int] = {}


def read_definitions(sources: Iterable[str]) -> LoadedDefinitions:
    """All definitions of the sources, in their order; raises OperateError."""
    found: list[Definition] = []
    left_out: dict[str, int] = {}
    for source in dict.fromkeys(sources):
        if source in KNOWN:
            found += (Definition(each, source, own=True) for each in make_definitions(source))
            continue
        for path in _files(source):
            others, some = _read_file(path)
            found += some
            if others:
                left_out[str(path)] = others
    _check_unique(found)
    return LoadedDefinitions(tuple(found), left_out)


def _files(source: str) -> list[pathlib.Path]:
    path = pathlib.Path(source)
    if not path.exists():
        raise OperateError(
            f"{source!r} is neither a file or folder nor the name of a definition", f"names are {', '.join(KNOWN)}"
        )
    return files_of(path)


def _read_file(path: pathlib.Path) -> tuple[int, list[Definition]]:
    """How many other objects a file has, and its definitions."""
    others, found = 0, []
    for where, obj in read_objects(str(path), read_file(path)):
        if not isinstance(obj, dict) or not isinstance(obj.get("kind"), str):
            raise OperateError(f"{where} is not a Kubernetes object: it has no kind", "check that it is a manifest")
        if obj["kind"] != CUSTOMRESOURCEDEFINITIONS.kind:
            others += 1
            continue
        _check(where, obj)
        found.append(Definition(obj, where))
    if not found:
        raise OperateError(f"{path} has no CustomResourceDefinition", "name a file that has one")
    return others, found


def _check(where: str, obj: Manifest) -> None:
    """Raises for what the API server could only refuse without naming the file."""
    if obj.get("apiVersion") != CUSTOMRESOURCEDEFINITIONS.api_version:
        raise OperateError(
            f"{where}: CustomResourceDefinitions of {obj.get('apiVersion')!r} are not served",
            f"use a release of the project that has them as {CUSTOMRESOURCEDEFINITIONS.api_version}",
        )
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise OperateError(f"{where}: the CustomResourceDefinition has no metadata.name")


def _check_unique(found: list[Definition]) -> None:
    first: dict[str, Definition] = {}
    for each in found:
        other = first.setdefault(each.name, each)
        if other is not each:
            raise OperateError(
                f"{each.name} is defined twice: by {other.source} and by {each.source}", "name only one of them"
            )
