"""The CronJob controller: creates Jobs by a schedule."""

from jobrelay.cluster.controllers.cronjob.controller import set_up

__all__ = ["set_up"]
