"""Kueue's configuration file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobrelay.queueing.configuration import ConfigurationError, parse_configuration, read_configuration


def parsed(**fields: Any) -> Any:
    return parse_configuration({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **fields})


def test_settings_of_kueues_process_are_accepted() -> None:
    found = parsed(
        health={"healthProbeBindAddress": ":8081"}, leaderElection={"leaderElect": True}, webhook={"port": 1}
    )
    assert found.core().fair_sharing is None
    assert found.frameworks is None


def test_what_changes_admission_reaches_the_core() -> None:
    strategy = {"backoffLimitCount": 2, "timestamp": "Creation"}
    ready = {"timeout": "5m", "blockAdmission": True, "requeuingStrategy": strategy}
    config = parsed(fairSharing={"preemptionStrategies": ["LessThanInitialShare"]}, waitForPodsReady=ready).core()
    assert config.fair_sharing is not None
    assert config.fair_sharing.strategies == ("LessThanInitialShare",)
    found = config.wait_for_pods_ready
    assert (found.timeout, found.block_admission, found.backoff_limit, found.timestamp) == (300, True, 2, "Creation")


def test_pods_may_take_for_ever_where_that_is_switched_off() -> None:
    assert parsed(waitForPodsReady={"enable": False}).core().wait_for_pods_ready.timeout == float("inf")


@pytest.mark.parametrize(
    ("fields", "message", "hint"),
    [
        ({"fairSharin": {}}, "unknown field `fairSharin`", "did you mean fairSharing?"),
        ({"waitForPodsReady": {"timout": "5m"}}, "unknown field `timout`", "did you mean timeout?"),
        ({"waitForPodsReady": {"timeout": "5 minutes"}}, "waitForPodsReady.timeout", "such as 5m"),
        ({"objectRetentionPolicies": {}}, "objectRetentionPolicies is not supported", "remove it"),
        ({"kind": "Deployment"}, "not a Configuration", "kind: Configuration"),
        ({"apiVersion": "config.kueue.x-k8s.io/v1"}, "is not known", "v1beta2"),
    ],
)
def test_what_is_not_known_is_an_error_with_a_hint(fields: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as raised:
        parsed(**fields)
    assert hint in raised.value.hint


def test_a_file_is_named_in_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "kueue.yaml"
    path.write_text("kind: Nothing\n")
    with pytest.raises(ConfigurationError, match=str(path)):
        read_configuration(path)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_configuration(tmp_path / "missing.yaml")
