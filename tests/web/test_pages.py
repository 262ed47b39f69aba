"""Every page, with a canned cluster: what it shows, that nothing of a cluster is markup, and what it tells browsers."""

from __future__ import annotations

import re

import pytest

from jobrelay.kube import Client
from jobrelay.relay.api.names import BASE
from jobrelay.web.security import HEADERS
from tests.web.browsing import CannedApi, Elements, browsing, canned

PAGES = ("/", "/workloads", "/workloads/default/job:train", "/workers", "/queues")
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='x"


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_has_landmarks_one_heading_and_a_way_past_the_navigation(path: str) -> None:
    async with browsing(Client(CannedApi(canned()))) as browser:
        page = Elements((await browser.get(path)).text)
    assert [len(page.all(tag)) for tag in ("main", "header", "footer", "h1")] == [1, 1, 1, 1]
    assert {"class": "skip", "href": "#main"} in page.all("a")
    assert next(each["aria-label"] for each in page.all("nav")) == "Pages"
    assert any(each.get("aria-live") == "polite" for each in page.all("p"))


@pytest.mark.parametrize("path", PAGES)
async def test_tables_have_captions_and_heads_with_scopes(path: str) -> None:
    async with browsing(Client(CannedApi(canned()))) as browser:
        page = Elements((await browser.get(path)).text)
    assert len(page.all("caption")) == len(page.all("table")) > 0
    assert all(each.get("scope") in ("col", "row") for each in page.all("th"))


@pytest.mark.parametrize("path", PAGES)
async def test_every_field_and_picture_has_a_name(path: str) -> None:
    async with browsing(Client(CannedApi(canned()))) as browser:
        page = Elements((await browser.get(path)).text)
    labelled = {each.get("for") for each in page.all("label")}
    fields = [each for tag in ("input", "select") for each in page.all(tag) if each.get("type") != "hidden"]
    assert all(each.get("id") in labelled or each.get("type") == "checkbox" for each in fields)
    assert all(each.get("aria-hidden") or each.get("aria-label") for each in page.all("svg"))


@pytest.mark.parametrize("path", PAGES)
async def test_what_comes_from_a_cluster_is_never_markup(path: str) -> None:
    async with browsing(Client(CannedApi(canned(EVIL)))) as browser:
        answer = await browser.get(path)
    page = Elements(answer.text)
    assert answer.status == 200
    assert EVIL not in answer.text
    assert "<script>alert(1)</script>" in "".join(page.texts)
    assert [each.get("src") for each in page.all("script")] == ["/static/page.js"]
    assert page.all("img") == []
    assert [name for _, found in page.found for name in found if name.startswith("on")] == []


@pytest.mark.parametrize("path", [*PAGES, "/static/page.js", "/nothing", "/workloads/default/job:gone", "/stream"])
async def test_every_answer_says_what_the_browser_may_load(path: str) -> None:
    async with browsing(Client(CannedApi(canned())), opened=path != "/stream") as browser:
        answer = await browser.get(path)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    policy = dict(each.strip().partition(" ")[::2] for each in HEADERS["Content-Security-Policy"].split(";"))
    assert (policy["default-src"], policy["script-src"], policy["style-src"]) == ("'none'", "'self'", "'self'")
    assert policy["frame-ancestors"] == "'none'"


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_needs_nothing_inline_and_nothing_from_elsewhere(path: str) -> None:
    async with browsing(Client(CannedApi(canned()))) as browser:
        page = Elements((await browser.get(path)).text)
    links = [found.get("href") or found.get("src") for tag in ("link", "script") for found in page.all(tag)]
    assert sorted(links) == ["/static/icon.svg", "/static/page.js", "/static/style.css"]
    assert [found for _, found in page.found if "style" in found] == []
    assert page.all("style") == []


async def test_the_files_of_the_pages_load_nothing_either() -> None:
    async with browsing(Client(CannedApi(canned()))) as browser:
        texts = [(await browser.get(f"/static/{name}")).text for name in ("style.css", "page.js")]
    assert [word for text in texts for word in ("http:", "https:", "@import", "url(", "eval(") if word in text] == []
    assert re.findall(r"(inner|outer)HTML\s*=[^=]|insertAdjacent|document\.write", texts[1]) == []


async def test_the_overview_counts_and_tells_the_pace_and_who_waits_longest() -> None:
    async with browsing(Client(CannedApi(canned(Running=3, Waiting=12000, Failed=1)))) as browser:
        text = (await browser.get("/")).text
    page = Elements(text)
    assert "3 running, 12 000 waiting; 1 of 1 workers cannot be reached: train." in page.texts
    assert "12\u202f000</span>" in text
    assert {"class": "tile bad", "href": "/workloads?status=Failed&namespace="} in page.all("a")
    assert {"href": "/workloads/default/job%3Atrain"} in page.all("a")
    labels = [each["aria-label"] for each in page.all("svg") if each.get("role") == "img"]
    assert [text.partition(" now")[0] for text in labels if text] == ["Running: 3", "Waiting: 12000"]


async def test_a_workload_shows_verdicts_runs_events_and_its_object() -> None:
    async with browsing(Client(CannedApi(canned("train")))) as browser:
        page = Elements((await browser.get("/workloads/default/job:train")).text)
    said = " ".join(page.texts)
    for text in ("WorkerLost", "Workers, if it were placed now", "cannot", "may still exist", "×3", "created"):
        assert text in said
    assert "managedBy: jobrelay.dev/relay" in said
    assert "managedFields" not in said
    assert [each["data-log"] for each in page.all("pre") if "data-log" in each] == ["default/job:train"]


async def test_workers_say_how_old_their_news_is() -> None:
    async with browsing(Client(CannedApi(canned()))) as browser:
        page = Elements((await browser.get("/workers")).text)
    assert "Heard from" in page.texts
    assert "lost for" in page.texts
    assert all(each.get("datetime") for each in page.all("time"))


async def test_queues_are_shown_with_quotas_and_who_waits() -> None:
    async with browsing(Client(CannedApi(canned("gpus")))) as browser:
        page = Elements((await browser.get("/queues")).text)
    assert "3 admitted, 12 000 pending; cohort gpus; gpus" in page.texts
    assert "inactive" in page.texts
    table = page.texts.index("Borrowed")
    assert page.texts[table + 1 : table + 6] == ["cpu", "gpus", "4", "5", "1"]
    assert page.texts[page.texts.index("Waiting for quota") :].count("gpus") == 2


async def test_who_may_not_list_cluster_queues_sees_those_of_the_namespace() -> None:
    refused = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not you"}
    answers = canned("gpus") | {"/apis/kueue.x-k8s.io/v1beta2/clusterqueues": refused}
    async with browsing(Client(CannedApi(answers))) as browser:
        page = Elements((await browser.get("/queues")).text)
    assert "Where to submit" in page.texts
    assert any(text.startswith("Not all can be shown: ") for text in page.texts)


async def test_where_there_are_no_queues_there_is_no_page_of_them() -> None:
    answers = canned()
    del answers["/apis/kueue.x-k8s.io/v1beta2"]
    async with browsing(Client(CannedApi(answers))) as browser:
        page = Elements((await browser.get("/")).text)
    assert "Queues" not in page.texts


@pytest.mark.parametrize(
    ("answer", "status", "title"),
    [
        ({"kind": "Status", "code": 403, "message": "not you"}, 403, "You may not see this"),
        ({"kind": "Status", "code": 503, "message": "gone"}, 503, "The relay does not answer"),
        ({"kind": "Status", "code": 401, "message": "who?"}, 401, "The management cluster does not know you"),
        ({"kind": "Status", "code": 500, "message": "no"}, 502, "The management cluster does not answer"),
    ],
)
async def test_what_goes_wrong_is_a_page_that_says_what_to_do(answer: object, status: int, title: str) -> None:
    api = CannedApi(canned() | {f"{BASE}/namespaces/x/activity": answer})
    async with browsing(Client(api, retries=0)) as browser:
        found = await browser.get("/?namespace=x")
    assert found.status == status
    assert title in Elements(found.text).texts
    assert "Hint: " in found.text


@pytest.mark.parametrize(
    "path", ["/workloads/default/job:gone", "/workloads/..%2F..%2Fx/job:train", "/workloads/a/b%2Fc"]
)
async def test_what_there_is_not_is_not_found(path: str) -> None:
    async with browsing(Client(CannedApi(canned()))) as browser:
        assert (await browser.get(path)).status == 404


async def test_the_whole_log_is_plain_text() -> None:
    async with browsing(Client(CannedApi(canned(EVIL)))) as browser:
        answer = await browser.get("/workloads/default/job:train/log")
    assert (answer.text, answer.headers["Content-Type"]) == (f"{EVIL}\n", "text/plain; charset=utf-8")
