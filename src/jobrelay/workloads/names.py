"""Names that delegate a workload, and the labels and annotations of mirrors.

A label alone never identifies a mirror, since objects that some kinds create inherit their labels. The uid of the
original, in an annotation, does.
"""

from __future__ import annotations

from typing import Final

DOMAIN: Final = "jobrelay.dev/"
"""The prefix of all our labels and annotations."""

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
PROOF: Final = "jobrelay.dev/proof"
PREBUILT: Final = "kueue.x-k8s.io/prebuilt-workload-name"
"""Names the Workload that queues a mirror on a worker that runs Kueue: an annotation, and a label if it is short."""
