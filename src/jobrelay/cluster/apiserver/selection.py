"""The objects that a list or watch selects: label and field selectors, checked once and matched on stored JSON."""

from __future__ import annotations

import copy
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.selectors import Selector, SelectorError, parse_field_selector, parse_label_selector
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.options import ListOptions
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.store import Item


class _LabelledMetadata(msgspec.Struct):
    labels: dict[str, str] = {}


class _LabelledObject(msgspec.Struct):
    metadata: _LabelledMetadata


_LABELLED = msgspec.json.Decoder(_LabelledObject)
Term = tuple[str, str, str]
_LONG: Final = 1024


class Selection:
    """A predicate on stored objects. `key` is equal for equal selections, so that matches can be shared."""

    __slots__ = ("_fields", "_labels", "_names", "key", "long", "served")

    def __init__(self, served: ServedResource, labels: Selector | None, terms: list[Term]) -> None:
        self.served = served
        self._labels = labels if labels is not None and not labels.empty else None
        self._names = [term for term in terms if term[0] in ("metadata.name", "metadata.namespace")]
        self._fields = [term for term in terms if term not in self._names]
        self.key = (str(labels or ""), tuple(terms))
        self.long = len(self.key[0]) + sum(len(text) for term in terms for text in term) > _LONG

    def of(self, served: ServedResource) -> Selection:
        """The same selection of another form of the resource."""
        made = copy.copy(self)
        made.served = served
        return made

    @property
    def everything(self) -> bool:
        return self._labels is None and not self._names and not self._fields

    @property
    def named(self) -> bool:
        """Whether it selects one name."""
        return any(label == "metadata.name" and operator == "=" for label, operator, _ in self._names)

    def matches(self, item: Item | None) -> bool:
        if item is None:
            return False
        for label, operator, value in self._names:
            actual = item.name if label == "metadata.name" else item.namespace
            if (actual == value) != (operator == "="):
                return False
        if self._labels is not None and not self._labels.matches(_LABELLED.decode(item.raw).metadata.labels):
            return False
        return not self._fields or self._match_fields(item.raw)

    def _match_fields(self, raw: bytes) -> bool:
        obj: dict[str, Any] = msgspec.json.decode(raw)
        if self.served.from_storage is not None:
            obj = self.served.from_storage(obj)
        values = self.served.strategy.fields(obj)
        return all((values.get(label, "") == value) == (operator == "=") for label, operator, value in self._fields)


def select(served: ServedResource, options: ListOptions, name: str = "") -> Selection:
    """The selection that options describe; raises 400."""
    try:
        labels = parse_label_selector(options.label_selector) if options.label_selector else None
        terms = parse_field_selector(options.field_selector) if options.field_selector else []
    except SelectorError as error:
        raise errors.bad_request(str(error)) from None
    terms = [term for term in terms if term[0] or term[2]]
    allowed = served.strategy.field_labels
    for label, _, _ in terms:
        if label not in allowed:
            raise errors.bad_request(_unsupported(served, label))
    if name:
        if terms and ("metadata.name", "=", name) not in terms:
            raise errors.bad_request("fieldSelector metadata.name doesn't match requested name")
        terms = terms or [("metadata.name", "=", name)]
    return Selection(served, labels, terms)


def _unsupported(served: ServedResource, label: str) -> str:
    if served.strategy.unsupported_field is not None:
        return served.strategy.unsupported_field(label, served.kind)
    return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'
