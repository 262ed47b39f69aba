"""What an operator says about a worker, as a value: where it is, and what is wanted of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from jobrelay.kube import Connection
from jobrelay.relay.model import State
from jobrelay.relay.names import COST, STATE, WEIGHT

__all__ = ["Access", "Refused", "Way", "WorkerSpec", "wishes"]


@dataclass(frozen=True, slots=True)
class Way:
    """How to reach a worker. Equal digests are the same way; `digest` covers all that the kubeconfig says."""

    connection: Connection = field(compare=False)
    digest: str
    files: tuple[Path, ...] = field(default=(), compare=False)
    """What it was read from."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a worker is not even tried: a reason for machines, and a message."""

    reason: str
    message: str


Access: TypeAlias = Way | Refused


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """One worker as registered."""

    name: str
    access: Access
    order: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    state: State = State.OPEN
    cost: Fraction = Fraction(0)
    weight: Fraction = Fraction(1)
    remarks: tuple[str, ...] = ()
    """What of the above could not be understood."""


def wishes(annotations: Mapping[str, str]) -> tuple[State, Fraction, Fraction, tuple[str, ...]]:
    """State, cost and weight as annotated, and remarks on what makes no sense.

    A state that nobody knows was meant to restrict the worker, so it takes nothing new until that is mended.
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
