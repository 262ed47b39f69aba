from __future__ import annotations

from jobrelay.kube.ratelimit import TokenBucket


def test_a_burst_is_allowed_and_then_the_rate() -> None:
    bucket = TokenBucket(2.0, 3, now=10.0)
    assert [bucket.take(10.0) for _ in range(4)] == [True, True, True, False]
    assert bucket.wait(10.0) == 0.5
    assert [bucket.take(10.5), bucket.take(10.5)] == [True, False]


def test_idle_time_fills_no_more_than_the_burst() -> None:
    bucket = TokenBucket(1.0, 2)
    assert [bucket.take(1000.0) for _ in range(3)] == [True, True, False]


def test_a_token_is_there_after_the_wait_whatever_rounding_does() -> None:
    bucket, now = TokenBucket(3.0, 1), 0.1
    for _ in range(1000):
        assert bucket.take(now)
        now += bucket.wait(now)
