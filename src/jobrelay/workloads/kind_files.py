"""Descriptions of kinds that an operator hands to the relay: in files, and in ConfigMaps of its namespace.

A file that cannot be used is an error, since it was named on purpose. A ConfigMap that cannot be used must not take
the relay down with it: it is left out, and what is wrong with it is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from jobrelay.kube import Object, ProtocolError
from jobrelay.kube.objects import Key
from jobrelay.workloads.declared import DescriptionError, KindDescription, decode_description

KIND_FILE: Final = "jobrelay.dev/kind-file"
"""The label of ConfigMaps whose values are descriptions of kinds, with the value "true"."""


class GivenKind(NamedTuple):
    """A description, and where it comes from."""

    source: str
    description: KindDescription
    config_map: Key | None = None
    """The ConfigMap that has it; None for a file."""


class KindProblem(NamedTuple):
    """Why a description cannot be used, and the ConfigMap that has it."""

    config_map: Key | None
    message: str


class GivenKinds(NamedTuple):
    """The descriptions that can be used, and what is wrong with the others."""

    kinds: tuple[GivenKind, ...]
    problems: tuple[KindProblem, ...] = ()


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


def read_kind_file(path: Path) -> GivenKind:
    """The description in a file. Raises DescriptionError."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise DescriptionError(f"{path}: {error.strerror}") from None
    return GivenKind(str(path), decode_description(text, str(path)))


def read_config_maps(config_maps: Iterable[Object]) -> GivenKinds:
    """The descriptions in ConfigMaps, in the order of their names."""
    kinds: list[GivenKind] = []
    problems: list[KindProblem] = []
    for one in sorted(config_maps, key=lambda each: each.key):
        try:
            data = one.decode(_ConfigMap).data or {}
        except ProtocolError as error:
            problems.append(KindProblem(one.key, f"ConfigMap {error}"))
            continue
        for key in sorted(data):
            source = f"ConfigMap {one.key}, {key}"
            try:
                kinds.append(GivenKind(source, decode_description(data[key], source), one.key))
            except DescriptionError as error:
                problems.append(KindProblem(one.key, str(error)))
    return GivenKinds(tuple(kinds), tuple(problems))
