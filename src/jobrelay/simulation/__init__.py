"""The whole fleet on virtual time, with injected faults: the production code of clusters and relay as one program.

`play(draw(seed))` runs the schedule of a seed and says which promises were broken. The same seed gives the same run.
"""

from jobrelay.simulation.playing import Outcome, play
from jobrelay.simulation.schedules import DEFAULT, INCIDENTS, Incident, JobPlan, Schedule, draw
from jobrelay.simulation.shrinking import name_part, shrink, take_part

__all__ = [
    "DEFAULT", "INCIDENTS", "Incident", "JobPlan", "Outcome", "Schedule", "draw", "name_part", "play", "shrink",
    "take_part",
]  # fmt: skip
