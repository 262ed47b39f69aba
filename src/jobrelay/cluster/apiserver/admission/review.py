"""What decides about a request besides the steps of the chain: webhooks and policies.

Used for what has no steps of its own: deletions, connections, and objects that are sent but not stored.
"""

from __future__ import annotations

from jobrelay.cluster.apiserver.admission import policies, webhooks
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest, Operation
from jobrelay.cluster.apiserver.calls import Steps
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.resources import ServedResource


def has_a_say(server: ServerContext, served: ServedResource, subresource: str, operation: Operation) -> bool:
    """Whether a webhook or a policy may match such a request."""
    return server.webhooks.any or bool(server.policies.covering(served, subresource, operation))


def review(admission: AdmissionRequest) -> Steps[bool]:
    """Asks all of them, in the order of a real server; whether it had to wait. Raises the refusal."""
    mutated = yield from webhooks.mutate(admission)
    validated = yield from validate(admission)
    return mutated or validated


def validate(admission: AdmissionRequest) -> Steps[bool]:
    """Asks those that do not change the object; whether it had to wait. Raises the refusal."""
    policies.admit(admission)
    return (yield from webhooks.validate(admission))
