"""The registration of a worker as a value: how to reach it, and what an operator has set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from jobrelay.apimachinery.names import is_dns1123_label
from jobrelay.kube import Connection
from jobrelay.relay.model import State
from jobrelay.relay.names import COST, NAMESPACES, STATE, WEIGHT


@dataclass(frozen=True, slots=True)
class UsableKubeconfig:
    """How to reach a worker. Two are equal if their digests are; `digest` covers all of the kubeconfig."""

    connection: Connection = field(compare=False)
    digest: str
    files: tuple[Path, ...] = field(default=(), compare=False)
    """The files it was read from."""


@dataclass(frozen=True, slots=True)
class RejectedKubeconfig:
    """Why a worker is not connected to: a reason for machines, and a message."""

    reason: str
    message: str


Access: TypeAlias = UsableKubeconfig | RejectedKubeconfig


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """One registered worker."""

    name: str
    access: Access
    order: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    state: State = State.OPEN
    cost: Fraction = Fraction(0)
    weight: Fraction = Fraction(1)
    remarks: tuple[str, ...] = ()
    """Which annotations are invalid, and what is assumed instead."""
    namespaces: tuple[str, ...] = ()
    """The only namespaces that it serves; all if empty."""


def parse_worker_annotations(annotations: Mapping[str, str]) -> tuple[State, Fraction, Fraction, tuple[str, ...]]:
    """State, cost and weight from annotations, and remarks on invalid ones.

    An unknown state was meant to restrict the worker, so it counts as cordoned.
    """
    remarks: list[str] = []
    text = annotations.get(STATE, State.OPEN).strip()
    try:
        state = State(text)
    except ValueError:
        state = State.CORDONED
        remarks.append(f"{STATE} is {text!r}, not one of {', '.join(State)}: taken as {state}")
    cost = _number(annotations, COST, Fraction(0), remarks)
    weight = _number(annotations, WEIGHT, Fraction(1), remarks)
    return state, cost, weight, tuple(remarks)


def served_namespaces(annotations: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The namespaces that a worker is restricted to, and remarks on invalid ones."""
    names = dict.fromkeys(name for part in annotations.get(NAMESPACES, "").split(",") if (name := part.strip()))
    good = tuple(name for name in names if not is_dns1123_label(name))
    bad = [name for name in names if name not in good]
    return good, (f"{NAMESPACES} names {bad[0][:40]!r}, which is no namespace",) if bad else ()


def _number(annotations: Mapping[str, str], name: str, default: Fraction, remarks: list[str]) -> Fraction:
    text = annotations.get(name, "").strip()
    if not text:
        return default
    try:
        number = Fraction(text) if len(text) <= 32 and "e" not in text.lower() else None
    except (ValueError, ZeroDivisionError):
        number = None
    if number is None or number < 0:
        remarks.append(f"{name} is {text[:40]!r}, not a number from 0 on: taken as {default}")
        return default
    return number
