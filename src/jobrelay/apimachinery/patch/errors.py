"""What the server answers when a patch cannot be applied, and values as Go's `%v` prints them in such answers."""

from __future__ import annotations

import math
from typing import Any, Final

REJECTED: Final = "the server rejected our request due to an error in our request"
_GO_TYPES: Final = {
    dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", int: "int64",
}  # fmt: skip


class PatchError(Exception):
    """A patch that cannot be applied: the code, the reason and the message of the Status to answer.

    `details` is the Status' details when they are there although empty. `why` says what does not fit; of a client's own
    patch it is not told.
    """

    def __init__(
        self, code: int, reason: str, message: str, details: dict[str, Any] | None = None, *, why: str = ""
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details, self.why = code, reason, message, details, why


def bad_request(message: str) -> PatchError:
    return PatchError(400, "BadRequest", message)


def unprocessable(why: str = "") -> PatchError:
    """The error text for a patch that is well formed but does not fit the object."""
    return PatchError(422, "Invalid", REJECTED, {}, why=why)


def failure(message: str) -> PatchError:
    """An error that the real server did not foresee: a 500 without a reason."""
    return PatchError(500, "", message)


def go_type(value: Any) -> str:
    """The Go type of a decoded JSON value."""
    if value is None:
        return "%!s(<nil>)"
    return _GO_TYPES.get(type(value), "float64")


def go_format(value: Any) -> str:
    """A decoded JSON value as Go's `%v` prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_format(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_format, value)) + "]"
    return go_float(value) if isinstance(value, float) else str(value)


def go_float(value: float) -> str:
    """A float as Go prints it: shortest, with an exponent only below 1e-4 and from 1e21 on."""
    if value == 0 or not math.isfinite(value):
        return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN", "-0.0": "-0"}.get(repr(float(value)), "0")
    digits = float.__repr__(value)
    if 1e-4 <= abs(value) < 1e21:
        return str(int(value)) if value == int(value) else digits
    mantissa, _, exponent = f"{value:e}".partition("e")
    mantissa = digits.partition("e")[0] if "e" in digits else mantissa.rstrip("0").rstrip(".")
    return f"{mantissa.removesuffix('.0')}e{exponent}"
