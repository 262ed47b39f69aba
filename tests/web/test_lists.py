"""The list of workloads: what its URL asks for is what the relay is asked for, and links lead to what they say."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kube import Client
from jobrelay.relay.api.names import BASE
from jobrelay.web.listing import ListRequest, heads_of, pages_of, parse_list
from tests.web.browsing import CannedApi, Elements, browsing, canned


async def test_filters_order_and_page_are_left_to_the_relay() -> None:
    api = CannedApi(canned())
    async with browsing(Client(api)) as browser:
        await browser.get("/workloads?search=a+b&status=failed&worker=w&kind=job&sort=name&page=3&namespace=default")
    assert (
        f"{BASE}/namespaces/default/workloads",
        {
            "page": "3", "pageSize": "50", "search": "a b", "status": "Failed", "worker": "w", "kind": "job",
            "sort": "name",
        },
    ) in api.asked  # fmt: skip


async def test_the_form_shows_what_was_asked_for() -> None:
    async with browsing(Client(CannedApi(canned()))) as browser:
        page = Elements((await browser.get('/workloads?search="x"&status=Failed&worker=gone&sort=name')).text)
    assert next(each["value"] for each in page.all("input") if each.get("id") == "search") == '"x"'
    assert [each["value"] for each in page.all("option") if "selected" in each] == ["Failed", "gone"]
    assert {"type": "hidden", "name": "sort", "value": "name"} in page.all("input")
    assert [each["aria-sort"] for each in page.all("th") if "aria-sort" in each] == ["ascending"]


async def test_pages_lead_to_each_other_and_keep_the_filters() -> None:
    answers = canned()
    answers[f"{BASE}/workloads"] = answers[f"{BASE}/workloads"] | {"total": 120}
    async with browsing(Client(CannedApi(answers))) as browser:
        page = Elements((await browser.get("/workloads?status=Waiting&page=2")).text)
    assert {"rel": "prev", "href": "?status=Waiting"} in page.all("a")
    assert {"rel": "next", "href": "?status=Waiting&page=3"} in page.all("a")
    assert "51–100 of 120 workloads" in " ".join(page.texts)


async def test_a_list_without_matches_says_so() -> None:
    answers = canned() | {f"{BASE}/workloads": {"metadata": {}, "items": [], "total": 0, "statuses": {}}}
    async with browsing(Client(CannedApi(answers))) as browser:
        filtered, all_of_them = await browser.get("/workloads?search=x"), await browser.get("/workloads")
    assert "Nothing matches." in filtered.text
    assert "No workloads are delegated to the relay yet." in all_of_them.text


@pytest.mark.parametrize(
    "query",
    [{"page": "0"}, {"page": "-1"}, {"page": "x"}, {"page": "9999999"}, {"page": "²"}, {"sort": "secret"},
     {"status": "Odd"}],
)  # fmt: skip
def test_what_means_nothing_is_left_out(query: dict[str, str]) -> None:
    assert parse_list(query) == ListRequest()


def test_a_click_on_a_head_sorts_by_it_and_a_second_one_turns_the_order() -> None:
    first = ListRequest(page=4)
    by_name = next(each for each in heads_of(first) if each.text == "Name")
    assert (by_name.order, by_name.url) == ("", "?sort=name")
    again = next(each for each in heads_of(ListRequest(sort="name")) if each.text == "Name")
    assert (again.order, again.url) == ("ascending", "?sort=-name")


def test_ages_are_sorted_with_the_newest_first() -> None:
    age = next(each for each in heads_of(ListRequest(sort="name")) if each.text == "Age")
    assert age.url == "?"


@pytest.mark.parametrize(("page", "total", "rows"), [(1, 0, (0, 0, 1)), (1, 50, (1, 50, 1)), (2, 51, (51, 51, 2))])
def test_pages_are_counted(page: int, total: int, rows: tuple[int, int, int]) -> None:
    found = pages_of(page, total)
    assert (found.first_row, found.last_row, found.last) == rows


@given(st.dictionaries(st.sampled_from(["search", "status", "namespace", "worker", "kind", "sort", "page"]), st.text()))
def test_a_list_of_whatever_url_has_a_url_that_means_the_same(query: dict[str, str]) -> None:
    asked = parse_list(query)
    again = dict(parse_qsl(asked.url(page=asked.page).removeprefix("?")))
    assert parse_list(again) == asked
