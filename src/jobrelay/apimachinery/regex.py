"""Go's regular expressions, by RE2.

Patterns in schemas and in CEL are RE2 syntax and come from users, so they are matched by RE2 itself: in linear time,
where Python's own engine can be made to run forever. Go's package has the same syntax; only its error texts differ, and
users see those when they create a CustomResourceDefinition.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import re2

_WORDS: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
}
_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False


class RegexError(ValueError):
    """A pattern that Go refuses; the message is Go's."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {what}: `{where}`")


@functools.lru_cache(2048)
def compile_go(pattern: str) -> Any:
    """The compiled pattern, with the methods of Python's own; raises RegexError."""
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        text = error.args[0]
        message: str = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    what, _, where = message.partition(": ")
    raise RegexError(_WORDS.get(what, what), where)
