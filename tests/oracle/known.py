"""The differences that are known: what they are, why they stay, and the requests that show them.

`known_differences.yaml` is the list. Each entry becomes a row of docs/reference/compatibility.md (`make reference`).
One with `requests` is checked: these requests, and no others, differ in these fields. One without is shown by no
request of the comparison.
"""

from __future__ import annotations

import fnmatch
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from .compare import Result

LIST = pathlib.Path(__file__).parent / "known_differences.yaml"


class KnownRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requests of a scenario that differ. `fields` are patterns of the paths at which their answers do."""

    scenario: str
    request: str
    fields: list[str]
    times: int = 1


class KnownDifference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    what: str
    here: str
    there: str = ""
    why: str = ""
    requests: list[KnownRequest] = []


class Differing(msgspec.Struct, frozen=True):
    """A request whose answers differ, and where."""

    scenario: str
    request: str
    paths: list[str]

    def is_known_as(self, known: KnownRequest) -> bool:
        return (known.scenario, known.request) == (self.scenario, self.request) and all(
            any(fnmatch.fnmatchcase(path, pattern) for pattern in known.fields) for path in self.paths
        )


def load() -> list[KnownDifference]:
    return msgspec.yaml.decode(LIST.read_bytes(), type=list[KnownDifference])


def request_text(method: str, path: str) -> str:
    return f"{method} {path}"


def differing(results: Iterable[Result]) -> list[Differing]:
    return [
        Differing(
            result.scenario.name,
            request_text(result.scenario.steps[index].method, result.scenario.steps[index].path),
            [path for path, _, _ in found],
        )
        for result in results
        for index, found in result.differing()
    ]


def problems(known: Sequence[KnownDifference], found: Sequence[Differing], played: set[str]) -> list[str]:
    """What is wrong with the list, in sentences: differences that are not on it, and entries that are out of date."""
    return [*_unknown(known, found), *_outdated(known, found, played)]


def unlisted(known: Iterable[KnownDifference], found: Iterable[Differing]) -> list[Differing]:
    """The differences that are not on the list."""
    requests = [request for entry in known for request in entry.requests]
    return [each for each in found if not any(each.is_known_as(request) for request in requests)]


def _unknown(known: Iterable[KnownDifference], found: Iterable[Differing]) -> Iterator[str]:
    for each in unlisted(known, found):
        yield f"not on the list: {each.scenario}: {each.request} differs in {', '.join(each.paths[:5])}"


def _outdated(known: Iterable[KnownDifference], found: Sequence[Differing], played: set[str]) -> Iterator[str]:
    for entry in known:
        for request in entry.requests:
            if request.scenario not in played:
                continue
            same = [each for each in found if each.is_known_as(request)]
            paths = [path for each in same for path in each.paths]
            unused = [pattern for pattern in request.fields if not fnmatch.filter(paths, pattern)]
            where = f"{request.scenario}: {request.request} of the entry {entry.what!r}"
            if not same:
                yield f"no longer differs: remove {where} from {LIST.name}"
            elif len(same) != request.times:
                yield f"differs {len(same)} times, not {request.times}: correct {where} in {LIST.name}"
            elif unused:
                yield f"no longer differs in {', '.join(unused)}: correct {where} in {LIST.name}"


def share_known(known: Iterable[KnownDifference], steps: Mapping[str, int]) -> float:
    """The share of all requests that are on the list; `steps` is the number of requests by scenario."""
    return sum(request.times for entry in known for request in entry.requests) / sum(steps.values())
