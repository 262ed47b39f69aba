"""Admission webhooks: who is asked about a write, what they are told, and what becomes of their answers.

    mutate, validate -> matching (selectors, conditions) -> review (AdmissionReview) -> calls -> answers, patches

All of it is computed by generators (`calls.Steps`): they yield the calls to make, and nothing when no webhook matches.
"""

from jobrelay.cluster.apiserver.admission.webhooks.dispatch import allocated_from, mutate, review, validate

__all__ = ["allocated_from", "mutate", "review", "validate"]
