"""The real control plane that the lane compares with: one for all of its tests."""

from __future__ import annotations

import os

import pytest

from tests.real.clusters import Planes


@pytest.fixture(scope="session")
def real_address(request: pytest.FixtureRequest) -> str:
    """`URL/TOKEN` of the server named in JOBRELAY_ORACLE, or of one started for the tests."""
    if address := os.environ.get("JOBRELAY_ORACLE"):
        return address.replace(",", "/").replace(" ", "")
    planes: Planes = request.getfixturevalue("planes")
    return planes.get(["oracle"])[0].address
