"""`python -m bench [--json] [--only NAME]`: measures, prints a table, and exits with 1 if a target is missed."""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Final

from bench import commands, completions, dashboard, kinds, others, placement, queueing, relay, scenarios, webhooks
from bench.report import Figure, as_json, table

SCENARIOS: Final[dict[str, Callable[[pathlib.Path], list[Figure]]]] = {
    "startup": scenarios.startup,
    "commands": commands.commands,
    "writes": scenarios.writes,
    "watches": scenarios.watches,
    "others": others.others,
    "webhooks": webhooks.webhooks,
    "completions": completions.completions,
    "indexed": completions.indexed,
    "placement": placement.placement,
    "queueing-loads": queueing.loads,
    "queueing": queueing.decisions,
    "relay": relay.delegated,
    "relay-kinds": kinds.mixed,
    "relay-live": relay.live,
    "relay-many": relay.many,
    "relay-hung": relay.hung,
    "dashboard": dashboard.pages,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--only", choices=SCENARIOS, action="append", help="measure only this; may be repeated")
    parser.add_argument("--dir", default=None, help="where the clusters keep their data (a temporary folder otherwise)")
    chosen = parser.parse_args()
    begin = time.monotonic()
    figures: list[Figure] = []
    for name in chosen.only or SCENARIOS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="jobrelay-bench-", dir=chosen.dir) as folder:
            figures += SCENARIOS[name](pathlib.Path(folder))
    print(as_json(figures) if chosen.json else table(figures))
    print(f"took {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return 0 if all(figure.ok for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
