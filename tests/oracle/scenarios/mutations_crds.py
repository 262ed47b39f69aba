"""Mutations of a custom resource and of its definition."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import MERGE, Scenario, Step, apply, get, patch, post, scenario
from .crds import CEL_SCHEMA, COLUMNS, CRDS, NAME, SCHEMA, WIDGETS, _ready, _version, crd, widget
from .mutations import changed, nodes, replacements

RICH = widget(
    "rich",
    spec={
        "size": 5,
        "colour": "red",
        "name": "abc",
        "tags": ["x", "y"],
        "ratio": 1.5,
        "on": True,
        "ports": [{"port": 1, "proto": "UDP"}, {"port": 2}],
        "labels": {"a": "b"},
        "value": "5%",
        "free": {"a": {"b": [1, "x", None]}},
        "when": "2024-01-01T00:00:00Z",
        "day": "2024-01-01",
        "ip": "1.2.3.4",
        "maybe": "m",
        "deep": {"a": "q", "b": {"c": 7}},
        "either": {"x": 1},
        "embedded": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "e", "labels": {"l": "v"}},
            "spec": {"any": 1},
        },
        "int64": 9,
        "any": "text",
    },
    status={"phase": "p", "count": 3, "conditions": [{"type": "A", "status": "True"}]},
)
CHECKED = widget(
    "rich",
    spec={
        "min": 1,
        "max": 5,
        "fixed": "f",
        "list": [1, 2],
        "mode": "a",
        "map": {"xa": "1"},
        "q": 5,
        "once": 3,
        "quantity": "2Gi",
        "re": "aaa",
    },
)
DEFINITION = crd(
    _version(
        SCHEMA,
        subresources={
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.size",
                "statusReplicasPath": ".status.count",
                "labelSelectorPath": ".status.phase",
            },
        },
        additionalPrinterColumns=COLUMNS[:4],
        selectableFields=[{"jsonPath": ".spec.colour"}],
    ),
    _version(SCHEMA, "v1beta1", storage=False, deprecated=True, deprecationWarning="old"),
    conversion={"strategy": "None"},
)


def _custom(body: dict[str, object], creates: int, updates: int) -> Iterator[Step]:
    places = [(where, value) for where, value in nodes(body) if where[0] not in ("apiVersion", "kind")]
    bodies = [changed(body, where, other) for where, value in places for other in replacements(value)]
    yield from (
        post(f"{WIDGETS}?dryRun=All", one, unordered=True) for one in bodies[:: max(1, -(-len(bodies) // creates))]
    )
    yield post(WIDGETS, body)
    merges: list[Step] = []
    for where, value in places:
        if any(isinstance(key, int) for key in where):
            continue
        for other in replacements(value):
            nested: object = other
            for key in reversed(where):
                nested = {key: nested}
            merges.append(patch(f"{WIDGETS}/rich?dryRun=All", nested, MERGE, unordered=True))  # type: ignore[arg-type]
    yield from merges[:: max(1, -(-len(merges) // updates))]
    applied = [apply(f"{WIDGETS}/rich?dryRun=All", one, "m", True, unordered=True) for one in bodies]
    yield from applied[:: max(1, -(-len(applied) // updates))]
    yield get(f"{WIDGETS}/rich")


def _definitions() -> list[Step]:
    places = [(where, value) for where, value in nodes(DEFINITION) if where[0] not in ("apiVersion", "kind")]
    bodies = [changed(DEFINITION, where, other) for where, value in places for other in replacements(value)]
    return [post(f"{CRDS}?dryRun=All", one, unordered=True) for one in bodies[:: max(1, -(-len(bodies) // 240))]]


def scenarios() -> Iterator[Scenario]:
    cleanup = [f"{CRDS}/{NAME}"]
    yield scenario("mutations-custom", [post(CRDS, crd(_version(SCHEMA))), *_ready(), *_custom(RICH, 120, 60)], cleanup)
    yield scenario(
        "mutations-custom-status",
        [post(CRDS, crd(_version(SCHEMA, subresources={"status": {}}))), *_ready(), *_custom(RICH, 30, 30)],
        cleanup,
    )
    yield scenario(
        "mutations-custom-cel", [post(CRDS, crd(_version(CEL_SCHEMA))), *_ready(), *_custom(CHECKED, 60, 40)], cleanup
    )
    steps = _definitions()
    yield scenario("mutations-definitions-1", steps[::2], cleanup)
    yield scenario("mutations-definitions-2", steps[1::2], cleanup)
