"""What is asked of a Job controller, as rules with a name, a meaning and the level that asks for it.

S1 to S34 are those of the API server, which refuses a status that breaks one. A server from before 1.32 does not, and
an audit log shows what was refused. C1 to C14 are about statuses that are legal and still wrong: a correct controller
has no reason to write them. R1 to R15 are about what becomes of a Job, its pods and what is left of them; only a
scenario, which knows how the pods end, can tell.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from jobrelay.kit import RULES

__all__ = ["CONFORMANCE_RULES", "ConformanceRule", "Level", "Violation", "rule_named"]


class Level(enum.IntEnum):
    """How much of the Job API a controller does; each level has all that the one before has."""

    NONE = 0
    """Not even the first level."""
    OBSERVES = 1
    """Its statuses keep the rules; it leaves the Jobs of others alone and nothing behind."""
    RUNS = 2
    """It runs Jobs to the end that their pods call for: completions, indexes, suspension, deadlines, limits."""
    COMPLETE = 3
    """It does all that the built-in controller does: policies, elastic Jobs, pods as the API describes them."""

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class ConformanceRule:
    """One rule: its name (`S15`, `C4`, `R2`), its meaning, and the lowest level that asks for it."""

    name: str
    meaning: str
    level: Level

    @property
    def illegal(self) -> bool:
        """Whether the API server refuses what breaks it."""
        return self.name.startswith("S")


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that was broken, and what was seen."""

    rule: ConformanceRule
    story: str

    def __str__(self) -> str:
        return f"{self.rule.name}: {self.story} ({self.rule.meaning})"


def _rules(level: Level, **meanings: str) -> tuple[ConformanceRule, ...]:
    return tuple(ConformanceRule(name, meaning, level) for name, meaning in meanings.items())


_STEPS: Final = (
    *_rules(Level.COMPLETE, C1="An end is announced in a write before the one that makes it terminal."),
    *_rules(
        Level.OBSERVES,
        C2="A terminal condition has the reason and the message of the one that announced it.",
        C3="No type of condition is there twice.",
        C4="The status of a finished Job does not change.",
        C5="An Indexed Job has as many successes as completed indexes.",
        C6="An index that has completed or failed stays so while it is below completions.",
        C7="A Complete Job without a success policy has the successes that it asked for.",
        C8="Not more pods become active than parallelism allows.",
        C9="A Job with active pods has a start time.",
        C10="Nothing of a suspended Job is started.",
        C11="Only a Job that is to be suspended becomes Suspended.",
        C12="One program writes the status of a Job.",
        C13="A Job does not start before it was created.",
        C14="A pod that was listed as uncounted is counted when it leaves the list.",
    ),
)
_SCENES: Final = (
    *_rules(Level.OBSERVES, R1="A Job that names the controller gets a status."),
    *_rules(
        Level.RUNS,
        R2="A Job ends, and in the way that its pods and its spec call for.",
        R3="The end has the reason that the API documents.",
        R4="The counts at the end are those of the Job's pods.",
        R5="The indexes at the end are those of the Job's pods.",
    ),
    *_rules(
        Level.OBSERVES,
        R6="The Jobs of other controllers are left alone.",
        R7="A Job that is created suspended is not started, and says that it is suspended.",
    ),
    *_rules(
        Level.RUNS,
        R8="A Job that is suspended stops, and says that it is suspended.",
        R9="A Job that is resumed starts anew, and says that it is not suspended any more.",
        R10="The number of active pods follows parallelism and completions.",
    ),
    *_rules(Level.COMPLETE, R11="A deleted pod is replaced when the replacement policy says so."),
    *_rules(Level.OBSERVES, R12="Nothing is left of a deleted Job."),
    *_rules(Level.OBSERVES, R13="No pod of a finished Job is still active or held by the tracking finalizer."),
    *_rules(
        Level.COMPLETE,
        R14="Pods have the owner, labels, annotations and finalizer that the API documents.",
        R15="A finished Job is deleted when its time to live has passed.",
    ),
)
CONFORMANCE_RULES: Final = (*_rules(Level.OBSERVES, **{rule.name: rule.meaning for rule in RULES}), *_STEPS, *_SCENES)
"""All rules, those of the API server first."""
_BY_NAME: Final = {rule.name: rule for rule in CONFORMANCE_RULES}


def rule_named(name: str) -> ConformanceRule:
    """The rule of that name; raises KeyError."""
    return _BY_NAME[name]
