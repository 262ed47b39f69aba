from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jobrelay.control.indexed_heap import IndexedHeap


def drain(heap: IndexedHeap[str]) -> list[str]:
    order = []
    while (first := heap.first()) is not None:
        order.append(first[0])
        heap.discard(first[0])
    return order


def test_lowest_rank_first_then_first_come() -> None:
    heap: IndexedHeap[str] = IndexedHeap()
    for key, rank in [("b", 1), ("c", 1), ("a", 0)]:
        heap.push(key, rank)
    assert drain(heap) == ["a", "b", "c"]


def test_a_new_rank_replaces_the_old() -> None:
    heap: IndexedHeap[str] = IndexedHeap()
    heap.push("a", 5)
    heap.push("b", 3)
    heap.push("a", 1)
    assert len(heap) == 2
    assert heap.rank("a") == 1
    assert drain(heap) == ["a", "b"]


def test_oldest_ignores_rank() -> None:
    heap: IndexedHeap[str] = IndexedHeap()
    heap.push("a", 9)
    heap.push("b", 1)
    assert heap.oldest() == "a"


def test_removed_entries_are_swept_out() -> None:
    heap: IndexedHeap[int] = IndexedHeap()
    for number in range(10_000):
        heap.push(number % 3, number)
    assert len(heap._heap) <= 64 + 1


@given(st.lists(st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(0, 20)))))
def test_it_behaves_like_a_sorted_dict(operations: list[tuple[int, int | None]]) -> None:
    heap: IndexedHeap[int] = IndexedHeap()
    model: dict[int, int] = {}
    for key, rank in operations:
        if rank is None:
            heap.discard(key)
            model.pop(key, None)
        else:
            heap.push(key, rank)
            model[key] = rank
        lowest = heap.first()
        assert (lowest[1] if lowest else None) == min(model.values(), default=None)
        assert len(heap) == len(model)
