"""Whatever happens to a delegated Job, its status is legal, settles, and never takes an end back.

Stories assert on their own that every status return and every forwarded change is taken by the API server's rules.
"""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jobrelay.apimachinery.patch.merge import apply_merge_patch
from jobrelay.kinds.batch.job.status import broken_rules
from jobrelay.workloads import status_patch
from tests.kinds.workloads import is_finished

from .pairs import pairs
from .stories import ADAPTER, Pair, Story, as_object

Obj = dict[str, Any]
COUNTERS = ("succeeded", "failed")


def check(pair: Pair) -> Obj | None:
    original, mirror = as_object(pair.original), as_object(pair.mirror)
    status = ADAPTER.merged_status(original, mirror)
    for smaller in ADAPTER.reduced_statuses(original, mirror):
        assert broken_rules({**pair.original, "status": smaller}, pair.original) == []
    if status is None:
        return None
    old = pair.original["status"]
    new = {**pair.original, "status": status}
    assert not is_finished(pair.original)
    assert broken_rules(new, pair.original) == []
    assert ADAPTER.merged_status(as_object(new), mirror) is None
    assert apply_merge_patch(old, status_patch(old, status)) == status
    assert is_finished(new) or not is_finished(pair.mirror)
    assert not is_finished(new) or is_finished(pair.mirror) or announced(old)
    if started_anew(old, status) and not pair.original["spec"]["suspend"]:
        assert ADAPTER.reduced_statuses(original, mirror)[0]["startTime"] == old["startTime"]
    assert status.get("active", 0) in (0, pair.mirror["status"].get("active", 0))
    return status


def announced(status: Obj) -> bool:
    return any(one["type"] in ("FailureTarget", "SuccessCriteriaMet") for one in status.get("conditions", ()))


def started_anew(old: Obj, new: Obj) -> bool:
    """Older servers do not allow this, not even when a Job is resumed."""
    return "startTime" in old and old["startTime"] != new.get("startTime")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_every_story_is_told_by_the_rules(seed: int) -> None:
    Story(0, random.Random(seed), check).play(150)


def test_pairs_are_the_same_for_the_same_seed() -> None:
    assert list(pairs(20, seed=5)) == list(pairs(20, seed=5))
    assert list(pairs(20, seed=5)) != list(pairs(20, seed=6))


def test_pairs_reach_what_is_rare() -> None:
    """If stories get tamer, the property above proves less."""
    found = set()
    for pair in pairs(400, seed=1):
        old, seen = pair.original["status"], pair.mirror["status"]
        found |= {"fewer " + name for name in COUNTERS if seen.get(name, 0) < old.get(name, 0)}
        found |= {one["type"] for one in seen.get("conditions", ())}
        found |= {"another start"} if old.get("startTime", "") > seen.get("startTime", "") else set()
        found |= {"failed index"} if seen.get("failedIndexes") else set()
        found |= {"announced"} if any(one["type"] == "FailureTarget" for one in old.get("conditions", ())) else set()
    assert found >= {
        "fewer succeeded", "fewer failed", "another start", "failed index", "announced",
        "Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended",
    }  # fmt: skip
