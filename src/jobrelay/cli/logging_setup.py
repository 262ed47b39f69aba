"""Sets up logging to stderr: one line per message, and tracebacks without the values of local variables.

Warnings of libraries that use `logging` look the same.
"""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.stdlib import ProcessorFormatter

from jobrelay.cli.colours import coloured


def configure_logging(level: str, output: str) -> None:
    """`level` is "debug", "info", "warning" or "error"; `output` is "text" or "json"."""
    number = logging.getLevelNamesMapping()[level.upper()]
    first: structlog.typing.Processor = structlog.processors.add_log_level
    renderers = _renderers(output)
    structlog.configure(
        processors=[first, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        ProcessorFormatter(
            processors=[ProcessorFormatter.remove_processors_meta, *renderers], foreign_pre_chain=[first]
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


def _renderers(output: str) -> list[structlog.typing.Processor]:
    if output == "json":
        stamp = structlog.processors.TimeStamper(fmt="iso")
        return [stamp, structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    stamp = structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False)
    plain = structlog.dev.plain_traceback
    return [stamp, structlog.dev.ConsoleRenderer(0, colors=coloured(sys.stderr), exception_formatter=plain)]
