"""How `check` reports clocks and permissions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from jobrelay.kube import Client
from jobrelay.kube.fault_injection import FaultyTransport
from jobrelay.kube.resource import JOBS, NODES, PODS, SERVICEACCOUNTS
from jobrelay.operate.checking import _skew
from jobrelay.operate.findings import CheckedWorker
from jobrelay.operate.permissions import Permission, describe_permissions

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
IN_STEP = "in step with this machine"


@pytest.mark.parametrize(
    ("off", "detail"), [(0, IN_STEP), (9, IN_STEP), (-9, IN_STEP), (60, "59 s ahead"), (-60, "59 s behind")]
)
def test_clocks_that_differ_are_reported(off: float, detail: str) -> None:
    """The request took a second."""
    worker = CheckedWorker("w", "o", Client(FaultyTransport(None)), ())  # type: ignore[arg-type]
    date = format_datetime(NOW + timedelta(seconds=off), usegmt=True)
    assert _skew(worker, date, NOW, NOW + timedelta(seconds=1)).detail == detail


@pytest.mark.parametrize("date", ["", "yesterday"])
def test_a_missing_date_header_is_reported(date: str) -> None:
    worker = CheckedWorker("w", "o", Client(FaultyTransport(None)), ())  # type: ignore[arg-type]
    assert _skew(worker, date, NOW, NOW).detail == "its answers have no valid Date header"


def test_permissions_are_grouped_by_what_they_apply_to() -> None:
    permissions = [
        Permission("list", NODES),
        Permission("create", JOBS, "a"),
        Permission("get", JOBS, "a"),
        Permission("get", PODS, "b", "log"),
        Permission("create", SERVICEACCOUNTS, "home", "token", "us"),
    ]
    assert describe_permissions(permissions) == (
        "list nodes; create, get jobs.batch in namespace a; get pods/log in namespace b; "
        "create serviceaccounts/token us in namespace home"
    )
