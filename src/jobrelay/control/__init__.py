"""Running reconcilers: work queue, controllers, and the manager that owns their lifetimes."""

from __future__ import annotations

from .controller import LOW_PRIORITY, Controller, ControllerMetrics, Mapper
from .manager import Group, Manager, Runnable
from .metrics import RunnablesCollector
from .queue import QueueClosed, WorkQueue
from .reconciler import DONE, Reconcile, Result, TerminalError

__all__ = [
    "DONE",
    "LOW_PRIORITY",
    "Controller",
    "ControllerMetrics",
    "Group",
    "Manager",
    "Mapper",
    "QueueClosed",
    "Reconcile",
    "Result",
    "Runnable",
    "RunnablesCollector",
    "TerminalError",
    "WorkQueue",
]
