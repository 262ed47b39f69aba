"""For all tests: property tests try the same examples on every machine, however slow it is.

`set_event_loop(None)` keeps asyncio from making a loop when it is merely asked for one: the pytest plugin asks, and never closes
what it gets.
"""

from __future__ import annotations

import asyncio

from hypothesis import HealthCheck, settings

asyncio.set_event_loop(None)
settings.register_profile("jobrelay", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("jobrelay")
