"""Two relays in one process share nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobrelay.kube import merge_patch
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import NAMESPACES
from jobrelay.relay.explain import Explanation
from jobrelay.relay.names import PLACEMENT, PREFERRED
from jobrelay.relay.workload_kind import WorkloadRef
from tests.relay.fleets import Fleet, fleet

POLICY = """
def choosy(demand, request, worker):
    if request.preferred:
        raise LookupError("no price list")
    return 1.0
"""


@pytest.fixture
def installed_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "choosy_policy.py").write_text(POLICY)
    about = tmp_path / "choosy_policy-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: choosy-policy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[jobrelay.placement]\nchoosy = choosy_policy:choosy\n")
    monkeypatch.syspath_prepend(tmp_path)


async def explained(it: Fleet, until: Callable[[Explanation], bool], **more: Any) -> Explanation:
    """Explain a suspended Job, again until the relay has read everything."""
    await it.submit(suspend=True, **more)
    relay = it.relay
    assert relay is not None

    async def found() -> Explanation | None:
        explanation = relay.explain(WorkloadRef("jobs.batch", Key("default", "train")))
        return explanation if explanation is not None and until(explanation) else None

    explanation: Explanation = await it.until(found)
    return explanation


def _uses_choosy(explanation: Explanation) -> bool:
    return any(part["policy"] == "choosy" for worker in explanation.workers for part in worker.parts)


@pytest.mark.usefixtures("installed_policy")
async def test_a_policy_that_one_relay_has_disabled_still_works_in_another() -> None:
    async with fleet(1) as first, fleet(1) as second:
        for it in (first, second):
            policy = merge_patch({"metadata": {"annotations": {PLACEMENT: "choosy"}}})
            await it.client.patch(NAMESPACES, "default", policy)
        disabled = await explained(first, lambda it: bool(it.problems), annotations={PREFERRED: "worker-1"})
        assert disabled.problems == ("placement policy choosy is disabled: it raised LookupError: no price list",)
        works = await explained(second, _uses_choosy)
        assert works.problems == ()
