"""CronJobs: the Jobs that a schedule makes."""

from jobrelay.cluster.controllers.cronjob.controller import set_up

__all__ = ["set_up"]
