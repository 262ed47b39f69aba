"""`kubectl relay`: the command as a plugin of kubectl."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from .kubectl import Kubectl

pytestmark = pytest.mark.kubectl


def test_kubectl_finds_the_plugin(kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    shown = subprocess.run(["kubectl", "relay", "--help"], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("Usage: jobrelay [OPTIONS] COMMAND")
