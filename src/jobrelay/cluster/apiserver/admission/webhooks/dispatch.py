"""Asking webhooks about a write: mutating ones one after another, validating ones side by side."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.admission import steps
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.cluster.apiserver.admission.webhooks import patches
from jobrelay.cluster.apiserver.admission.webhooks.matching import is_asked, relevant
from jobrelay.cluster.apiserver.admission.webhooks.question import Question
from jobrelay.cluster.apiserver.admission.webhooks.subject import Subject
from jobrelay.cluster.apiserver.calls import CallResult, Steps
from jobrelay.cluster.apiserver.registrations.webhooks import MUTATING, VALIDATING, Invocation

Step = Callable[[AdmissionRequest], None]


def allocated_from(admission: AdmissionRequest) -> object:
    """What the addresses of a Service were allocated from: it must not have changed when the Service is stored."""
    if not admission.is_about("services") or not relevant(admission, VALIDATING):
        return None
    return dict(admission.server.store.snapshot("services").items)


# Mutating webhooks.


def mutate(admission: AdmissionRequest, plugins: Sequence[Step] = ()) -> Steps[bool]:
    """Asks mutating webhooks, which may change the new object; whether it had to wait. Raises the refusal.

    If one of them has changed it, `plugins` run again, and so do webhooks that ask for reinvocation.
    """
    invocations = relevant(admission, MUTATING)
    if not invocations:
        return False
    before = copy.deepcopy(admission.new.get("metadata", {}).get("managedFields"))
    rounds = _Rounds(admission)
    yield from rounds.play(invocations)
    if rounds.changed:
        last = copy.deepcopy(admission.new)
        for plugin in plugins:
            if plugin is not steps.dedup_owners:
                plugin(admission)
        if admission.new != last:
            rounds.require()
        yield from rounds.play(invocations, again=True)
        _settle(admission, before)
    return rounds.called


def _settle(admission: AdmissionRequest, managed: list[object] | None) -> None:
    """Checks what webhooks may have changed, but must not have."""
    if admission.view is None and "metadata" in admission.new:
        patches.prune(admission)
        patches.keep_managed_fields(admission, managed)
        steps.match_namespace(admission)
        steps.dedup_owners_again(admission)


class _Rounds:
    """The calls of mutating webhooks about one write: who has been asked, who wants to be asked again."""

    def __init__(self, admission: AdmissionRequest) -> None:
        self._admission = admission
        self._asked: set[str] = set()  # those that want to see what others change later
        self._wanted: set[str] = set()
        self.called = self.changed = False

    def require(self) -> None:
        """The object was changed: all that were asked, and want to, are to be asked again."""
        self._wanted |= self._asked
        self._asked = set()

    def play(self, invocations: Sequence[Invocation], *, again: bool = False) -> Steps[None]:
        for invocation in invocations:
            webhook, subject = invocation.webhook, Subject(self._admission)
            if (again and webhook.id not in self._wanted) or not is_asked(invocation, subject):
                continue
            question, result = Question(invocation, subject, "admit"), None
            if question.call is not None:
                self.called = True
                (result,) = yield (question.call,)
            if question.settle(result, lambda verdict: patches.apply(verdict, invocation, subject)):  # noqa: B023
                self.changed = True
                self.require()
            if webhook.reinvoked:
                self._asked.add(webhook.id)


# Validating webhooks.


def validate(admission: AdmissionRequest) -> Steps[bool]:
    """Asks validating webhooks, all at once; whether it had to wait. Raises the refusal of the first that refuses."""
    invocations = relevant(admission, VALIDATING)
    if not invocations:
        return False
    subject = Subject(admission)
    questions = [Question(asked, subject, "validating") for asked in invocations if is_asked(asked, subject)]
    calls = [question.call for question in questions if question.call is not None]
    results = iter((yield calls) if calls else ())
    refused = [_refusal(question, next(results) if question.call is not None else None) for question in questions]
    for error in filter(None, refused):
        raise error
    return bool(calls)


def _refusal(question: Question, result: CallResult | None) -> errors.ApiError | None:
    try:
        question.settle(result, lambda verdict: False)
    except errors.ApiError as error:
        return error
    return None
