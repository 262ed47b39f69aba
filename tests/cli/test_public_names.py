"""The public names of each package are those on the reference page, and the page is up to date."""

from __future__ import annotations

import importlib
import pathlib
from types import ModuleType

import pytest

import jobrelay
from tools import conformancerules, reference, statusrules

MODULES = [importlib.import_module(name) for name in reference.PACKAGES]
DOORS = ["Cluster", "Client", "Cache", "Controller", "Manager", "Adapter", "PlacementPolicy", "Relay"]


def bound_names(module: ModuleType) -> set[str]:
    """What a package's `__init__` defines or imports from the package itself."""
    found = {name: thing for name, thing in vars(module).items() if not name.startswith("_")}
    return {
        name
        for name, thing in found.items()
        if not isinstance(thing, ModuleType) and str(getattr(thing, "__module__", "")).startswith(module.__name__)
    }


def test_the_page_is_up_to_date() -> None:
    assert reference.PAGE.read_text() == reference.page(), "run `make reference`"


def test_the_page_of_status_rules_is_up_to_date() -> None:
    assert statusrules.PAGE.read_text() == statusrules.page(), "run `make reference`"


def test_the_page_of_conformance_is_up_to_date() -> None:
    assert conformancerules.PAGE.read_text() == conformancerules.page(), "run `make reference`"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_package_binds_no_public_name_that_is_not_listed(module: ModuleType) -> None:
    assert bound_names(module) <= set(module.__all__)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_listed_name_exists_once(module: ModuleType) -> None:
    assert all(hasattr(module, name) for name in module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)


def test_an_unlisted_name_is_an_attribute_error() -> None:
    for module in MODULES:
        with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
            _ = module.Nonsense


def test_the_page_has_what_others_build_on() -> None:
    listed = {name for module in MODULES for name in module.__all__}
    assert set(DOORS) <= listed


def test_the_package_says_that_it_is_typed() -> None:
    assert (pathlib.Path(jobrelay.__file__).parent / "py.typed").exists()
