"""Admission by policies: finds those that match a request, evaluates them, and refuses or warns.

All matching policies are evaluated. The first refusal is the answer; bindings that only warn or audit refuse nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from jobrelay.cluster.apiserver import errors, represent
from jobrelay.cluster.apiserver.admission.permissions import Permissions
from jobrelay.cluster.apiserver.admission.policies import params as parameters
from jobrelay.cluster.apiserver.admission.policies.evaluation import PolicyDecision, PolicyEvaluator, PolicyRefusal
from jobrelay.cluster.apiserver.admission.policies.inputs import Inputs, kind_in, kind_of
from jobrelay.cluster.apiserver.admission.policies.params import PolicyConfigurationError
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.cluster.apiserver.registrations.policies import resource_of
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.kinds.admissionregistration.compiled import Binding, Hook, Policy
from jobrelay.kinds.admissionregistration.matching import GroupVersionResource, Labels, MatchAttributes
from jobrelay.kinds.strategy import Obj

_CODES: Final = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


def dispatch(admission: AdmissionRequest, hooks: tuple[Hook, ...]) -> None:
    """Evaluates policies for a request, and raises the first refusal."""
    _Dispatch(_as_sent(admission)).run(hooks)


def _as_sent(admission: AdmissionRequest) -> AdmissionRequest:
    """The request with the objects that its user deals with: a Scale instead of the object that is scaled."""
    view = admission.view
    if view is None:
        return admission
    new, old = view.show(admission.new), view.show(admission.old)
    if admission.served.custom is not None:  # its Scale is made anew for validation
        new["metadata"].pop("managedFields", None)
    return msgspec.structs.replace(admission, new=new, old=old)


def _converted(obj: Obj | None, admission: AdmissionRequest, other: ServedResource) -> Obj | None:
    return represent.converted(obj, admission.served, other) if obj is not None else None


class _Denial(NamedTuple):
    policy: str
    binding: str
    refusal: PolicyRefusal

    def text(self) -> str:
        by = f" with binding '{self.binding}'" if self.binding else ""
        return f"ValidatingAdmissionPolicy '{self.policy}'{by} denied request: {self.refusal.message}"


class _Dispatch:
    """The evaluation of all policies for one request."""

    def __init__(self, admission: AdmissionRequest) -> None:
        self._admission = admission
        self._attributes = _attributes(admission)
        self._others = admission.server.policies.equivalents(admission.served, admission.subresource)
        self._objects = [obj for obj in (admission.new, admission.old) if obj]
        self._permissions = Permissions(admission)
        self._denials: list[_Denial] = []

    def run(self, hooks: tuple[Hook, ...]) -> None:
        for hook in hooks:
            matched = hook.policy.criteria.match(self._attributes, self._others, self._labels, self._objects)
            if matched is not None:
                self._apply(hook, matched)
        if self._denials:
            raise self._refused(self._denials[0])

    def _labels(self) -> Labels | None:
        """The labels of the request's namespace; of one that is created or updated, its new ones."""
        admission = self._admission
        if admission.is_about("namespaces") and admission.operation in ("CREATE", "UPDATE"):
            labels: Labels | None = admission.metadata.get("labels")
        else:
            labels = self._namespace(self._attributes.namespace)["metadata"].get("labels")
        return labels

    def _namespace(self, name: str) -> Mapping[str, Any]:
        item = self._admission.server.store.get("namespaces", "", name)
        if item is None:
            raise errors.not_found("", "namespaces", name)
        return represent.cached(item.raw)

    def _apply(self, hook: Hook, matched: GroupVersionResource) -> None:
        policy = hook.policy
        try:
            served = parameters.param_resource(self._admission.server, policy)
        except PolicyConfigurationError as error:
            self._misconfigured(policy, "", f"failed to configure policy: {error}")
            return
        evaluator: PolicyEvaluator | None = None
        for binding in hook.bindings:
            if not self._is_bound(binding):
                continue
            try:
                found = parameters.collect(self._admission.server, served, binding, self._attributes.namespace)
            except PolicyConfigurationError as error:
                self._misconfigured(policy, binding.name, f"failed to configure binding: {error}")
                continue
            evaluator = evaluator or self._evaluator(policy, matched)
            for param in found:
                self._take(policy, binding, evaluator.evaluate(param))

    def _is_bound(self, binding: Binding) -> bool:
        if binding.criteria is None:
            return True
        return binding.criteria.match(self._attributes, self._others, self._labels, self._objects) is not None

    def _misconfigured(self, policy: Policy, binding: str, message: str) -> None:
        if not policy.ignores_failures:
            self._denials.append(_Denial(policy.name, binding, PolicyRefusal(message)))

    def _evaluator(self, policy: Policy, matched: GroupVersionResource) -> PolicyEvaluator:
        admission, resource = self._admission, self._attributes.resource
        kind, objects = kind_of(admission), (admission.new or None, admission.old or None)
        if matched != resource:
            other = admission.server.resources.get(*matched)
            assert other is not None
            kind = kind_in(other, admission.subresource)
            if kind != kind_of(admission):
                objects = (_converted(objects[0], admission, other), _converted(objects[1], admission, other))
        namespace = self._attributes.namespace if admission.served.key != "namespaces" else ""
        found = self._namespace(namespace) if namespace else None
        decide = self._permissions.decide
        return PolicyEvaluator(
            policy,
            Inputs(admission, self._attributes, resource, kind, objects, None, decide),
            Inputs(admission, self._attributes, matched, kind, objects, found, decide),
        )

    def _take(self, policy: Policy, binding: Binding, verdict: PolicyDecision) -> None:
        for refusal in verdict.refusals:
            denial = _Denial(policy.name, binding.name, refusal)
            if "Deny" in binding.actions:
                self._denials.append(denial)
            if "Warn" in binding.actions:
                by = f"'{policy.name}' with binding '{binding.name}'"
                self._admission.request.warn(f"Validation failed for ValidatingAdmissionPolicy {by}: {refusal.message}")
        self._denials += [
            _Denial(policy.name, binding.name, PolicyRefusal(message)) for message in verdict.annotation_errors
        ]

    def _refused(self, denial: _Denial) -> errors.ApiError:
        admission, text, reason = self._admission, denial.text(), denial.refusal.reason or "Invalid"
        name = self._attributes.name or "Unknown"
        refused = errors.forbidden(admission.served.group, admission.served.plural, name, text)
        assert refused.details is not None
        refused.details["causes"] = [{"message": text}]
        refused.code, refused.reason = _CODES[reason], reason
        return refused


def _attributes(admission: AdmissionRequest) -> MatchAttributes:
    name = admission.request.info.name
    if not name and admission.new:
        name = admission.metadata.get("name", "")
    namespace = name if admission.served.key == "namespaces" else admission.namespace
    return MatchAttributes(resource_of(admission.served), admission.subresource, admission.operation, namespace, name)
