"""What is asked of each manager: one YAML file in `managers/` declares one of them."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

Obj = dict[str, Any]

FOLDER: Final = pathlib.Path(__file__).with_name("managers")
ORDER: Final = (
    "jobset", "kueue", "mpi-operator", "kuberay", "training-operator", "trainer", "appwrapper", "tekton",
)  # fmt: skip
"""By how much depends on them: the first are built first."""


@dataclass(frozen=True)
class Manager:
    """A manager and the steps that it is taken through.

    `adopters` are the programs to start, in this order, and `programs` their binaries. `setup` is created first, then
    `good`, which is waited for until it `contains` what `end` says; then `bad`, which must be refused. `varying` are
    patterns of what differs between runs, with what is shown instead.
    """

    name: str
    adopters: tuple[str, ...]
    programs: Mapping[str, tuple[str, ...]]
    good: Obj
    end: Obj
    bad: Obj
    refusal: Obj
    setup: tuple[Obj, ...] = ()
    varying: Mapping[str, str] = field(default_factory=dict)


def load(name: str) -> Manager:
    found = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    programs = {adopter: tuple(each) for adopter, each in found.pop("programs").items()}
    setup = tuple(found.pop("setup", ()))
    return Manager(name=name, adopters=tuple(programs), programs=programs, setup=setup, **found)


def contains(found: Any, wanted: Any) -> bool:
    """Whether a value has all that another has: every key of a mapping, and for each item of a list one like it."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and contains(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return isinstance(found, list) and all(any(contains(each, one) for each in found) for one in wanted)
    return bool(found == wanted)
