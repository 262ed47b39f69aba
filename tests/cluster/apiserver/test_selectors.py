"""Label and field selectors of lists."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from .serving import CONFIGMAPS, JOBS, PODS, Server, config, job, pod


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("colour=red", "a"),
        ("colour==red", "a"),
        ("colour!=red", "bc"),
        ("colour in (red,blue)", "ab"),
        ("colour notin (red)", "bc"),
        ("colour", "ab"),
        ("!colour", "c"),
        ("weight>5", "b"),
        ("weight<5", "a"),
        ("colour=red,weight=9", ""),
    ],
)
async def test_labels_choose(server: Server, selector: str, names: str) -> None:
    await server.ok("POST", CONFIGMAPS, config("a", {"colour": "red", "weight": "1"}))
    await server.ok("POST", CONFIGMAPS, config("b", {"colour": "blue", "weight": "9"}))
    await server.ok("POST", CONFIGMAPS, config("c"))
    answer = await server.call("GET", f"{CONFIGMAPS}?labelSelector={quote(selector)}")
    assert [name for name in answer.names if len(name) == 1] == list(names)


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a>x", "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"),
        ("é=1", 'unable to parse requirement: <nil>: Invalid value: "é": name part must consist of'),
    ],
)
async def test_label_selectors_that_cannot_be_read(server: Server, selector: str, text: str) -> None:
    answer = await server.call("GET", f"{CONFIGMAPS}?labelSelector={quote(selector)}")
    assert (answer.code, text in answer.message) == (400, True), answer.message


async def test_fields_choose(server: Server) -> None:
    await server.ok("POST", PODS, pod("a", nodeName="n1"))
    await server.ok("POST", PODS, pod("b"))
    assert (await server.call("GET", f"{PODS}?fieldSelector=spec.nodeName=n1")).names == ["a"]
    assert (await server.call("GET", f"{PODS}?fieldSelector=spec.nodeName=,status.phase=Pending")).names == ["b"]


async def test_a_field_of_a_job_is_counted_as_text(server: Server) -> None:
    await server.ok("POST", JOBS, job("a"))
    assert (await server.call("GET", f"{JOBS}?fieldSelector=status.successful=0")).names == ["a"]
    assert (await server.call("GET", f"{JOBS}?fieldSelector=status.successful!=0")).names == []


@pytest.mark.parametrize(
    ("path", "field", "text"),
    [
        (JOBS, "status.failed", 'field label "status.failed" not supported for Job'),
        (PODS, "spec.colour", "field label not supported: spec.colour"),
        (CONFIGMAPS, "data.k", '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ],
)
async def test_fields_that_cannot_be_selected(server: Server, path: str, field: str, text: str) -> None:
    answer = await server.call("GET", f"{path}?fieldSelector={field}=x")
    assert (answer.code, answer.message) == (400, text)


async def test_a_field_selector_without_an_operator(server: Server) -> None:
    answer = await server.call("GET", f"{CONFIGMAPS}?fieldSelector=metadata.name")
    assert (answer.code, answer.message) == (400, "invalid selector: 'metadata.name'; can't understand 'metadata.name'")
