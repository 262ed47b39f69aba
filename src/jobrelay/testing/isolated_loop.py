"""Running a coroutine to its end wherever the caller is: in plain code, or under a running event loop.

It gets a thread with a loop of its own, so that the loop of the tests, if they have one, is neither used nor replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["run_isolated"]

T = TypeVar("T")


def run_isolated(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns or raises."""
    with ThreadPoolExecutor(1, thread_name_prefix="jobrelay") as pool:
        return pool.submit(asyncio.run, work).result()
