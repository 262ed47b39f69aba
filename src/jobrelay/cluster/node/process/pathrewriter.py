"""Rewrites mount paths to the volumes' folders, where containers cannot have their own mounts.

This is applied to commands, arguments, variables and working directories. A path is rewritten where it stands alone:
not as the end of a longer path or of a variable, nor as the beginning of a longer name. Paths that programs build at
run time are not covered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_BEFORE: Final = r"(?<![\w./~})*?-])"
_AFTER: Final = r"(?![\w.-])"


class PathRewriter:
    """Replaces paths, and paths below them; paths below `keep` stay as they are."""

    def __init__(self, paths: Mapping[str, str], keep: str) -> None:
        self._paths = {path: source for path, source in paths.items() if path != "/"}
        longest_first = sorted(self._paths, key=len, reverse=True)
        others = f"(?!{re.escape(keep)}{_AFTER})"
        self._pattern = re.compile(f"{_BEFORE}{others}({'|'.join(map(re.escape, longest_first))}){_AFTER}")

    def __call__(self, text: str) -> str:
        return self._pattern.sub(lambda match: self._paths[match[1]], text) if self._paths else text
