"""Declarations of relayed kinds are complete, and make what stories ask for."""

from __future__ import annotations

import pytest

from jobrelay.workloads.builtin import built_in_descriptions

from .managers import ORDER, load
from .relayed import FOLDER, SCRIPTS, RelayedKind
from .relayed import load as load_relayed
from .relayed_stories import stories_of

KINDS = [kind for name in ORDER if (FOLDER / f"{name}.yaml").exists() for kind in load_relayed(load(name)).kinds]


def test_every_built_in_kind_with_a_definition_is_declared() -> None:
    assert sorted(kind.kind for kind in KINDS) == sorted(built_in_descriptions())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_pods_of_what_ends_follow_the_script(kind: RelayedKind) -> None:
    made = {script: str(kind.made("a", script)) for script in SCRIPTS}
    assert (made["succeeds"] != made["lasts"]) is kind.ends
    assert (made["fails"] != made["lasts"]) is ("fails" in stories_of(kind))


def test_a_name_is_put_in_and_the_declaration_stays_as_it_is() -> None:
    kind = next(each for each in KINDS if each.kind == "AppWrapper")
    first, second = (kind.made(name, "lasts") for name in ("a", "b"))
    names = [each["spec"]["components"][0]["template"]["metadata"]["name"] for each in (first, second)]
    assert names == ["a-inner", "b-inner"]
