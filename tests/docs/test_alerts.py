"""The page about alerts has every alert and no metric that does not exist."""

from __future__ import annotations

import re

from jobrelay.apimachinery import yaml
from jobrelay.relay.metrics import RelayMetrics
from tests.cli.command import ROOT

PAGE = (ROOT / "docs" / "guides" / "alerts.md").read_text()


def test_every_alert_is_described() -> None:
    groups = yaml.load((ROOT / "deploy" / "monitoring" / "alerts.yaml").read_text())["spec"]["groups"]
    rules = {rule["alert"] for group in groups for rule in group["rules"]}
    assert rules == set(re.findall(r"^\| (Jobrelay\w+) \|", PAGE, re.MULTILINE))


def test_metrics_exist() -> None:
    known = {each._name for each in vars(RelayMetrics()).values() if hasattr(each, "_name")}
    named = {name.removesuffix("_total") for name in re.findall(r"`(jobrelay_[a-z_]+)", PAGE)}
    assert named <= known
