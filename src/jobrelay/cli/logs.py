"""Logs on stderr: one short line each, and tracebacks without the values of variables."""

from __future__ import annotations

import logging
import sys

import structlog


def configure_logs(verbose: bool, form: str) -> None:
    """`form` is "text" or "json"; `verbose` shows the details too."""
    level = logging.DEBUG if verbose else logging.INFO
    structlog.configure(
        processors=[structlog.processors.add_log_level, *_renderers(form)],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")


def _renderers(form: str) -> list[structlog.typing.Processor]:
    if form == "json":
        stamp = structlog.processors.TimeStamper(fmt="iso")
        return [stamp, structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    stamp = structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False)
    plain = structlog.dev.plain_traceback
    return [stamp, structlog.dev.ConsoleRenderer(0, colors=sys.stderr.isatty(), exception_formatter=plain)]
