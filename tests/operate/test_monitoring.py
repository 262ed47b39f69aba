"""The files in deploy/monitoring ask for metrics, labels and objects that exist."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest

from jobrelay.apimachinery import yaml
from jobrelay.operate.management import Installation, management_manifests
from jobrelay.relay.metrics import RelayMetrics

FOLDER = pathlib.Path(__file__).parents[2] / "deploy" / "monitoring"
_METRIC = re.compile(r"\bjobrelay_[a-z_]+")
_SELECTION = re.compile(r"\b(jobrelay_[a-z_]+)\{([^}]*)\}")
_SUFFIXES = ("_total", "_bucket", "_count", "_sum")


def load(name: str) -> Any:
    return yaml.load((FOLDER / name).read_text())


def expressions() -> list[str]:
    """Every expression of the dashboard and of the alerts."""
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    rules = [rule for group in load("alerts.yaml")["spec"]["groups"] for rule in group["rules"]]
    return [target["expr"] for panel in panels for target in panel["targets"]] + [rule["expr"] for rule in rules]


def labels_by_metric() -> dict[str, set[str]]:
    metrics = [each for each in vars(RelayMetrics()).values() if hasattr(each, "_labelnames")]
    return {each._name: set(each._labelnames) for each in metrics}


def base(name: str) -> str:
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)


@pytest.mark.parametrize("expression", expressions())
def test_every_metric_that_is_asked_for_exists(expression: str) -> None:
    assert {base(name) for name in _METRIC.findall(expression)} <= labels_by_metric().keys()


@pytest.mark.parametrize("expression", expressions())
def test_every_label_that_is_selected_exists(expression: str) -> None:
    known = labels_by_metric()
    for name, selection in _SELECTION.findall(expression):
        assert set(re.findall(r"(\w+)(?==|!)", selection)) <= known[base(name)]


def test_the_service_of_the_installation_is_scraped() -> None:
    monitor = load("servicemonitor.yaml")
    services = [
        each for each in management_manifests(Installation("jobrelay-system", "image")) if each["kind"] == "Service"
    ]
    wanted, port = monitor["spec"]["selector"]["matchLabels"], monitor["spec"]["endpoints"][0]["port"]
    chosen = [each for each in services if wanted.items() <= each["metadata"]["labels"].items()]
    assert [each["metadata"]["name"] for each in chosen if each["spec"]["ports"][0]["name"] == port] == [
        "jobrelay-metrics"
    ]


def test_panels_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]]
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
