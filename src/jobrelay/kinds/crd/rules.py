from __future__ import annotations
from typing import Any
from jobrelay.kinds.field import FieldError
class Verdict:
    errors: list[FieldError]
    warnings: list[str]
class Rules:
    def validate(self, new: Any, old: Any, correlated: Any) -> Verdict:
        raise NotImplementedError
def compile_rules(node: Any) -> Rules | None:
    return None
