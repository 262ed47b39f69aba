"""Policies from other packages: how they are found, and how they are disabled."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from jobrelay.relay.model import WorkerFacts
from jobrelay.relay.placement import (
    Placement,
    PlacementRequest,
    Placer,
    PluginScore,
    PolicyError,
    PolicyPlugins,
    Rejection,
    parse_policy,
)

from .making import demand, node, pods, worker

NOW = [0.0]
CALLS: list[str] = []


def by_name(demand: Any, request: PlacementRequest, worker: WorkerFacts) -> float:
    CALLS.append(worker.name)
    return 1.0 if worker.name == "b" else 0.0


def not_a(demand: Any, request: PlacementRequest, worker: WorkerFacts) -> float | Rejection:
    return Rejection("it is called a", "another name") if worker.name == "a" else 0.0


def failing(demand: Any, request: PlacementRequest, worker: WorkerFacts) -> float:
    raise LookupError("no price list")


def slow(demand: Any, request: PlacementRequest, worker: WorkerFacts) -> float:
    NOW[0] += 0.030
    return 1.0


def talkative(demand: Any, request: PlacementRequest, worker: WorkerFacts) -> Any:
    return "the best"


def plugins(**functions: str) -> PolicyPlugins:
    points = [EntryPoint(name.replace("_", "-"), target, "jobrelay.placement") for name, target in functions.items()]
    return PolicyPlugins(points, lambda: NOW[0])


def here(function: Callable[..., Any]) -> PolicyPlugins:
    return plugins(mine=f"{__name__}:{function.__name__}")


def placed(installed: PolicyPlugins, policy: str = "ordered,mine*2") -> Placement:
    workers = worker("a", node()), worker("b", node())
    placer = Placer(installed)
    return placer.place(demand(pods()), PlacementRequest(), workers, placer.parse(policy))


def test_a_plugin_takes_part_in_the_score() -> None:
    found = placed(here(by_name))
    assert (found.chosen, found.problems) == ("b", ())
    assert found.verdicts[1].parts[0] == PluginScore("mine", raw=1.0, weight=2.0)


def test_a_plugin_may_refuse_a_worker() -> None:
    found = placed(here(not_a))
    first = found.verdicts[0]
    assert (found.chosen, first.sentence, first.would_change) == ("b", "it is called a", "another name")


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        (failing, "it raised LookupError: no price list"),
        (slow, "it took 60 ms, more than 50 ms"),
        (talkative, "it returned 'the best', which is neither a number nor a Rejection"),
    ],
)
def test_a_plugin_that_misbehaves_is_disabled_and_named(function: Callable[..., Any], cause: str) -> None:
    found = placed(here(function))
    assert found.chosen == "a"
    assert found.problems == (f"placement policy mine is disabled: {cause}",)


def test_a_plugin_is_disabled_for_good() -> None:
    installed = here(failing)
    placed(installed)
    again = placed(installed, policy="mine")
    assert again.problems == ("placement policy mine is disabled: it raised LookupError: no price list",)


def test_a_plugin_that_cannot_be_loaded_is_disabled() -> None:
    found = placed(plugins(mine="jobrelay.no_such_module:policy"))
    assert found.problems == (
        "placement policy mine is disabled: it cannot be loaded: No module named 'jobrelay.no_such_module'",
    )


def test_reading_a_verdict_does_not_call_a_plugin_again() -> None:
    CALLS.clear()
    found = placed(here(by_name))
    assert len(found.verdicts) == 2
    assert CALLS == ["a", "b"]


def test_plugins_are_known_by_name() -> None:
    with pytest.raises(PolicyError, match=r"did you mean my-price\?"):
        parse_policy("my-pric", plugins(my_price=f"{__name__}:by_name"))


def test_an_installed_package_brings_its_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mild_policies.py").write_text("def mild(demand, request, worker):\n    return worker.name == 'b'\n")
    about = tmp_path / "mild_policies-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mild-policies\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[jobrelay.placement]\nmild = mild_policies:mild\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert placed(PolicyPlugins(), "ordered,mild*2").chosen == "b"
