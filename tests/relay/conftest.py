from __future__ import annotations

import pytest

from tests.real import KINDS_OF_CLUSTERS
from tests.relay import fleets


@pytest.fixture(params=KINDS_OF_CLUSTERS)
def fleet(request: pytest.FixtureRequest) -> fleets.MakeFleet:
    """How to make a fleet, of embedded clusters and, in a lane of their own, of real ones."""
    if request.param == "embedded":
        return fleets.fleet
    from tests.real.fleet import RealFleets

    return RealFleets(request.getfixturevalue("planes")).fleet
