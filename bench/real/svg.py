"""Bars as SVG, written by hand: panels below each other, each with its own scale.

A bar may be made of parts, which have the colours of the legend. Dots on a bar are the runs behind it, so that one sees
how much they differ. A panel may have a mark, a line at a value that is to be reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

_WIDTH: Final = 760
_LEFT: Final = 200
_BARS: Final = 420  # pixels of the longest bar
_ROW: Final = 26
_HEIGHT: Final = 16
_INK, _FAINT = "#1f2a44", "#5b6785"


@dataclass(frozen=True, slots=True)
class Bar:
    """`parts` are values by the name of their colour; `runs` are values too, of the whole bar."""

    label: str
    parts: Mapping[str, float]
    runs: Sequence[float] = ()

    @property
    def value(self) -> float:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    unit: str
    bars: Sequence[Bar]
    mark: tuple[str, float] | None = None
    legend: bool = False
    """Whether to say what the colours of the parts mean."""


def plot(title: str, note: str, panels: Sequence[Panel], colours: Mapping[str, str]) -> str:
    """A whole file."""
    lines, top = [_text(20, 30, title, size=17, weight=600), _text(20, 50, note, size=12, fill=_FAINT)], 84
    for panel in panels:
        drawn, height = _panel(panel, top, colours)
        lines += drawn
        top += height
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" font-family="system-ui, sans-serif" '
        f'font-size="13" role="img" aria-label="{escape(title)}">'
    )
    return "\n".join([head, f'<rect width="{_WIDTH}" height="{top}" rx="10" fill="#ffffff"/>', *lines, "</svg>", ""])


def _panel(panel: Panel, top: int, colours: Mapping[str, str]) -> tuple[list[str], int]:
    """The panel, and how high it is."""
    lines = [_text(20, top, panel.title, weight=600)]
    largest = max([each for bar in panel.bars for each in (bar.value, *bar.runs)], default=0.0)
    scale = _BARS / largest if largest else 0.0
    row = top + 12
    for bar in panel.bars:
        lines += _bar(bar, row, scale, panel.unit, colours)
        row += _ROW
    if panel.mark is not None:
        name, value = panel.mark
        at = _LEFT + value * scale
        lines.append(f'<path d="M{at:.1f} {top + 8} V{row}" stroke="{_INK}" stroke-dasharray="4 3"/>')
        lines.append(_text(at, row + 12, name, size=11, anchor="middle", fill=_FAINT))
        row += 16
    if panel.legend:
        lines += _legend(panel, row + 4, colours)
        row += 24
    return lines, row - top + 26


def _bar(bar: Bar, top: int, scale: float, unit: str, colours: Mapping[str, str]) -> list[str]:
    lines, at = [_text(_LEFT - 10, top + 12, bar.label, anchor="end")], float(_LEFT)
    for name, value in bar.parts.items():
        width = value * scale
        lines.append(f'<rect x="{at:.1f}" y="{top}" width="{width:.1f}" height="{_HEIGHT}" fill="{colours[name]}"/>')
        at += width
    middle = top + _HEIGHT / 2
    lines += [
        f'<circle cx="{_LEFT + each * scale:.1f}" cy="{middle:g}" r="3" fill="#ffffff" stroke="{_INK}"/>'
        for each in bar.runs
    ]
    end = max([at, *(_LEFT + each * scale + 3 for each in bar.runs)])
    return [*lines, _text(end + 8, top + 12, f"{_number(bar.value)} {unit}")]


def _legend(panel: Panel, top: int, colours: Mapping[str, str]) -> list[str]:
    lines, at = [], float(_LEFT)
    for name in dict.fromkeys(name for bar in panel.bars for name in bar.parts):
        lines.append(f'<rect x="{at:g}" y="{top}" width="10" height="10" fill="{colours[name]}"/>')
        lines.append(_text(at + 15, top + 9, name, size=11, fill=_FAINT))
        at += 28 + 6.2 * len(name)
    return lines


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.2g}"


def _text(
    x: float, y: float, text: str, *, size: int = 13, weight: int = 400, anchor: str = "start", fill: str = _INK
) -> str:
    more = (f' font-weight="{weight}"' if weight != 400 else "") + (
        f' text-anchor="{anchor}"' if anchor != "start" else ""
    )
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{more}>{escape(text)}</text>'
