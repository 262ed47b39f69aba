"""Stories of a worker that is lost, all played at once: the objects that run there share its fate.

A worker is cut off twice. The first time it returns: what somebody there did meanwhile is shown then. The second time
it is declared lost: what it ran goes on elsewhere, and it has to give up its mirrors when it returns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from jobrelay.kube import merge_patch
from jobrelay.relay.model import State
from jobrelay.relay.relay import RelayManager
from jobrelay.workloads import Adapter
from jobrelay.workloads.declared import paths
from jobrelay.workloads.declared.predicates import holds

from .managers import Obj
from .relayed_stories import Delegated
from .stage import EMBEDDED, REAL, Stage
from .story import NAMESPACE

Outcomes: TypeAlias = dict[str, BaseException | None]
"""What became of each story: nothing that was not expected, or an error."""
RETURNS, MOVES = "returns", "moves"
STORIES: Final = (RETURNS, MOVES)


async def play(it: Stage, relay: RelayManager, adapters: Mapping[str, Adapter]) -> Outcomes:
    """Play both stories for every kind."""
    found = {
        f"{kind.kind.lower()}-{story}": Delegated(
            kind, adapters[kind.kind], f"{kind.kind.lower()}-{story}", it.home, it.workers[EMBEDDED]
        )
        for kind in it.relayed.kinds
        for story in STORIES
    }
    outcomes: Outcomes = dict.fromkeys(found)
    back = {name: each for name, each in found.items() if name.endswith(RETURNS)}
    moved = {name: each for name, each in found.items() if name.endswith(MOVES)}
    await _each(found, outcomes, _begin)
    async with it.wires.cut_off(relay, EMBEDDED):
        await _each(back, outcomes, _is_stopped_there)
    await _each(back, outcomes, _is_back)
    elsewhere = {name: replace(each, worker=it.workers[REAL]) for name, each in moved.items()}
    async with it.wires.cut_off(relay, EMBEDDED):
        it.source.declare(EMBEDDED, State.LOST)
        await _each(elsewhere, outcomes, Delegated.runs)
        it.source.declare(EMBEDDED, State.OPEN)
    await _each(moved, outcomes, _is_given_up)
    await _each(elsewhere, outcomes, lambda each: _ends(each, it))
    return outcomes


async def _each(
    objects: Mapping[str, Delegated], outcomes: Outcomes, step: Callable[[Delegated], Awaitable[None]]
) -> None:
    """Take a step with all objects that have come this far."""
    left = {name: step(each) for name, each in objects.items() if outcomes[name] is None}
    done = await asyncio.gather(*left.values(), return_exceptions=True)
    outcomes.update(zip(left, done, strict=True))


async def _begin(it: Delegated) -> None:
    await it.create("lasts", prefers=EMBEDDED)
    await it.runs()


async def _is_stopped_there(it: Delegated) -> None:
    """Somebody on the worker suspends the mirror, or cancels it where it cannot be suspended any more."""
    rule = it.relayed.description.suspension
    assert rule is not None
    patch: Obj = {}
    paths.put(paths.plain(rule.path), patch, it.relayed.stopped or rule.suspended)
    await it.worker.client.patch(it.resource, it.name, merge_patch(patch), NAMESPACE)
    if it.relayed.stopped:
        await it.has_mirror(lambda obj: it.adapter.read(obj).end is not None, "cancelled")
    elif rule.halted != ():
        await it.has_mirror(lambda obj: holds(rule.halted, obj.decode()), "suspended")


async def _is_back(it: Delegated) -> None:
    """What was cancelled has failed; what was suspended is resumed, since its original is not."""
    if it.relayed.stopped:
        await it.shows(lambda obj: it.relayed.has_failed(it.adapter, obj), "cancelled")
        await it.worker.gone(it.resource, it.name)
    else:
        await it.has_mirror(lambda obj: not it.adapter.read(obj).suspended, "resumed")
        await it.runs()
    await it.check()
    await it.delete()
    await it.gone()


async def _is_given_up(it: Delegated) -> None:
    await it.worker.gone(it.resource, it.name)


async def _ends(it: Delegated, stage: Stage) -> None:
    await it.runs()
    await it.check(stage.workers[EMBEDDED])
    await it.delete()
    await it.gone()
