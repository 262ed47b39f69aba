"""For all tests: property tests try the same examples on every machine, however slow it is.

`set_event_loop(None)` keeps asyncio from making a loop when it is merely asked for one: the pytest plugin asks, and never closes
what it gets.

`planes` are real clusters for all tests of a session.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.real.clusters import Planes


asyncio.set_event_loop(None)
settings.register_profile("jobrelay", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("jobrelay")


@pytest.fixture(scope="session")
def planes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planes]:
    """Starts real clusters when a test asks for them; all end with the session."""
    from tests.real.clusters import Planes

    with contextlib.ExitStack() as stack:
        yield Planes(stack, tmp_path_factory.mktemp("real"))
