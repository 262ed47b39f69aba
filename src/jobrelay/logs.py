"""Loggers of this package. An application configures structlog; until it does, warnings and errors go to stderr.

structlog is imported when something is logged: commands that log nothing, which are most, start faster without it.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
from typing import Any

__all__ = ["get_logger"]


def get_logger(name: str) -> Any:
    """A logger with the methods of structlog's."""
    return _Logger(name)


class _Logger:
    """Becomes structlog's logger when the first of its methods is looked up."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(self._real, attribute)

    @functools.cached_property
    def _real(self) -> Any:
        import structlog

        if not structlog.is_configured():
            plain = structlog.dev.plain_traceback  # the others show the values of variables
            colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
            renderer = structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=plain)
            structlog.configure(
                processors=[*structlog.get_config()["processors"][:-1], renderer],
                wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
                logger_factory=structlog.PrintLoggerFactory(sys.stderr),
            )
        return structlog.get_logger(self._name)
