"""What the relay reads: objects of workers, which it does not trust, and its own annotations, which users edit."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from jobrelay.kube import KubeError
from jobrelay.kube.objects import Metadata, Object, decode_object
from jobrelay.kube.resource import JOBS
from jobrelay.queueing.webhooks.defaults import QueueLookup
from jobrelay.queueing.webhooks.reviews import AdmissionReviews
from jobrelay.queueing.webhooks.serving import answered
from jobrelay.relay.api.failures import ApiFailure
from jobrelay.relay.worker_assignment import ASSIGNMENT, EPOCH, assignment_of, epoch_of, invalid_epoch
from jobrelay.relay.workers import tokens
from jobrelay.relay.workers.transforms import checked_mirror, node_for_capacity, pod_for_capacity
from jobrelay.workloads.job.adapter import JobAdapter

from ..target import Target, plain
from .documents import JSON_WORDS
from .texts import of_text

_ORIGINAL: Final = decode_object(
    b'{"kind":"Job","apiVersion":"batch/v1",'
    b'"metadata":{"name":"j","namespace":"default","uid":"u","resourceVersion":"1"},'
    b'"spec":{"parallelism":2,"completions":3,"completionMode":"Indexed","activeDeadlineSeconds":9223372036854775807},'
    b'"status":{"startTime":"2024-01-01T00:00:00Z","active":1}}'
)
_WORDS: Final = (
    *JSON_WORDS, b'"metadata":{', b'"name":"j"', b'"uid":"u"', b'"resourceVersion":"1"', b'"managedFields":[',
    b'"status":{',
    b'"spec":{', b'"conditions":[{', b'"type":"FailureTarget"', b'"status":"True"', b'"reason":"DeadlineExceeded"',
    b'"lastTransitionTime":', b'"2024-01-01T00:00:00Z"', b'"startTime":', b'"completedIndexes":"0-2"',
    b'"failedIndexes":',
    b'"active":', b'"kind":"Job"', b'"uncountedTerminatedPods":{', b'"allocatable":{', b'"containers":[',
    b'"2024-99-99T99:99:99Z"',
)  # fmt: skip


def _annotations(text: str) -> None:
    obj = Object(Metadata(annotations={ASSIGNMENT: text, EPOCH: text}), b"{}")
    found = assignment_of(obj)
    assert found is None or found.epoch > 0
    assert epoch_of(obj) >= 0
    invalid_epoch(obj)


def _mirror(data: bytes) -> None:
    """Whatever a worker shows as the mirror of a Job, its status is merged or refused."""
    mirror = checked_mirror(decode_object(data), "Job")
    adapter = JobAdapter()
    adapter.read(mirror)
    adapter.merged_status(_ORIGINAL, mirror)
    adapter.reduced_statuses(_ORIGINAL, mirror)


def _capacity(data: bytes) -> None:
    obj = decode_object(data)
    node_for_capacity(obj)
    pod_for_capacity(obj, JobAdapter().pod_owner)


def _credentials(data: bytes) -> None:
    """Tokens of workers, and their kubeconfigs when they are renewed."""
    tokens.read_token(data.decode("utf-8", "replace"))
    tokens.token_in(data)
    assert tokens.token_in(tokens.kubeconfig_with(data, "new")) == "new"


_QUEUES: Final = QueueLookup(
    lambda adapter, obj: "q", lambda namespace: True, lambda namespace, queue: namespace == "default"
)
_REVIEWS: Final = AdmissionReviews({JOBS: JobAdapter()}, _QUEUES)


def _review(data: bytes) -> None:
    """Whatever is sent to the webhooks of queues, it is answered or refused."""
    for reply in (_REVIEWS.validate, _REVIEWS.mutate):
        with suppress(ApiFailure):
            answered(reply, data)


RELAY: Final = (
    Target("assignment", plain(of_text(_annotations)), (), (*JSON_WORDS, b'"cluster":"a"', b'"epoch":', b'"since":')),
    Target("mirror", plain(_mirror), (KubeError,), _WORDS),
    Target("worker-objects", plain(_capacity), (KubeError,), _WORDS),
    Target("review", plain(_review), (), (
        *_WORDS, b'{"request":{"uid":"u","operation":"CREATE",', b'"resource":{"group":"batch","resource":"jobs"}',
        b'"resource":{"group":"kueue.x-k8s.io","resource":"clusterqueues"}', b'"object":{', b'"oldObject":{',
        b'"resource":"workloads"', b'"resourceGroups":[{', b'"coveredResources":["cpu"]', b'"nominalQuota":"1"',
        b'"podSets":[{', b'"reclaimablePods":', b'"annotations":{"kueue.x-k8s.io/job-min-parallelism":"1"}',
        b'"labels":{"kueue.x-k8s.io/queue-name":"q"}',
    )),
    Target("worker-credentials", plain(_credentials), (ValueError,),
           (b".", b"eyJ", b"users:\n", b"current-context: c\n", b"contexts:\n")),
)  # fmt: skip
