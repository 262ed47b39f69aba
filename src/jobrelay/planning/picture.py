"""The picture of a plan: waiting times of all policies, and for each policy the use of the workers over time.

An SVG file written by hand. It has its own colours for light and for dark surroundings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final
from xml.sax.saxutils import escape

from jobrelay.planning.measures import PlanResult

_WIDTH: Final = 860
_LEFT, _RIGHT = 150, 30
_PLOT: Final = _WIDTH - _LEFT - _RIGHT
_CURVES: Final = 220
"""The height of the waiting times."""
_ROW: Final = 12
_MOST_ROWS: Final = 24
_MOST_COLUMNS: Final = 120
_COLOURS: Final = 6
_STYLE: Final = """\
text{fill:#1f2a44;font:13px system-ui,sans-serif} .faint{fill:#5b6785;font-size:11px}
.title{font-size:17px;font-weight:600} .head{font-weight:600} .curve{fill:none;stroke-width:2.2}
.page{fill:#ffffff} .grid{stroke:#d9deea} .cell{fill:#2458c5;shape-rendering:crispEdges} .empty{fill:#eef1f7}
.c0{stroke:#2458c5} .c1{stroke:#c2410c} .c2{stroke:#0f766e} .c3{stroke:#9333ea} .c4{stroke:#a16207} .c5{stroke:#be123c}
@media (prefers-color-scheme: dark){
text{fill:#e6eaf4} .faint{fill:#a5b0c9}
.page{fill:#151a26} .grid{stroke:#343d52} .cell{fill:#7aa5ff} .empty{fill:#1e2534}
.c0{stroke:#7aa5ff} .c1{stroke:#fb923c} .c2{stroke:#2dd4bf} .c3{stroke:#c084fc} .c4{stroke:#facc15} .c5{stroke:#fb7185}
}"""


def draw_plan(results: Sequence[PlanResult], note: str) -> str:
    """The whole file; `note` says what was simulated."""
    lines = [_text(20, 32, "Plan: waiting times and use of workers", "title"), _text(20, 52, note, "faint")]
    lines += _waiting(results, 88)
    top = 88 + _CURVES + 80 + 18 * math.ceil(len(results) / 2)
    for result in results:
        drawn, height = _use(result, top)
        lines += drawn
        top += height
    size = f'viewBox="0 0 {_WIDTH} {top}" width="{_WIDTH}" height="{top}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(note)}">'
    page = f'<rect class="page" width="{_WIDTH}" height="{top}" rx="10"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", page, *lines, "</svg>", ""])


def _waiting(results: Sequence[PlanResult], top: int) -> Iterator[str]:
    """The share of Jobs that have waited no longer than so long, on a logarithmic scale from one second on."""
    longest = max([10.0, *(result.wait(1.0) for result in results)])
    scale, bottom = _PLOT / math.log10(longest), top + 14 + _CURVES
    yield _text(20, top, "Jobs that have started, by time since their creation", "head")
    for share in (0, 25, 50, 75, 100):
        y = bottom - _CURVES * share / 100
        yield f'<path class="grid" d="M{_LEFT} {y:g}H{_WIDTH - _RIGHT}"/>'
        yield _text(_LEFT - 8, y + 4, f"{share} %", "faint", "end")
    for seconds in (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400):
        if seconds <= longest:
            x = _LEFT + math.log10(seconds) * scale
            yield f'<path class="grid" d="M{x:.1f} {bottom - _CURVES}V{bottom}"/>'
            yield _text(x, bottom + 16, duration(seconds), "faint", "middle")
    for number, result in enumerate(results):
        points = " ".join(f"{_LEFT + x * scale:.1f},{bottom - y * _CURVES:.1f}" for x, y in _curve(result, longest))
        colour = f"c{number % _COLOURS}"
        yield f'<polyline class="curve {colour}" points="{points}"/>'
        x, y = _LEFT + _PLOT // 2 * (number % 2), bottom + 38 + 18 * (number // 2)
        yield f'<path class="curve {colour}" d="M{x} {y - 4}h22"/>'
        yield _text(x + 30, y, f"{result.policy}: on average {duration(result.wait_mean)}")


def _curve(result: PlanResult, longest: float) -> Iterator[tuple[float, float]]:
    """Decimal logarithms of times, and the share of all Jobs that has started by then."""
    waits, count = result.waits, max(result.jobs, 1)
    at, steps = 0, 200
    for step in range(steps + 1):
        x = math.log10(longest) * step / steps
        limit = 10**x * (1 + 1e-9)
        while at < len(waits) and waits[at] <= limit:
            at += 1
        yield x, at / count


def _use(result: PlanResult, top: int) -> tuple[list[str], int]:
    """A map of workers and time, the darker the more of the CPU is in use; and its height."""
    rows = list(_rows(result))
    columns = max((len(shares) for _, shares in rows), default=0)
    used = ", ".join(f"{100 * share:.0f} % of {name}" for name, share in result.use.items())
    lines = [
        _text(20, top, f"{result.policy}: use of CPU by worker", "head"),
        _text(20, top + 17, f"in use: {used}", "faint"),
    ]
    width, y = _PLOT / max(columns, 1), top + 30
    for name, shares in rows:
        lines.append(_text(_LEFT - 8, y + 9, name, "faint", "end"))
        lines.append(f'<rect class="empty" x="{_LEFT}" y="{y}" width="{_PLOT}" height="{_ROW - 2}"/>')
        lines += _cells(shares, width, y)
        y += _ROW
    lines += [
        _text(_LEFT, y + 14, "0", "faint"),
        _text(_WIDTH - _RIGHT, y + 14, duration(result.makespan), "faint", "end"),
    ]
    return lines, y + 52 - top


def _cells(shares: Sequence[float], width: float, y: int) -> Iterator[str]:
    """One rectangle for neighbours that look the same."""
    at = 0
    for opacity, alike in groupby(f"{min(share, 1):.2f}" for share in shares):
        count = len(list(alike))
        if opacity != "0.00":
            place = f'x="{_LEFT + at * width:.1f}" y="{y}" width="{count * width:.1f}" height="{_ROW - 2}"'
            yield f'<rect class="cell" {place} opacity="{opacity}"/>'
        at += count


def _rows(result: PlanResult) -> Iterator[tuple[str, list[float]]]:
    """Workers with their use; neighbours share a row if there are many."""
    workers = list(result.workers.items())
    each = math.ceil(len(workers) / _MOST_ROWS)
    for at in range(0, len(workers), max(each, 1)):
        group = workers[at : at + each]
        name = group[0][0] if len(group) == 1 else f"{_short(group[0][0])} … {_short(group[-1][0])}"
        means = [sum(shares) / len(group) for shares in zip(*(shares for _, shares in group), strict=True)]
        yield _short(name, 24), list(_thinned(means))


def _thinned(shares: Sequence[float]) -> Iterable[float]:
    each = math.ceil(len(shares) / _MOST_COLUMNS)
    for at in range(0, len(shares), max(each, 1)):
        part = shares[at : at + each]
        yield sum(part) / len(part)


def _short(name: str, most: int = 10) -> str:
    return name if len(name) <= most else f"…{name[1 - most :]}"


def duration(seconds: float) -> str:
    """A time in one or two units: `0 s`, `42 s`, `3 min`, `1.5 h`, `2.0 d`."""
    if seconds < 99.5:
        return f"{seconds:.0f} s" if seconds >= 9.95 or seconds == int(seconds) else f"{seconds:.1f} s"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size * 1.5 or unit == "min":
            number = seconds / size
            return f"{number:.0f} {unit}" if number >= 20 or number == int(number) else f"{number:.1f} {unit}"
    raise AssertionError(seconds)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    more = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor != "start" else "")
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(text)}</text>'
