"""The plot is well-formed, and its bars are as long as their values."""

from __future__ import annotations

from xml.etree import ElementTree

from bench.real.svg import Bar, Panel, plot

SVG = "{http://www.w3.org/2000/svg}"
COLOURS = {"left": "#111111", "right": "#222222"}


def drawn(*panels: Panel) -> ElementTree.Element:
    return ElementTree.fromstring(plot("a < b & c", "a note", panels, COLOURS))


def widths(root: ElementTree.Element, colour: str) -> list[float]:
    return [float(each.attrib["width"]) for each in root.iter(f"{SVG}rect") if each.attrib["fill"] == colour]


def texts(root: ElementTree.Element) -> list[str | None]:
    return [each.text for each in root.iter(f"{SVG}text")]


def test_bars_have_the_proportions_of_their_values() -> None:
    root = drawn(Panel("rate", "/s", [Bar("one", {"left": 50}), Bar("two", {"right": 100})]))
    assert widths(root, "#222222")[0] == 2 * widths(root, "#111111")[0]


def test_parts_of_a_bar_add_up() -> None:
    root = drawn(Panel("cpu", "ms", [Bar("one", {"left": 10, "right": 30}), Bar("two", {"left": 40})], legend=True))
    first, second, _ = widths(root, "#111111")
    assert first + widths(root, "#222222")[0] == second
    assert {"40 ms", "left", "right"} <= set(texts(root))


def test_every_run_is_a_dot_that_fits() -> None:
    root = drawn(Panel("rate", "/s", [Bar("one", {"left": 50}, [40, 50, 90])]))
    dots = [float(each.attrib["cx"]) for each in root.iter(f"{SVG}circle")]
    assert len(dots) == 3
    assert max(dots) < 760


def test_titles_are_escaped_and_marks_are_named() -> None:
    root = drawn(Panel("rate", "/s", [Bar("one", {"left": 50})], ("goal", 20.0)))
    assert {"a < b & c", "goal"} <= set(texts(root))


def test_nothing_measured_is_no_bar() -> None:
    assert widths(drawn(Panel("rate", "/s", [Bar("one", {"left": 0.0})])), "#111111") == [0.0]
