"""Reads YAML files of several documents."""

from __future__ import annotations

import re
from typing import Any

from jobrelay.apimachinery import yaml


def documents(text: str) -> list[Any]:
    """Every document of a YAML text, empty ones left out."""
    loaded = [yaml.load(part) for part in re.split(r"^---.*\n", text, flags=re.MULTILINE)]
    return [each for each in loaded if each is not None]
