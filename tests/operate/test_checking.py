"""What `check` makes of clocks and rights."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from jobrelay.kube import Client
from jobrelay.kube.fault_injection import FaultyTransport
from jobrelay.kube.resource import JOBS, NODES, PODS, SERVICEACCOUNTS
from jobrelay.operate.checking import _skew, _Worker
from jobrelay.operate.rights import Right, listed

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("off", "detail"),
    [(0, "as here"), (9, "as here"), (-9, "as here"), (60, "59 s ahead"), (-60, "59 s behind")],
)
def test_clocks_that_differ_are_told(off: float, detail: str) -> None:
    """The question took a second."""
    worker = _Worker("w", "o", Client(FaultyTransport(None)), ())  # type: ignore[arg-type]
    date = format_datetime(NOW + timedelta(seconds=off), usegmt=True)
    assert _skew(worker, date, NOW, NOW + timedelta(seconds=1)).detail == detail


@pytest.mark.parametrize("date", ["", "yesterday"])
def test_a_server_without_a_clock_is_told(date: str) -> None:
    worker = _Worker("w", "o", Client(FaultyTransport(None)), ())  # type: ignore[arg-type]
    assert _skew(worker, date, NOW, NOW).detail == "it does not tell its time"


def test_rights_are_told_together_by_what_they_are_about() -> None:
    rights = [
        Right("list", NODES),
        Right("create", JOBS, "a"),
        Right("get", JOBS, "a"),
        Right("get", PODS, "b", "log"),
        Right("create", SERVICEACCOUNTS, "home", "token", "us"),
    ]
    assert listed(rights) == (
        "list nodes; create, get jobs.batch in namespace a; get pods/log in namespace b; "
        "create serviceaccounts/token us in namespace home"
    )
