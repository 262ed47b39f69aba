"""Who uses the package as a library is told of warnings on stderr, and of nothing on stdout."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
from jobrelay.logs import get_logger
log = get_logger("x")
log.info("quiet")
log.warning("loud")
import structlog
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(0))
log.info("configured")
"""


def test_without_configuration_only_warnings_are_printed() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert "loud" in done.stderr
    assert "quiet" not in done.stdout + done.stderr
    assert done.stdout == ""
    assert "configured" in done.stderr
