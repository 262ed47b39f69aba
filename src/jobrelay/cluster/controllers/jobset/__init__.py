"""The JobSet controller: does what JobSet's own manager does with v1alpha2 JobSets, without its webhooks."""

from .controller import set_up

__all__ = ["set_up"]
