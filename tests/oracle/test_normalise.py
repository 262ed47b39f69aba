"""What the comparison forgives, and what it does not."""

from __future__ import annotations

from .differences import between
from .model import rendered, scenario
from .normalise import Normaliser, with_sorted_causes, without_order
from .runner import Answer
from .scenarios import load


def _normaliser(sent: str = "") -> Normaliser:
    return Normaliser({"cmp-abc": "NS", "abc": "RUN"}, sent)


def test_uids_keep_their_identity() -> None:
    normaliser = _normaliser()
    first, second = "6f2a3f0e-1111-4222-8333-444455556666", "6f2a3f0e-1111-4222-8333-444455556667"
    normaliser.begin(4)
    assert normaliser.value([first, second, first]) == ["UID4.1", "UID4.2", "UID4.1"]
    normaliser.begin(5)
    assert normaliser.value(first) == "UID4.1"


def test_resource_versions_keep_their_identity() -> None:
    normaliser = _normaliser()
    normaliser.begin(1)
    body = {"metadata": {"name": "a", "resourceVersion": "17"}}
    assert normaliser.value(body) == normaliser.value(body) == {"metadata": {"name": "a", "resourceVersion": "RV1.1"}}


def test_times_are_hidden_unless_they_were_sent() -> None:
    normaliser = _normaliser("startTime: 2024-01-01T00:00:00Z")
    assert normaliser.text("2024-01-01T00:00:00Z") == "2024-01-01T00:00:00Z"
    assert normaliser.text("2025-01-01T00:00:00Z") == "TIME"
    assert normaliser.text("2025-01-01T00:00:00.000001Z") == "MICROTIME"


def test_generated_names_are_hidden_but_their_prefix_is_not() -> None:
    assert _normaliser('{"generateName": "gen-"}').text("gen-x2k4z") == "gen-SUFFIX"


def test_managed_fields_are_compared_without_order() -> None:
    entries = [{"manager": "b", "operation": "Update"}, {"manager": "a", "operation": "Apply"}]
    assert _normaliser().value({"managedFields": entries}) == _normaliser().value({"managedFields": entries[::-1]})


def test_ages_in_tables_are_hidden() -> None:
    table = {
        "kind": "Table",
        "columnDefinitions": [{"name": "Name"}, {"name": "Age"}],
        "rows": [{"cells": ["5s", "5s"]}],
    }
    assert _normaliser().value(table)["rows"] == [{"cells": ["5s", "AGE"]}]


def test_the_order_of_random_errors_can_be_forgiven() -> None:
    def status(*fields: str) -> dict[str, object]:
        return {
            "message": f"x is invalid: [{', '.join(fields)}]",
            "details": {"causes": [{"field": f} for f in fields]},
        }

    assert without_order(status("a", "b")) == without_order(status("b", "a"))


def test_the_order_of_errors_about_one_field_is_forgiven() -> None:
    def status(*texts: str) -> dict[str, object]:
        causes = [{"field": text[0], "message": text} for text in texts]
        message = f"x is invalid: [{', '.join(f'{text[0]}: {text}' for text in texts)}]"
        return {"message": message, "details": {"causes": causes}}

    assert with_sorted_causes(status("a1", "a2", "b")) == with_sorted_causes(status("a2", "a1", "b"))
    assert with_sorted_causes(status("b", "a1")) != with_sorted_causes(status("a1", "b"))


def test_a_difference_names_its_path() -> None:
    real, ours = Answer(200, "", [], {"a": [{"b": 1}]}), Answer(200, "", [], {"a": [{"b": 2}]})
    assert between(real, ours) == [(".a[0].b", "1", "2")]
    assert between(real, real) == []


def test_numbers_and_booleans_differ() -> None:
    assert between(Answer(200, "", [], {"a": 1}), Answer(200, "", [], {"a": True}))


def test_unknown_placeholders_stay() -> None:
    assert rendered("{{ns}}/{{other}}", {"ns": "x"}) == "x/{{other}}"


def test_there_are_enough_scenarios_with_unique_names() -> None:
    found = load()
    assert len({s.name for s in found}) == len(found)
    assert sum(len(s.steps) for s in found) >= 1500
    assert scenario("empty", []).steps == ()
