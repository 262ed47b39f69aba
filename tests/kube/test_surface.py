from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jobrelay.kube


def test_all_names_exist_once() -> None:
    names = jobrelay.kube.__all__
    assert all(hasattr(jobrelay.kube, name) for name in names)
    assert len(set(names)) == len(names)


def test_importing_does_not_load_the_http_library() -> None:
    source = str(Path(jobrelay.kube.__file__).parents[2])
    script = "import sys, jobrelay.kube; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False, env={"PYTHONPATH": source}).returncode == 0
