from __future__ import annotations

import pytest

from jobrelay.kube import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()
