"""One webhook that is asked about one write: the call, and what follows from the answer."""

from __future__ import annotations

from collections.abc import Callable

from jobrelay.apimachinery.field import go_quote
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.admission.webhooks import answers
from jobrelay.cluster.apiserver.admission.webhooks.answers import AdmissionResponse, CallFailed, Denied
from jobrelay.cluster.apiserver.admission.webhooks.review import Review, known_version, make
from jobrelay.cluster.apiserver.admission.webhooks.subject import Subject
from jobrelay.cluster.apiserver.calls import CallResult, OutboundCall
from jobrelay.cluster.apiserver.registrations.metrics import CallLabels, WebhookMetrics
from jobrelay.cluster.apiserver.registrations.webhooks import Invocation
from jobrelay.logs import get_logger

log = get_logger(__name__)
_UNKNOWN_VERSIONS = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"


class Question:
    """A webhook that is asked about a write. `call` is None if it cannot be asked; `settle` then says so.

    `type_` is what metrics call it: "admit" for mutating webhooks, else "validating".
    """

    def __init__(self, invocation: Invocation, subject: Subject, type_: str) -> None:
        self._webhook, self._subject, self._type = invocation.webhook, subject, type_
        self._review: Review | None = None
        self._problem: Exception | None = None
        self.call: OutboundCall | None = None
        version = known_version(invocation)
        if subject.admission.dry_run and not self._webhook.dry_runs:
            name = go_quote(self._webhook.name)
            self._problem = errors.bad_request(f"admission webhook {name} does not support dry run")
        elif not version:
            self._problem = CallFailed(f"could not create admission objects: {_UNKNOWN_VERSIONS}", 400)
        else:
            self._review = make(subject, invocation, version)
            self.call = OutboundCall(self._webhook.target, self._review.body, self._webhook.seconds)

    def settle(self, result: CallResult | None, accept: Callable[[AdmissionResponse], bool]) -> bool:
        """What `accept` makes of the verdict if the webhook allows the request; raises the refusal if it does not.

        A webhook that fails refuses it too, unless its policy is to ignore that.
        """
        try:
            accepted = accept(self._verdict(result))
        except CallFailed as error:
            self._count(result, error.code, "calling_webhook_error" if self._webhook.fails else "")
            if self._webhook.fails:
                name = go_quote(self._webhook.name)
                raise errors.internal(f"failed calling webhook {name}: {error}") from None
            log.warning("a webhook failed and is ignored", webhook=self._webhook.id, error=str(error))
            self._metrics.failed_open(self._webhook.name, self._type)
            return False
        except Denied as error:
            self._count(result, error.code, "no_error")
            raise
        except errors.ApiError:
            self._count(result, 0, "apiserver_internal_error")
            raise
        self._count(result, 200, "")
        return accepted

    def _verdict(self, result: CallResult | None) -> AdmissionResponse:
        if self._problem is not None:
            raise self._problem
        assert result is not None
        assert self._review is not None
        verdict = answers.read(result.answer, self._review, mutating=self._type == "admit")
        self._subject.admission.request.warn(*verdict.warnings)
        if not verdict.allowed:
            raise answers.refusal(self._webhook.name, verdict.status)
        return verdict

    @property
    def _metrics(self) -> WebhookMetrics:
        return self._subject.admission.server.webhooks.metrics

    def _count(self, result: CallResult | None, code: int, rejection: str) -> None:
        operation = self._subject.admission.operation
        seconds = result.seconds if result is not None else 0.0
        self._metrics.observe(CallLabels(self._webhook.name, self._type, operation), seconds, code, rejection)
