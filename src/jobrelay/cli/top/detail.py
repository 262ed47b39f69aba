"""One workload of `jobrelay top`: why it is where it is, and its logs as they come."""

from __future__ import annotations

from contextlib import aclosing
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, Log, Static

from jobrelay.cli.top.fleet_snapshot import Row, TopSource
from jobrelay.kube import KubeError
from jobrelay.operate.errors import OperateError

__all__ = ["WorkloadScreen"]


class WorkloadScreen(Screen[None]):
    """The explanation above, the logs below; both are asked for when the screen is opened."""

    CSS = """
    #explanation { height: auto; max-height: 50%; overflow-y: auto; padding: 0 1; }
    #logs { height: 1fr; border-top: solid $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.pop_screen", "Back"),
        Binding("r", "explain", "Explain again"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, source: TopSource, row: Row) -> None:
        super().__init__()
        self._source, self._row = source, row

    def compose(self) -> ComposeResult:
        yield Static("asking ...", id="explanation", markup=False)
        yield Log(id="logs")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#logs").focus()
        self.action_explain()
        self.run_worker(self._follow(), group="logs", exit_on_error=False)

    def action_explain(self) -> None:
        """Asks why it is where it is."""
        self.run_worker(self._explain(), group="explain", exclusive=True, exit_on_error=False)

    async def _explain(self) -> None:
        try:
            text = "\n".join(await self._source.explain(self._row))
        except (KubeError, OperateError) as error:
            text = str(error)
        self.query_one("#explanation", Static).update(text)

    async def _follow(self) -> None:
        log = self.query_one("#logs", Log)
        try:
            async with aclosing(self._source.logs(self._row)) as lines:
                async for line in lines:
                    log.write_line(line)
            log.write_line("(the end of the logs)")
        except (KubeError, OperateError) as error:
            log.write_line(f"({error})")
