"""The tests of processes once more, as a user without rights: mounts come from user namespaces then, or there are none.

The user may read everything, because a clone or its interpreter may be in a folder that only root can enter.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

HERE = pathlib.Path(__file__).parent
USER = 65534
BECOME = [
    "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups",
    "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
]  # fmt: skip

pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else; the other tests run unprivileged"),
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv (of util-linux) is missing"),
]


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A folder of that user's, reachable by everybody."""
    made = pathlib.Path("/tmp") / f"jobrelay-unprivileged-{os.getpid()}"
    made.mkdir()
    os.chown(made, USER, USER)
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize(
    "tests", ["test_process.py", "test_process_volumes.py", "test_process_end.py", "test_process_confinement.py"]
)
def test_pods_run_for_a_user_without_rights(folder: pathlib.Path, tests: str) -> None:
    can = subprocess.run([*BECOME, sys.executable, "-c", "import jobrelay.cluster"], capture_output=True, text=True)
    if can.returncode != 0:
        pytest.skip(f"an unprivileged user cannot run this interpreter: {can.stderr.strip()[-200:]}")
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={folder}/base"]
    done = subprocess.run(
        [*BECOME, sys.executable, "-m", "pytest", *options, str(HERE / tests)],
        cwd=HERE.parents[2], env=os.environ | {"HOME": str(folder), "TMPDIR": str(folder)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
