"""Managers work on embedded clusters, and leave the same objects there as on real ones."""

from __future__ import annotations

import functools
import pathlib
from typing import Final

import pytest

from tests.oracle.job_scripts.compare import differences

from . import clusters, programs
from .managers import ORDER, Manager, load
from .picture import picture
from .story import Story, play

pytestmark = pytest.mark.adopters

STORIES: Final[dict[str, Story]] = {}
"""What embedded clusters have told, for the comparison with real ones."""


@functools.cache
def _versions() -> dict[str, str]:
    return programs.versions()


@pytest.fixture(params=ORDER)
def manager(request: pytest.FixtureRequest) -> Manager:
    if lacking := programs.lacking():
        pytest.skip(lacking)
    found = load(request.param)
    if missing := programs.missing(found, _versions()):
        pytest.skip(f"not built: {' '.join(missing)}")
    return found


async def _embedded(manager: Manager, folder: pathlib.Path) -> Story:
    if manager.name not in STORIES:
        folder.mkdir()
        async with clusters.embedded(folder) as kubeconfig:
            STORIES[manager.name] = await play(manager, kubeconfig, folder)
    return STORIES[manager.name]


async def test_a_manager_brings_an_object_to_its_end_and_refuses_a_bad_one(
    manager: Manager, tmp_path: pathlib.Path
) -> None:
    story = await _embedded(manager, tmp_path / "embedded")
    print(f"{manager.name}: {story.seconds:.1f} s from its creation to its end")
    assert story.refusal == manager.refusal


async def test_a_manager_leaves_the_same_objects_as_on_a_real_cluster(manager: Manager, tmp_path: pathlib.Path) -> None:
    async with clusters.real(tmp_path) as kubeconfig:
        theirs = picture(await play(manager, kubeconfig, tmp_path), manager.varying)
    ours = picture(await _embedded(manager, tmp_path / "embedded"), manager.varying)
    found = differences(manager.name, theirs, ours)[1:]
    assert found == [], "\n".join(found)
