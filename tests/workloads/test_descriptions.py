"""How descriptions of kinds are read: strictly, with errors that say where and what is wrong."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest

from jobrelay.workloads.builtin import GENERATED, built_in_descriptions
from jobrelay.workloads.declared import DeclaredAdapter, DescriptionError, decode_description, paths
from tools.kinddescriptions import generated

from .declared_kinds import as_object

MINIMAL = """\
apiVersion: jobrelay.dev/v1alpha1
kind: WorkloadKind
resource: {group: film.example.com, version: v1, plural: renders, kind: Render}
status: {succeeded: {path: status.phase, in: [Done]}}
"""


def error(text: str) -> str:
    with pytest.raises(DescriptionError) as caught:
        decode_description(text, "render.yaml")
    return str(caught.value)


def test_the_built_in_descriptions_are_generated_from_their_files() -> None:
    assert GENERATED.read_bytes() == generated(), "run `make reference`"
    written = [decode_description(each.read_bytes(), each.name) for each in sorted(GENERATED.parent.glob("*.yaml"))]
    assert list(built_in_descriptions().values()) == written


def test_four_lines_are_enough() -> None:
    adapter = DeclaredAdapter(decode_description(MINIMAL, "render.yaml"))
    assert (str(adapter.resource), adapter.managed_by_path) == ("renders.film.example.com", "spec.managedBy")
    done = as_object({"metadata": {"name": "x"}, "status": {"phase": "Done"}})
    assert adapter.read(done).end is not None


def test_a_leading_separator_and_comments_are_allowed() -> None:
    assert decode_description(f"# mine\n---\n{MINIMAL}---\n# nothing\n", "x") == decode_description(MINIMAL, "x")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "render.yaml: not a description of a kind: expected fields such as `resource`"),
        ("a: [", "render.yaml: not YAML: "),
        (MINIMAL + "---\nb: 1\n", "render.yaml: has several documents; write one kind per file"),
        (MINIMAL + "status: {}\n", 'render.yaml: line 5: key "status" already set in map'),
        ("kind: WorkloadKind\n", "render.yaml: missing field `apiVersion`"),
        (MINIMAL.replace("v1alpha1", "v9"), "render.yaml: apiVersion: Invalid enum value 'jobrelay.dev/v9'"),
        (MINIMAL + "podSet: []\n", "render.yaml: unknown field `podSet`"),
        (MINIMAL + "podSets: [{each: spec.a}]\n", "render.yaml: podSets[0]: missing field `template`"),
        (MINIMAL + "podSets: [{template: spec.*}]\n", "render.yaml: podSets[0]: 'spec.*' may name several fields"),
        (MINIMAL + "managedBy: {path: 'spec..x'}\n", "render.yaml: managedBy: 'spec..x' is not a path of a field"),
        (MINIMAL + "managedBy: {values: any}\n", "render.yaml: managedBy.values: Invalid enum value 'any'"),
        (MINIMAL + "mirror: {add: {status.x: 1}}\n", "render.yaml: mirror: 'status.x' is not in the spec"),
        (MINIMAL + "deadline: {path: spec.s, extendable: true}\n", "render.yaml: an extendable deadline needs"),
        (MINIMAL + "references: [{path: spec.s, resource: pods}]\n", "references[0]: 'pods' is none of configmaps, "),
        (MINIMAL.replace("path: status.phase", "path: 5"), "status.succeeded.path: Expected `str`, got `int`"),
        (MINIMAL.replace("path: status.phase, ", ""), "status.succeeded: a predicate has either `condition` or `path`"),
        (MINIMAL.replace("path: ", "condition: "), "status.succeeded: `in` and `notIn` need `path`"),
        (
            MINIMAL.replace("in: [Done]", "unless: {path: a, " * 20 + "}" * 20),
            "predicates are nested too deeply",
        ),
        (MINIMAL.replace("in: [Done]", "unless: {path: a, " * 300 + "}" * 300), "nested too deeply"),
        (MINIMAL.replace("kind: Render", "kind: Render, namespaced: false"), "a workload kind is namespaced"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, told: str) -> None:
    assert told in error(text)


def test_built_in_descriptions_show_that_thirty_lines_are_enough() -> None:
    lines = {
        each.name: len(each.read_text().splitlines())
        for each in files("jobrelay.workloads.builtin").iterdir()
        if each.name.endswith(".yaml")
    }
    assert len(lines) == 14
    longer = {name for name, count in lines.items() if count > 30}
    assert longer <= {"jaxjob.yaml", "trainjob.yaml"}  # one says why it is refused, one names what it needs


class TestPaths:
    OBJ: Any = staticmethod(lambda: {"a": {"b": [{"k": "x", "v": 1}, {"k": "y", "v": 2}], "c.d/e": 5}, "n": None})

    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("a.b.*.v", [1, 2]),
            ("a.b[k=y].v", [2]),
            ("a[c.d/e]", [5]),
            ("a.*", [[{"k": "x", "v": 1}, {"k": "y", "v": 2}], 5]),
            ("n", []),
            ("a.b.v", []),
            ("x.y", []),
        ],
    )
    def test_reading(self, path: str, found: list[Any]) -> None:
        assert paths.values(path, self.OBJ()) == found

    @pytest.mark.parametrize(
        ("path", "left"),
        [
            ("a.b[k=x]", {"a": {"b": [{"k": "y", "v": 2}], "c.d/e": 5}, "n": None}),
            ("a.b.*", {"a": {"c.d/e": 5}, "n": None}),
            ("a.b.*.v", {"a": {"b": [{"k": "x"}, {"k": "y"}], "c.d/e": 5}, "n": None}),
            ("a.z.y", OBJ()),
        ],
    )
    def test_removing(self, path: str, left: Any) -> None:
        obj = self.OBJ()
        paths.remove(path, obj)
        assert obj == left
