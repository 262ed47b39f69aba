"""What is started for one manager serves all tests of a module about it: with xdist they go to one process."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        if item.get_closest_marker("adopters") is not None:
            known = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
            item.add_marker(pytest.mark.xdist_group(f"{item.path.stem}-{known.get('manager', '')}"))
