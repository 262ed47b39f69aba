"""`jobrelay top`: one snapshot for programs, the screen by its keys, and the whole in a real terminal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Log, Static

from jobrelay.cli.top.app import TopApp, _cell
from jobrelay.cli.top.fleet_snapshot import FleetSnapshot, Row, matching, ordered, summary
from jobrelay.cli.top.once import print_snapshot
from jobrelay.kube import ConnectError
from jobrelay.relay.worker_view import WorkerView
from tests.relay.fleets import MakeFleet

from .command import COMMAND, run
from .fleets import answering_fleet, call
from .terminal import in_terminal


def workload(name: str, status: str = "Running", kind: str = "Job", cluster: str | None = "east", why: str = "") -> Row:
    return {
        "namespace": "default", "kind": kind, "name": name, "status": status, "cluster": cluster, "run": 1,
        "age": "5s", "why": why, "sentence": why,
    }  # fmt: skip


EAST, WEST = WorkerView("east", True, "open", 2), WorkerView("west", False, "open", 0, "no route")
ROWS = (
    workload("train"),
    workload("old", "Complete"),
    workload("big", "Waiting", "RayJob", None, "needs 64 cpu, largest node 2"),
)


class Scripted:
    """A source that shows what it is given."""

    def __init__(self, *snapshots: FleetSnapshot | Exception) -> None:
        self.snapshots = list(snapshots) or [FleetSnapshot((EAST, WEST), ROWS)]
        self.asked: list[str] = []

    async def snapshot(self) -> FleetSnapshot:
        found = self.snapshots.pop(0) if len(self.snapshots) > 1 else self.snapshots[0]
        if isinstance(found, Exception):
            raise found
        return found

    async def explain(self, row: Row) -> list[str]:
        self.asked.append(row["name"])
        return [f"{row['name']} waits for room."]

    async def logs(self, row: Row) -> AsyncGenerator[str, None]:
        for number in range(2):
            yield f"line {number} of {row['name']} [bold]"


def app_of(source: Scripted) -> TopApp:
    return TopApp(source, interval=3600.0, everywhere=False)


def names(app: TopApp) -> list[str]:
    table = app.query_one("#workloads", DataTable)
    return [str(table.get_row_at(index)[1]) for index in range(table.row_count)]


def worker_cells(app: TopApp, index: int) -> list[str]:
    return list(map(str, app.query_one("#workers", DataTable).get_row_at(index)))


async def settled(pilot: Pilot[None], *keys: str) -> None:
    """Presses keys, and waits until all that they have started has ended."""
    await pilot.press(*keys)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def test_what_needs_attention_comes_first_and_workers_are_above() -> None:
    app = app_of(Scripted())
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        assert names(app) == ["big", "train", "old"]
        assert worker_cells(app, 1)[:2] == ["west", "unreachable"]
        shown = str(app.query_one("#summary", Static).render())
        assert "1 of 2 workers connected · 3 workloads: 1 running, 1 complete, 1 waiting · by status" in shown


def test_states_are_in_colour_and_cells_are_no_markup() -> None:
    assert [str(each.style) for each in _cell({"status": "Lost"}, "status").spans] == ["red"]
    assert _cell({"why": "[red]a[/red]"}, "why").plain == "[red]a[/red]"
    assert not _cell({"why": "Lost"}, "why").spans


async def test_keys_sort_and_reverse() -> None:
    app = app_of(Scripted())
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot, "s")
        assert names(app) == ["big", "old", "train"]
        await settled(pilot, "S")
        assert names(app) == ["train", "old", "big"]


async def test_a_filter_narrows_while_it_is_typed_and_escape_ends_it() -> None:
    app = app_of(Scripted())
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot, "slash", *"64 ray")
        assert names(app) == ["big"]
        await settled(pilot, "enter")
        assert (names(app), app.query_one("#filter", Input).has_class("open")) == (["big"], False)
        await settled(pilot, "escape")
        assert names(app) == ["big", "train", "old"]


async def test_enter_shows_explanation_and_logs_and_escape_goes_back() -> None:
    source = Scripted()
    app = app_of(source)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await settled(pilot, "down", "enter")
        assert source.asked == ["train"]
        assert str(app.screen.query_one("#explanation", Static).render()) == "train waits for room."
        logged = list(app.screen.query_one("#logs", Log).lines)
        assert logged[:3] == ["line 0 of train [bold]", "line 1 of train [bold]", "(the end of the logs)"]
        await settled(pilot, "escape")
        assert names(app) == ["big", "train", "old"]


async def test_the_chosen_workload_stays_chosen_when_rows_come_and_go() -> None:
    more = FleetSnapshot((EAST,), (workload("first", "Waiting"), *ROWS))
    app = app_of(Scripted(FleetSnapshot((EAST,), ROWS), more))
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await settled(pilot, "down")
        await settled(pilot, "r")
        assert names(app) == ["big", "first", "train", "old"]
        assert app.chosen is not None
        assert app.chosen["name"] == "train"


async def test_a_look_that_fails_leaves_the_last_one_and_says_why() -> None:
    app = app_of(Scripted(FleetSnapshot((EAST,), ROWS), ConnectError("nobody there\nhint: try")))
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await settled(pilot, "r")
        assert len(names(app)) == 3
        assert str(app.query_one("#summary", Static).render()).endswith("· nobody there")


async def test_q_ends_it() -> None:
    app = app_of(Scripted())
    async with app.run_test() as pilot:
        await pilot.press("q")
    assert app.return_code == 0


@pytest.mark.parametrize(("words", "found"), [("", 3), ("TRAIN", 1), ("job east", 2), ("nothing", 0)])
def test_rows_match_by_all_words(words: str, found: int) -> None:
    assert len(matching(ROWS, words)) == found


def test_rows_without_a_cluster_are_sorted_first() -> None:
    assert [row["name"] for row in ordered(ROWS, "cluster")] == ["big", "old", "train"]
    assert summary(FleetSnapshot((), ())) == "0 of 0 workers connected · 0 workloads"


TABLE = """\
NAME   STATE         JOBS   NODES   CPU   MEMORY   REASON
east   connected     2      ?       ?     ?
west   unreachable   0      ?       ?     ?        no route

KIND     NAME    STATUS     CLUSTER   RUN   AGE   WHY
RayJob   big     Waiting    -         1     5s    needs 64 cpu, largest node 2
Job      train   Running    east      1     5s
Job      old     Complete   east      1     5s
"""


def test_one_look_is_a_table_with_a_summary_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    print_snapshot(FleetSnapshot((EAST, WEST), ROWS, "no relay is running"), "table", everywhere=False)
    printed = capsys.readouterr()
    assert printed.out == TABLE
    assert printed.err == (
        "1 of 2 workers connected · 3 workloads: 1 running, 1 complete, 1 waiting\n"
        "note: no relay is running; showing what the management cluster knows\n"
    )


async def test_one_look_at_a_fleet_is_what_get_shows(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit()
        await it.finished()
        await it.submit("wait", annotations={"jobrelay.dev/clusters": "nowhere"})
        found = json.loads((await call(it, "top", "--once", "-o", "json")).stdout)
        place = await it.place()
    assert [worker["name"] for worker in found["workers"]] == ["worker-1", "worker-2"]
    assert [(row["kind"], row["name"], row["status"], row["cluster"]) for row in found["workloads"]] == [
        ("Job", "wait", "Waiting", None),
        ("Job", "train", "Complete", place),
    ]


def test_without_a_terminal_it_says_how_to_look_once() -> None:
    result = run("top")
    assert (result.returncode, "hint: print one snapshot with --once" in result.stderr) == (2, True)


async def test_in_a_terminal_it_shows_the_fleet_and_ends_by_q(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit()
        command = [*COMMAND, "top", "--kubeconfig", str(it.management.kubeconfig)]
        code, _ = await asyncio.to_thread(in_terminal, command, b"worker-2", b"q")
    assert code == 0
