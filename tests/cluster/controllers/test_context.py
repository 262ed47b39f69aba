"""What controllers and nodes share."""

from __future__ import annotations

import pathlib
from random import Random

import pytest

from jobrelay.cluster.controllers.catalog import API_CONTROLLERS
from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.cluster.node import NodePool, NodeSettings, RuntimeName
from jobrelay.control import ControllerContext
from jobrelay.kube import backoff, cache
from jobrelay.kube.events import recorder


@pytest.mark.parametrize("runtime", ["scripted", "process"])
async def test_controllers_and_nodes_make_no_randomness_of_their_own(
    runtime: RuntimeName, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def own() -> Random:
        made.append("one more")
        return Random()

    for module in (backoff, cache, recorder):
        monkeypatch.setattr(module, "Random", own)
    context = ControllerContext(InProcessTransport(lambda: None, None), random=Random(1))
    for set_up in API_CONTROLLERS.values():
        set_up(context)
    NodePool(context, NodeSettings(runtime=runtime, folder=tmp_path))
    assert made == []
