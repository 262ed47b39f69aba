"""That the relay's suite runs on real clusters too, and which tests of it do not, and why.

A test that takes `fleet` runs on embedded clusters and, under the identities of `jobrelay install` and `jobrelay worker
join`, on real ones. Those that use embedded clusters in another way are listed here.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
from collections import Counter
from collections.abc import Iterator
from types import ModuleType

FAKE_TIME = "time is the test's own, and a real cluster's is not"
RESTARTED = "its clusters are stopped and started again; tests/real/test_outages.py does that to real ones"
TWO_FLEETS = "it needs two management clusters at the same time, and there is one real one"
SCRIPTED = "a test writes the statuses of its kinds; tests/adopters runs real controllers of them"
PLAYED = "a test plays Kueue, with definitions of its own; tests/adopters/test_multikueue.py runs the real one"
RIGHTS = "the relay of the real fleet may not look for what Jobs name; in tests/operate/test_copying.py it may"
APART = "no relay runs in it: it is about one part and one management cluster"
COUNTED = "it counts requests to definitions of our own; real clusters have none of them"
EMBEDDED_ONLY = {
    "kinds.test_unused": COUNTED,
    "multikueue.test_checks": PLAYED,
    "multikueue.test_kueue_workers": PLAYED,
    "multikueue.test_plain_workers": PLAYED,
    "test_api_registration": APART,
    "test_declared_kinds": SCRIPTED,
    "test_dependencies": RIGHTS,
    "test_dependencies_copied": RIGHTS,
    "test_dependencies_custom": RIGHTS,
    "test_isolation": TWO_FLEETS,
    "test_priorities": APART,
    "workers.test_bounds": FAKE_TIME,
    "workers.test_conditions": FAKE_TIME,
    "workers.test_install": FAKE_TIME,
    "workers.test_connection": FAKE_TIME,
    "workers.test_loss": FAKE_TIME,
    "workers.test_missing_namespaces": FAKE_TIME,
    "workers.test_network": RESTARTED,
    "workers.test_proof_secret": FAKE_TIME,
    "workers.test_proving": FAKE_TIME,
    "workers.test_registry": FAKE_TIME,
    "workers.test_roles": FAKE_TIME,
    "workers.test_served_kinds": FAKE_TIME,
    "workers.test_under_faults": FAKE_TIME,
}
LEAST = {
    "test_api": 6, "test_api_activity": 4, "test_api_identity": 4, "test_api_preview": 1, "test_crashes": 3,
    "test_endpoint": 8, "test_epochs": 3, "test_hung_worker": 1, "test_late_lease": 1, "test_late_retry": 4,
    "test_lookalikes": 8, "test_misspelled": 1, "test_randomness": 1, "test_relay": 29, "test_run_history": 1,
    "test_runs": 6, "test_trouble": 12,
}  # fmt: skip
"""How many tests run on both kinds, by module: new ones are counted here, and so not left out unseen."""
HERE = pathlib.Path(__file__).parent


def _modules() -> Iterator[tuple[str, ModuleType]]:
    for path in sorted(HERE.rglob("test_*.py")):
        name = ".".join(path.relative_to(HERE).with_suffix("").parts)
        if path != pathlib.Path(__file__):
            yield name, importlib.import_module(f"tests.relay.{name}")


def _takes_fleet(module: ModuleType) -> list[bool]:
    tests = [each for name, each in vars(module).items() if name.startswith("test_") and inspect.isfunction(each)]
    return ["fleet" in inspect.signature(each).parameters for each in tests]


def _uses_embedded_clusters(module: ModuleType) -> bool:
    """By its own functions or by helpers beside it."""
    functions = [each for each in vars(module).values() if inspect.isfunction(each)]
    texts = [inspect.getsource(each) for each in functions if each.__module__.startswith("tests.relay")]
    return any(" Cluster(" in text or "(Cluster(" in text or "beside_kueue(" in text for text in texts)


def test_all_tests_on_clusters_run_on_both_kinds_but_these() -> None:
    found = {name for name, module in _modules() if not any(_takes_fleet(module)) and _uses_embedded_clusters(module)}
    assert found == set(EMBEDDED_ONLY)


def test_none_is_left_out_unseen() -> None:
    counted = Counter({name: sum(_takes_fleet(module)) for name, module in _modules()})
    assert +counted == Counter(LEAST)
