"""Workers as table rows."""

from __future__ import annotations

from typing import Any

from jobrelay.relay.worker_view import ResourceUsage, WorkerView

__all__ = ["worker_row"]

_UNITS = ((2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))


def worker_row(view: WorkerView) -> dict[str, Any]:
    """One worker; `state` combines whether it is connected with the state that its operator has set."""
    return {
        "name": view.name,
        "state": _state(view),
        "jobs": view.jobs,
        "nodes": "?" if view.nodes is None else view.nodes,
        "cpu": _share(view.cpu, _plain),
        "memory": _share(view.memory, _bytes),
        "reason": _reason(view),
        "room": f"unknown: {view.capacity_unknown}" if view.capacity_unknown else "known",
        "version": view.version or None,
        "pending": view.pending_pods,
        "lost": view.lost_since or None,
    }


def _state(view: WorkerView) -> str:
    reached = "connected" if view.connected else "unreachable"
    return reached if view.state == "open" else f"{reached},{view.state}"


def _reason(view: WorkerView) -> str:
    parts = [view.reason if not view.connected else "", *view.remarks]
    if view.connected:
        parts += (f"gets no {kind.partition('.')[0]}: {why}" for kind, why in view.unfit.items())
    if view.stale_mirrors:
        parts.append(f"{view.stale_mirrors} stale mirrors to stop first")
    return "; ".join(part for part in parts if part)


def _share(room: ResourceUsage | None, text: Any) -> str:
    return "?" if room is None else f"{text(room.used)}/{text(room.allocatable)}"


def _plain(amount: float) -> str:
    return f"{amount:.3f}".rstrip("0").rstrip(".")


def _bytes(amount: float) -> str:
    for size, unit in _UNITS:
        if amount >= size:
            return f"{amount / size:.1f}".removesuffix(".0") + unit
    return _plain(amount)
