"""Names that hand a workload over, and names that mirrors carry.

Never take a mirror for ours by a label alone: what some kinds create inherits their labels. The uid of the original, in
an annotation, is the proof.
"""

from __future__ import annotations

from typing import Final

DOMAIN: Final = "jobrelay.dev/"
"""What every name of our own begins with."""

# `.spec.managedBy`
RELAY: Final = "jobrelay.dev/relay"
MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"

# On the original.
ASSIGNMENT: Final = "jobrelay.dev/assignment"

# On mirrors: labels.
ORIGIN: Final = "jobrelay.dev/origin"
KUEUE_ORIGIN: Final = "kueue.x-k8s.io/multikueue-origin"

# On mirrors: annotations.
ORIGIN_UID: Final = "jobrelay.dev/origin-uid"
ORIGIN_NAME: Final = "jobrelay.dev/origin-name"
EPOCH: Final = "jobrelay.dev/epoch"
