"""Go's regular expressions on top of Python's.

Patterns in schemas and in CEL are RE2 syntax. Most of it is Python's too; what differs is rewritten in one scan: `$` and `\\z`
mean the very end, flags such as `(?i)` may stand anywhere, POSIX and Unicode classes, `\\Q..\\E`, `\\C`. What RE2 refuses
(lookaround, backreferences, nested repetition) is refused here too, with Go's words, since they reach the user when a
CustomResourceDefinition is created.
"""

from __future__ import annotations

import functools
import re
from typing import Final

_POSIX: Final = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r"\t ", "cntrl": r"\x00-\x1F\x7F", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r"\t\n\v\f\r ", "upper": "A-Z",
    "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_UNICODE: Final = {
    "L": r"A-Za-zªµºÀ-ÖØ-öø-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u0386-\u1fff\u2c00-\ud7ff\uf900-\ufdcf",
    "Lu": r"A-ZÀ-ÖØ-Þ\u0391-\u03a9\u0410-\u042f",
    "Ll": r"a-zµß-öø-ÿ\u03b1-\u03c9\u0430-\u044f",
    "N": r"0-9²³¹¼-¾\u0660-\u0669", "Nd": r"0-9\u0660-\u0669", "P": r"!-#%-*,-/:;?@\[-\]_{}¡§«¶·»¿\u2010-\u2027",
    "S": r"$+<->^`|~¢-¦¨©¬®-±´¸×÷\u2200-\u27bf\U0001f300-\U0001faff", "Z": r" \xa0\u2000-\u200a\u2028\u2029\u3000",
    "Greek": r"\u0370-\u03ff", "Cyrillic": r"\u0400-\u04ff", "Han": r"\u4e00-\u9fff", "Latin": r"A-Za-zÀ-ÖØ-öø-\u024f",
}  # fmt: skip
_REPEAT_LIMIT: Final = 1000
_REPETITION = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_FLAGS = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
_NAMED = re.compile(r"\(\?P?<(\w+)>")
_SIMPLE_ESCAPES: Final = frozenset("dDsSwWbBAnrtfva")


class RegexError(ValueError):
    """A pattern that Go refuses; the message is Go's."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {what}: `{where}`")


@functools.lru_cache(2048)
def compile_go(pattern: str) -> re.Pattern[str]:
    """The pattern as a Python regular expression; raises RegexError."""
    text = _Rewriter(pattern).rewrite()
    try:
        return re.compile(text, re.ASCII)
    except (re.error, OverflowError):
        raise RegexError("invalid regular expression", pattern) from None


class _Rewriter:
    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0
        self.out: list[str] = []
        self.groups: list[list[str]] = []  # the flag groups that were open around each open parenthesis
        self.flags: list[str] = []  # the flag groups that are open in the current one
        self.last_repeat = -1  # where the last repetition operator ended, to refuse a**
        self.repeatable = False

    def rewrite(self) -> str:
        while self.at < len(self.pattern):
            self._step(self.pattern[self.at])
        if self.groups:
            raise RegexError("missing closing )", self.pattern)
        return "".join(self.out) + ")" * len(self.flags)

    def _emit(self, text: str, width: int, *, repeatable: bool = True) -> None:
        self.out.append(text)
        self.at += width
        self.repeatable = repeatable

    def _step(self, char: str) -> None:
        if char == "\\":
            self._emit(*self._escape(in_class=False))
        elif char == "[":
            self._class()
        elif char == "(":
            self._open()
        elif char == ")":
            self._close()
        elif char == "$":
            self._emit(r"\Z", 1)
        elif char in "*+?" or (char == "{" and _REPETITION.match(self.pattern, self.at)):
            self._repeat(char)
        elif char == "|":
            self._alternative()
        else:
            self._emit(char if char not in "{}" else "\\" + char, 1, repeatable=True)

    def _alternative(self) -> None:
        self._emit(")" * len(self.flags) + "|" + "".join(self.flags), 1, repeatable=False)

    def _repeat(self, char: str) -> None:
        start = self.at
        match = _REPETITION.match(self.pattern, start) if char == "{" else None
        operator = match.group() if match else char
        if match:
            low, high = int(match.group(1)), int(match.group(3) or match.group(1))
            if max(low, high) > _REPEAT_LIMIT or high < low:
                raise RegexError("invalid repeat count", operator)
        end = start + len(operator)
        if end < len(self.pattern) and self.pattern[end] == "?":
            operator, end = operator + "?", end + 1
        if not self.repeatable:
            raise RegexError("missing argument to repetition operator", operator)
        if self.last_repeat == start:
            raise RegexError("invalid nested repetition operator", self.pattern[self._repeat_start : end])
        self._repeat_start = start
        self._emit(operator, end - start)
        self.last_repeat = end

    _repeat_start = 0

    def _open(self) -> None:
        rest = self.pattern[self.at :]
        if not rest.startswith("(?"):
            self._group("(", 1)
            return
        if named := _NAMED.match(rest):
            self._group(f"(?P<{named.group(1)}>", named.end())
            return
        flags = _FLAGS.match(rest)
        if flags is None:
            raise RegexError("invalid or unsupported Perl syntax", rest[:4] if rest[2:3] == "<" else rest[:3])
        text = (flags.group(1) + (flags.group(2) or "")).replace("U", "").rstrip("-")
        if flags.group(3) == ":":
            self._group(f"(?{text}:", flags.end())
        else:
            self.flags.append(f"(?{text}:")
            self._emit(f"(?{text}:", flags.end(), repeatable=False)

    def _group(self, text: str, width: int) -> None:
        self.groups.append(self.flags)
        self.flags = []
        self._emit(text, width, repeatable=False)

    def _close(self) -> None:
        if not self.groups:
            raise RegexError("unexpected )", self.pattern)
        closing = ")" * (len(self.flags) + 1)
        self.flags = self.groups.pop()
        self._emit(closing, 1)

    def _class(self) -> None:
        pattern, start = self.pattern, self.at
        self.at += 1
        parts = ["["]
        if pattern.startswith("^", self.at):
            parts.append("^")
            self.at += 1
        first = True
        while True:
            if self.at >= len(pattern):
                raise RegexError("missing closing ]", pattern[start:])
            char = pattern[self.at]
            if char == "]" and not first:
                break
            first = False
            if pattern.startswith("[:", self.at) and ":]" in pattern[self.at :]:
                end = pattern.index(":]", self.at) + 2
                parts.append(self._posix(pattern[self.at : end]))
                self.at = end
            elif char == "\\":
                text, width = self._escape(in_class=True)
                parts.append(text)
                self.at += width
            else:
                parts.append("\\" + char if char in "[]&~|" else char)
                self.at += 1
        self._emit("".join(parts) + "]", 1)

    @staticmethod
    def _posix(text: str) -> str:
        name = text[2:-2]
        if name.lstrip("^") not in _POSIX:
            raise RegexError("invalid character class range", text)
        return _POSIX[name.lstrip("^")]

    def _escape(self, *, in_class: bool) -> tuple[str, int]:
        rest = self.pattern[self.at :]
        if len(rest) == 1:
            raise RegexError("trailing backslash at end of expression", "")
        char = rest[1]
        if char == "z" and not in_class:
            return r"\Z", 2
        if char == "Q":
            end = rest.find("\\E")
            body = rest[2:end] if end >= 0 else rest[2:]
            return re.escape(body), len(rest) if end < 0 else end + 2
        if char in "pP":
            return self._unicode(rest, in_class=in_class)
        if char == "x":
            return self._hex(rest)
        if char in "01234567" and (char == "0" or rest[2:3] in tuple("01234567")):
            digits = re.match(r"\\([0-7]{1,3})", rest)
            assert digits is not None
            return f"\\x{int(digits.group(1), 8):02x}", digits.end()
        if char.isalnum() and char.isascii() and char not in _SIMPLE_ESCAPES:
            raise RegexError("invalid escape sequence", rest[:2])
        return rest[:2], 2

    @staticmethod
    def _hex(rest: str) -> tuple[str, int]:
        match = re.match(r"\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))", rest)
        if match is None:
            raise RegexError("invalid escape sequence", rest[:3])
        return re.escape(chr(int(match.group(1) or match.group(2), 16))), match.end()

    @staticmethod
    def _unicode(rest: str, *, in_class: bool) -> tuple[str, int]:
        match = re.match(r"\\([pP])(?:\{(\^?\w+)\}|(\w))", rest)
        name = (match.group(2) or match.group(3)).lstrip("^") if match else ""
        if match is None or name not in _UNICODE:
            raise RegexError("invalid character class range", match.group() if match else rest[:2])
        if in_class:
            return _UNICODE[name], match.end()
        return f"[{'^' if match.group(1) == 'P' else ''}{_UNICODE[name]}]", match.end()
