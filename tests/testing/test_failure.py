"""What is shown of logs that many tests share, and the names of their namespaces."""

from __future__ import annotations

import pathlib
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.names import is_dns1123_label
from jobrelay.fleet.errors import FleetError
from jobrelay.testing.child import ChildCommand
from jobrelay.testing.failure import FailureReport
from jobrelay.testing.session import SessionClusters


class DeadCommand:
    def check(self) -> None:
        raise FleetError("it has exited")


def clusters(log: pathlib.Path | None = None, kubeconfigs: dict[str, pathlib.Path] | None = None) -> SessionClusters:
    return SessionClusters(cast("ChildCommand", DeadCommand()), kubeconfigs or {}, {"relay": log} if log else {})


def sections(report: FailureReport) -> dict[str, Any]:
    return dict(report.sections())


def test_only_what_was_logged_since_is_shown(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    report = FailureReport(clusters(log), "ns")
    log.write_text("before\nafter\n")
    assert sections(report) == {"jobrelay: log of relay": "after"}


def test_nothing_is_shown_of_a_silent_log(tmp_path: pathlib.Path) -> None:
    assert sections(FailureReport(clusters(tmp_path / "none"), "ns")) == {}


def test_of_a_long_log_the_end_is_shown(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    report = FailureReport(clusters(log), "ns")
    log.write_text("".join(f"{number}\n" for number in range(100)))
    first, *rest = sections(report)["jobrelay: log of relay"].splitlines()
    assert first == f"... 60 lines before these are in {log}"
    assert rest == [str(number) for number in range(60, 100)]


def test_a_cluster_that_has_exited_is_said_in_place_of_its_events(tmp_path: pathlib.Path) -> None:
    shown = sections(FailureReport(clusters(kubeconfigs={"a": tmp_path / "a"}), "ns"))
    assert shown == {"jobrelay: events in ns on a": "they cannot be read: it has exited"}


@given(st.text())
def test_every_test_gets_a_valid_namespace_of_its_own(test: str) -> None:
    session = clusters()
    first, second = session.namespace_for(test), session.namespace_for(test)
    assert first != second
    assert not is_dns1123_label(first)


def test_a_namespace_tells_whose_it_is() -> None:
    assert clusters().namespace_for("test_get[a/B]") == "test-get-a-b-1"


def test_a_command_that_fails_says_so_with_its_log(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FleetError, match=r"(?s)`jobrelay nonsense` exited with code 2; .*No such command"):
        ChildCommand(["nonsense"], "ready", tmp_path / "log")
