"""A token bucket, the rate limit that client-go and the API server use everywhere."""

from __future__ import annotations

__all__ = ["TokenBucket"]

_ROUNDING = 1e-9


class TokenBucket:
    """Allows `rate` events a second on average, and up to `burst` at once. Times are monotonic seconds."""

    __slots__ = ("_burst", "_filled_at", "_rate", "_tokens")

    def __init__(self, rate: float, burst: float, now: float = 0.0) -> None:
        self._rate, self._burst = rate, burst
        self._tokens, self._filled_at = burst, now

    def take(self, now: float) -> bool:
        """Take a token, if there is one."""
        self._fill(now)
        if self._tokens < 1 - _ROUNDING:
            return False
        self._tokens -= 1
        return True

    def wait(self, now: float) -> float:
        """Seconds until there will be a token."""
        self._fill(now)
        return max(0.0, 1 - self._tokens) / self._rate

    def _fill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
