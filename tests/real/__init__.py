"""Real clusters. A suite that runs on both kinds takes its parameters from here; the real one has a lane of its own."""

from __future__ import annotations

from typing import Final

import pytest

KINDS_OF_CLUSTERS: Final = ("embedded", pytest.param("real", marks=pytest.mark.real))
