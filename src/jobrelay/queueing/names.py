"""The labels, annotations, finalizers, conditions and reasons that Kueue and its users know."""

from __future__ import annotations

from typing import Final

QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
MAX_EXEC_TIME: Final = "kueue.x-k8s.io/max-exec-time-seconds"
MIN_PARALLELISM: Final = "kueue.x-k8s.io/job-min-parallelism"
COMPLETIONS_EQUAL_PARALLELISM: Final = "kueue.x-k8s.io/job-completions-equal-parallelism"
ADMISSION_GATED_BY: Final = "kueue.x-k8s.io/admission-gated-by"
"""Annotation with the names of controllers that hold an object back."""
REQUIRED_TOPOLOGIES: Final = (
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology-constraints",
)
"""Annotations of pod templates whose pods have to be within one domain of a topology."""
JOB_UID: Final = "kueue.x-k8s.io/job-uid"
POD_SET: Final = "kueue.x-k8s.io/podset"
CLUSTER_QUEUE_LABEL: Final = "kueue.x-k8s.io/cluster-queue-name"
LOCAL_QUEUE_LABEL: Final = "kueue.x-k8s.io/local-queue-name"
IN_USE: Final = "kueue.x-k8s.io/resource-in-use"
"""Finalizer of queues and flavors that something uses."""
KUEUE_LEASE: Final = "c1f6bfd2.kueue.x-k8s.io"
"""The Lease of Kueue's own manager, in whichever namespace it runs."""

MANAGER: Final = "jobrelay-queueing"
"""The field manager of what is written here."""

QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"
REQUEUED: Final = "Requeued"
FINISHED: Final = "Finished"
PODS_READY: Final = "PodsReady"
DEACTIVATION_TARGET: Final = "DeactivationTarget"

PENDING: Final = "Pending"
INADMISSIBLE: Final = "Inadmissible"
ADMISSION_GATED: Final = "AdmissionGated"
NO_RESERVATION: Final = "NoReservation"
DEACTIVATED: Final = "Deactivated"
CLUSTER_QUEUE_STOPPED: Final = "ClusterQueueStopped"
LOCAL_QUEUE_STOPPED: Final = "LocalQueueStopped"
