"""Queued objects: the Workload of each, and how it is started and stopped.

`podsets` and `building` make the Workload of an object; `suspending` and `injecting` make the patches that stop it, and
start it with the flavors it got; `decide` says what is next for one object, and `controller` carries it out.
"""

from __future__ import annotations
