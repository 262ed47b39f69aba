"""The names that Kubernetes has given to what is around Jobs: labels, annotations, conditions, reasons."""

from __future__ import annotations

from typing import Final

JOB_NAME: Final = "batch.kubernetes.io/job-name"
CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
LEGACY_JOB_NAME: Final = "job-name"
LEGACY_CONTROLLER_UID: Final = "controller-uid"
INDEX_KEY: Final = "batch.kubernetes.io/job-completion-index"
"""Both a label and an annotation of a pod of an Indexed Job."""
BUILT_IN_CONTROLLER: Final = "kubernetes.io/job-controller"
"""The value of `managedBy` that leaves a Job to the cluster's own controller."""

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
FAILURE_TARGET: Final = "FailureTarget"
SUCCESS_CRITERIA_MET: Final = "SuccessCriteriaMet"
SUSPENDED: Final = "Suspended"
DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
