"""Searches for every defect, and prints or writes the table of `docs/concepts/simulation.md`.

python -m tests.simulation.defects            print it
python -m tests.simulation.defects --write    put it into the page
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial

from jobrelay.simulation import run_all
from tests.simulation.defects.catalog import DEFECTS
from tests.simulation.defects.finding import MOST
from tests.simulation.defects.table import make_table, search, write


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.defects")
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    parser.add_argument("--most", type=int, default=MOST, help="schedules to try for each (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one per processor")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # on which the order of sets depends: a seed means the same everywhere
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {"PYTHONHASHSEED": "0"})
    found = list(run_all(partial(search, most=options.most), range(len(DEFECTS)), options.processes))
    table = make_table(found, options.most)
    print(table, end="")
    if options.write:
        write(table)
    sys.exit(None in found)


if __name__ == "__main__":
    main()
