"""The whole fleet on virtual time, with injected faults: the production code of clusters and relay as one program.

`play(draw(seed))` runs the schedule of a seed and says which promises were broken. The same seed gives the same run.
"""

from jobrelay.simulation.loop import leave_runs
from jobrelay.simulation.playing import Outcome, play
from jobrelay.simulation.schedules import INCIDENTS, ApiServerKind, Incident, JobPlan, Schedule, draw
from jobrelay.simulation.series import run_all
from jobrelay.simulation.shrinking import name_part, shrink, take_part

__all__ = [
    "INCIDENTS", "ApiServerKind", "Incident", "JobPlan", "Outcome", "Schedule", "draw", "leave_runs",
    "name_part", "play", "run_all", "shrink", "take_part",
]  # fmt: skip
