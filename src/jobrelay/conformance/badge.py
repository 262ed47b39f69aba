"""A badge for a README: an SVG file that says which level a controller has."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

from jobrelay.conformance.result import ConformanceReport
from jobrelay.conformance.rules import Level

__all__ = ["badge_svg"]

_LABEL: Final = "Job conformance"
_COLOURS: Final = {
    Level.NONE: "#b91c1c", Level.OBSERVES: "#a16207", Level.RUNS: "#1d4ed8", Level.COMPLETE: "#15803d",
}  # fmt: skip
_LETTER, _MARGIN = 6.6, 12


def badge_svg(report: ConformanceReport) -> str:
    """The whole file."""
    word = f"{report.level} (Kubernetes {report.server})" if report.server else str(report.level)
    left, right = _width(_LABEL), _width(word)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{escape(f"{_LABEL}: {word}")}">\n'
        f'<rect width="{left}" height="20" fill="#374151"/>\n'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[report.level]}"/>\n'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">\n'
        f'<text x="{left // 2}" y="14">{escape(_LABEL)}</text>\n'
        f'<text x="{left + right // 2}" y="14">{escape(word)}</text>\n'
        "</g>\n</svg>\n"
    )


def _width(text: str) -> int:
    return int(len(text) * _LETTER) + _MARGIN
