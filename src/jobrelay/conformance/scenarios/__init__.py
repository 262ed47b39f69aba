"""All scenarios, in the order of their levels."""

from __future__ import annotations

from typing import Final

from jobrelay.conformance.scenario import Scenario

from . import observing, policies, running

__all__ = ["SCENARIOS"]

SCENARIOS: Final[tuple[Scenario, ...]] = (*observing.SCENARIOS, *running.SCENARIOS, *policies.SCENARIOS)
