"""Logs: short lines on stderr, and tracebacks without the values of variables."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from .command import ENVIRONMENT

SCRIPT = """
import logging
import structlog
from jobrelay.cli.logging_setup import configure_logging

configure_logging("{level}", "{form}")
log = structlog.get_logger("test")
log.debug("a detail")
log.info("a fact", name="dev")
logging.getLogger("library").warning("a %s of a library", "warning")
logging.getLogger("others").info("nothing to us")
secret = "tell nobody"
try:
    1 / 0
except ZeroDivisionError:
    log.exception("a failure")
"""


def logged(form: str, *, verbose: bool = False) -> str:
    """What a small program logs; nothing of it is on stdout."""
    script = SCRIPT.format(level="debug" if verbose else "info", form=form)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert done.stdout == ""
    return done.stderr


def test_a_line_is_plain_text() -> None:
    first = logged("text").splitlines()[0]
    assert first.endswith("a fact name=dev")
    assert "\033" not in first


def test_json_is_one_object_in_a_line() -> None:
    fact, library, failure = map(json.loads, logged("json").splitlines())
    assert (fact["event"], fact["name"], fact["level"]) == ("a fact", "dev", "info")
    assert (library["event"], library["level"]) == ("a warning of a library", "warning")
    assert failure["exception"].endswith("ZeroDivisionError: division by zero")


@pytest.mark.parametrize("form", ["text", "json"])
def test_tracebacks_show_no_values(form: str) -> None:
    shown = logged(form)
    assert "ZeroDivisionError" in shown
    assert "tell nobody" not in shown.replace('secret = "tell nobody"', "")


@pytest.mark.parametrize("verbose", [True, False])
def test_details_are_for_those_who_ask(verbose: bool) -> None:
    assert ("a detail" in logged("text", verbose=verbose)) is verbose


def test_a_program_that_sets_up_nothing_gets_warnings_and_plain_tracebacks() -> None:
    script = SCRIPT.replace('configure_logging("{level}", "{form}")\n', "").replace(
        'structlog.get_logger("test")', 'jobrelay.logs.get_logger("test")'
    )
    command = [sys.executable, "-c", f"import jobrelay.logs\n{script}"]
    shown = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=True).stderr
    assert "a fact" not in shown
    assert "ZeroDivisionError" in shown
    assert "tell nobody" not in shown
