"""Loggers of this package. An application configures structlog; until it does, warnings and errors go to stderr."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog


def get_logger(name: str) -> Any:
    if not structlog.is_configured():
        quiet = structlog.make_filtering_bound_logger(logging.WARNING)
        structlog.configure(wrapper_class=quiet, logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    return structlog.get_logger(name)
