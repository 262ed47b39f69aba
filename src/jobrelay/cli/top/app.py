"""The screen of `jobrelay top`.

A task takes a snapshot after each interval and shows it; while one fails, the last one stays, with the error above it.
The workload under the cursor stays selected when rows come and go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Input, Static

from jobrelay.cli.colours import COLOUR_OF_TONE
from jobrelay.cli.top.detail import WorkloadScreen
from jobrelay.cli.top.fleet_snapshot import (
    ORDERS,
    WORKER_COLUMNS,
    FleetSnapshot,
    Row,
    TopSource,
    matching,
    ordered,
    summary,
    workload_columns,
)
from jobrelay.cli.worker_rows import worker_row
from jobrelay.kube import KubeError
from jobrelay.operate.errors import OperateError
from jobrelay.sdk.tones import tone

__all__ = ["TopApp"]

_WIDEST: Final = 60


class TopApp(App[None]):
    """Workers above, workloads below."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #summary { height: auto; padding: 0 1; }
    #workers { height: auto; max-height: 40%; }
    #workloads { height: 1fr; }
    #filter { display: none; }
    #filter.open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("slash", "filter", "Filter"),
        Binding("s", "sort", "Sort"),
        Binding("S", "reverse", "Reverse"),
        Binding("r", "refresh", "Look again"),
        Binding("escape", "leave_filter", "All", show=False),
    ]

    def __init__(self, source: TopSource, *, interval: float, everywhere: bool) -> None:
        super().__init__()
        self._source, self._interval = source, interval
        self._columns = workload_columns(everywhere)
        self._snapshot = FleetSnapshot((), ())
        self._words, self._order, self._reverse = "", ORDERS[0], False
        self._shown: list[Row] = []

    def compose(self) -> ComposeResult:
        yield Static("looking ...", id="summary", markup=False)
        yield DataTable(id="workers", cursor_type="none", zebra_stripes=True)
        yield DataTable(id="workloads", cursor_type="row")
        yield Input(placeholder="words that rows must have", id="filter")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#workers", DataTable).add_columns(*(each.upper() for each in WORKER_COLUMNS))
        self.query_one("#workloads", DataTable).add_columns(*(each.upper() for each in self._columns))
        self.query_one("#workloads").focus()
        self.set_interval(self._interval, self.action_refresh)
        self.action_refresh()

    def action_refresh(self) -> None:
        """Takes a snapshot in the background; one that is still under way is given up for it only if it has failed."""
        if not any(each.group == "snapshot" and each.is_running for each in self.workers):
            self.run_worker(self._take_snapshot(), group="snapshot", exit_on_error=False)

    async def _take_snapshot(self) -> None:
        try:
            self._snapshot = await self._source.snapshot()
        except (KubeError, OperateError) as error:
            self._say(f"{summary(self._snapshot)} · {str(error).partition(chr(10))[0]}")
            return
        self._show()

    def _say(self, text: str) -> None:
        self.query_one("#summary", Static).update(text)

    def _show(self) -> None:
        """Fills both tables with what was seen last."""
        arrow = "↓" if self._reverse else "↑"
        filtered = f" · filter: {self._words}" if self._words else ""
        note = f" · {self._snapshot.problem}" if self._snapshot.problem else ""
        self._say(f"{summary(self._snapshot)} · by {self._order} {arrow}{filtered}{note}")
        workers = self.query_one("#workers", DataTable)
        workers.clear()
        for view in self._snapshot.workers:
            row = worker_row(view)
            workers.add_row(*(_cell(row, column) for column in WORKER_COLUMNS))
        self._show_workloads()

    def _show_workloads(self) -> None:
        table = self.query_one("#workloads", DataTable)
        chosen = self.chosen
        self._shown = ordered(matching(self._snapshot.workloads, self._words), self._order, reverse=self._reverse)
        table.clear()
        for row in self._shown:
            table.add_row(*(_cell(row, column) for column in self._columns))
        keys = [_key(row) for row in self._shown]
        if chosen is not None and _key(chosen) in keys:
            table.move_cursor(row=keys.index(_key(chosen)))

    @property
    def chosen(self) -> Row | None:
        """The workload that the cursor is on."""
        index = self.query_one("#workloads", DataTable).cursor_row
        return self._shown[index] if 0 <= index < len(self._shown) else None

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Enter: look into the workload."""
        if event.data_table.id == "workloads" and self.chosen is not None:
            self.push_screen(WorkloadScreen(self._source, self.chosen))

    def action_sort(self) -> None:
        """Sorts by the next column."""
        self._order = ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)]
        self._show()

    def action_reverse(self) -> None:
        self._reverse = not self._reverse
        self._show()

    def action_filter(self) -> None:
        """Asks for the words that rows must have."""
        box = self.query_one("#filter", Input)
        box.add_class("open")
        box.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._words = event.value
        self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._close_filter()

    def action_leave_filter(self) -> None:
        """Shows all rows again."""
        self.query_one("#filter", Input).value = ""
        self._close_filter()

    def _close_filter(self) -> None:
        self.query_one("#filter", Input).remove_class("open")
        self.query_one("#workloads").focus()


def _key(row: Row) -> tuple[str, str, str]:
    return row["kind"], row["namespace"], row["name"]


def _cell(row: Mapping[str, object], column: str) -> Text:
    """A cell, which is no markup; states are in colour."""
    text = "-" if row[column] is None else str(row[column])
    shown = Text(text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3].rstrip()}...")
    if column in ("status", "state"):
        shown.stylize(COLOUR_OF_TONE.get(tone(text.rpartition(",")[2]), ""))
    return shown
