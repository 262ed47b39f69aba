"""The names that JobSet has given to labels, annotations, conditions and reasons, and its texts."""

from __future__ import annotations

from typing import Final

from jobrelay.kube import Resource

JOBSETS: Final = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
CONTROLLER: Final = "jobset.sigs.k8s.io/jobset-controller"
"""The value of `managedBy` that leaves a JobSet to this controller."""

_PREFIX: Final = "jobset.sigs.k8s.io/"
JOBSET_NAME: Final = f"{_PREFIX}jobset-name"
JOBSET_UID: Final = f"{_PREFIX}jobset-uid"
REPLICATED_JOB: Final = f"{_PREFIX}replicatedjob-name"
REPLICAS: Final = f"{_PREFIX}replicatedjob-replicas"
GLOBAL_REPLICAS: Final = f"{_PREFIX}global-replicas"
RESTARTS: Final = f"{_PREFIX}restart-attempt"
JOB_INDEX: Final = f"{_PREFIX}job-index"
GLOBAL_INDEX: Final = f"{_PREFIX}job-global-index"
JOB_KEY: Final = f"{_PREFIX}job-key"
GROUP_NAME: Final = f"{_PREFIX}group-name"
GROUP_REPLICAS: Final = f"{_PREFIX}group-replicas"
GROUP_INDEX: Final = f"{_PREFIX}job-group-index"
COORDINATOR: Final = f"{_PREFIX}coordinator"
EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"
NAMESPACED_JOB: Final = "alpha.jobset.sigs.k8s.io/namespaced-job"
NO_SCHEDULE: Final = "alpha.jobset.sigs.k8s.io/no-schedule"

COMPLETED: Final = "Completed"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
RESTARTING: Final = "RestartingJobSet"
STARTING: Final = "StartupPolicyInProgress"
STARTED: Final = "StartupPolicyCompleted"
