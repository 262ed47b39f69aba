"""Pages from templates. Autoescape is on for all of them, so nothing that comes from a cluster is ever markup."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from jobrelay.kinds.tables.ages import human_duration, since
from jobrelay.sdk.tones import tone

_UNITS: Final = ((2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))


@cache
def environment() -> Environment:
    """All templates, compiled when they are first used."""
    made = Environment(
        loader=PackageLoader("jobrelay.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"age": since, "duration": human_duration, "bytes": bytes_text, "number": number_text}
    made.filters |= {"segment": lambda text: quote(text, safe=""), "query": urlencode, "tone": tone}
    return made


def render(template: str, **values: Any) -> str:
    """A page; every value is escaped."""
    return environment().get_template(template).render(**values)


def number_text(amount: float) -> str:
    """A number with at most one decimal, and spaces that do not break between thousands."""
    return f"{amount:,.1f}".removesuffix(".0").replace(",", "\u202f")


def bytes_text(amount: float) -> str:
    """An amount of memory."""
    for size, unit in _UNITS:
        if amount >= size:
            return f"{amount / size:.1f}".removesuffix(".0") + f"\u00a0{unit}B"
    return f"{amount:g}\u00a0B"


def percent(used: float, of: float) -> int:
    """A share in whole percents, from 0 to 100."""
    return round(100 * min(max(used / of, 0.0), 1.0)) if of > 0 else 0


def clock_text(time: datetime) -> str:
    """A time of day."""
    return time.strftime("%H:%M:%S UTC")
