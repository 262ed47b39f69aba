"""The real control plane that the lane compares with: one for all of its tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from .control_plane import ControlPlane, binaries


@pytest.fixture(scope="session")
def real_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`URL/TOKEN` of the server named in JOBRELAY_ORACLE, or of one started from binaries."""
    if address := os.environ.get("JOBRELAY_ORACLE"):
        yield address.replace(",", "/").replace(" ", "")
        return
    programs = binaries()
    if programs is None:
        pytest.skip(
            "no real control plane: set JOBRELAY_ORACLE=URL/TOKEN, or KUBEBUILDER_ASSETS to a folder with its binaries"
        )
    with ControlPlane(programs, tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane.address
