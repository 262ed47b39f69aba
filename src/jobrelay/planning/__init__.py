"""Plans: runs a trace of Jobs on a fleet under a placement policy, on virtual time.

The relay's own code decides: placement, the order of Jobs that wait, what is done about lost and drained workers.
`run_plan(read_fleet(...), read_trace(...), "least-loaded")` returns waiting times, use, moves and fairness.
"""

from jobrelay.planning.errors import PlanError
from jobrelay.planning.fleet import FleetDescription, WorkerDescription, WorkerDisruption, parse_fleet, read_fleet
from jobrelay.planning.measures import NamespaceResult, PlanResult
from jobrelay.planning.running import run_plan
from jobrelay.planning.synthetic import SyntheticSpec, SyntheticTrace, parse_synthetic
from jobrelay.planning.trace import Trace, TraceJob, parse_trace, read_trace

__all__ = [
    "FleetDescription",
    "NamespaceResult",
    "PlanError",
    "PlanResult",
    "SyntheticSpec",
    "SyntheticTrace",
    "Trace",
    "TraceJob",
    "WorkerDescription",
    "WorkerDisruption",
    "parse_fleet",
    "parse_synthetic",
    "parse_trace",
    "read_fleet",
    "read_trace",
    "run_plan",
]  # fmt: skip
