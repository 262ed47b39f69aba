from __future__ import annotations

import pytest

from jobrelay.relay.placement import DEFAULT_POLICY, PolicyError, parse_policy


def weights(text: str) -> dict[str, float]:
    return {one.name: one.weight for one in parse_policy(text).scores}


def test_scores_and_weights() -> None:
    found = weights("fit, least-loaded*2 ,cost * 0.5")
    assert found == {"preferred": 100, "sticky": 10, "least-loaded": 2, "cost": 0.5}


@pytest.mark.parametrize("text", ["", "  ", DEFAULT_POLICY])
def test_nothing_said_is_the_default(text: str) -> None:
    assert weights(text) == {"preferred": 100, "sticky": 10, "least-loaded": 1, "affinity": 1}


@pytest.mark.parametrize(
    ("text", "waits"), [("fit", True), ("cost", True), ("overflow", False), ("pack,overflow", False)]
)
def test_only_overflow_keeps_it_from_waiting(text: str, waits: bool) -> None:
    assert parse_policy(text).waits is waits


def test_what_every_policy_has_may_be_changed() -> None:
    assert weights("cost,preferred*0,sticky*1") == {"sticky": 1, "cost": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "lest-loaded",
            "there is no placement policy 'lest-loaded', did you mean least-loaded? Known: affinity, cost, ",
        ),
        ("cost,,spread", "a placement policy has no name. Known: "),
        ("zzz", "there is no placement policy 'zzz'. Known: "),
        ("cost*x", "a weight is a number that is not negative, as in least-loaded*2: 'cost*x'"),
        ("cost*-1", "a weight is a number that is not negative"),
        ("cost*nan", "a weight is a number that is not negative"),
        ("cost*inf", "a weight is a number that is not negative"),
        ("cost*", "a weight is a number that is not negative"),
        ("cost,cost*2", "placement policy cost is named twice in 'cost,cost*2'"),
        ("fit*2", "placement policy fit is no score and has no weight: 'fit*2'"),
        ("fit,overflow", "placement policies fit and overflow exclude each other"),
    ],
)
def test_what_is_no_policy_says_why(text: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert str(caught.value).startswith(message)
