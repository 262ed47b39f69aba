"""Running reconcilers, as controller-runtime does.

A `Controller` watches `Cache`s and calls a reconcile function with the keys of changed objects, from a `WorkQueue`. A
`Manager` starts caches and controllers in order and stops them in reverse. A `ControllerContext` is what the
controllers of one program share.
"""

from __future__ import annotations

from .context import ControllerContext
from .controller import LOW_PRIORITY, Controller, ControllerMetrics, Mapper
from .manager import Group, Manager, Runnable
from .metrics import RunnablesCollector
from .queue import QueueClosed, WorkQueue
from .reconciler import DONE, Reconcile, Result, TerminalError

__all__ = [
    "DONE", "LOW_PRIORITY", "Controller", "ControllerContext", "ControllerMetrics", "Group", "Manager", "Mapper",
    "QueueClosed", "Reconcile", "Result", "Runnable", "RunnablesCollector", "TerminalError", "WorkQueue",
]  # fmt: skip
