"""A Job from a command line: `--image`, `--cpu` and so on, and a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jobrelay.apimachinery.quantity import parse
from jobrelay.sdk.errors import RelayError

__all__ = ["JobOptions", "job_manifest"]

_GPU: Final = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What the one container of a Job runs and needs, and how often it runs."""

    name: str
    image: str
    command: Sequence[str] = ()
    """What to run instead of the image's own command."""
    cpu: str | None = None
    memory: str | None = None
    gpu: int | None = None
    """A number of nvidia.com/gpu."""
    env: Mapping[str, str] = field(default_factory=dict)
    completions: int | None = None
    """How many pods have to succeed; more than one makes an indexed Job."""
    parallelism: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


def job_manifest(options: JobOptions) -> dict[str, Any]:
    """The manifest; raises RelayError for an invalid quantity."""
    container: dict[str, Any] = {"name": "main", "image": options.image}
    if options.command:
        container["command"] = list(options.command)
    if options.env:
        container["env"] = [{"name": name, "value": value} for name, value in options.env.items()]
    if resources := _resources(options):
        container["resources"] = resources
    metadata = {"name": options.name, "labels": dict(options.labels), "annotations": dict(options.annotations)}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {key: value for key, value in metadata.items() if value},
        "spec": {**_counts(options), "template": {"spec": pod}},
    }


def _counts(options: JobOptions) -> dict[str, Any]:
    counts = {"completions": options.completions, "parallelism": options.parallelism}
    indexed = {"completionMode": "Indexed"} if (options.completions or 1) > 1 else {}
    return {key: value for key, value in counts.items() if value is not None} | indexed


def _resources(options: JobOptions) -> dict[str, Any]:
    """Requests; memory and GPUs are limits too: one cannot be taken back, and the other has to be equal."""
    asked = {name: _amount(name, text) for name, text in (("cpu", options.cpu), ("memory", options.memory)) if text}
    limits = {"memory": asked["memory"]} if "memory" in asked else {}
    if options.gpu:
        asked[_GPU] = limits[_GPU] = str(options.gpu)
    return {key: value for key, value in (("requests", asked), ("limits", limits)) if value}


def _amount(name: str, text: str) -> str:
    try:
        parse(text)
    except ValueError:
        example = "500m or 2" if name == "cpu" else "512Mi or 4Gi"
        raise RelayError(f"--{name} {text}: not a quantity", f"write {example}, for example") from None
    return text
