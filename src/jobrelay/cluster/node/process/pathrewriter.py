"""Paths in texts, where containers cannot have mounts of their own: what names a mount path is made to name the volume's folder.

It is done to commands, arguments, variables and working directories. A path counts where it stands for itself: not as the end of a
longer path or of a variable, nor as the beginning of a longer name. What programs put together themselves is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_BEFORE: Final = r"(?<![\w./~})*?-])"
_AFTER: Final = r"(?![\w.-])"


class PathRewriter:
    """Replaces paths, and what is below them, by others; paths below `keep` stay, wherever that is."""

    def __init__(self, places: Mapping[str, str], keep: str) -> None:
        self._places = {path: place for path, place in places.items() if path != "/"}
        longest_first = sorted(self._places, key=len, reverse=True)
        others = f"(?!{re.escape(keep)}{_AFTER})"
        self._pattern = re.compile(f"{_BEFORE}{others}({'|'.join(map(re.escape, longest_first))}){_AFTER}")

    def __call__(self, text: str) -> str:
        return self._pattern.sub(lambda match: self._places[match[1]], text) if self._places else text
