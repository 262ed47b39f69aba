"""Manifests as files: plain YAML, a folder for kustomize, and a Helm chart, all written from the same values.

The chart is made from manifests whose namespace, image and number of replicas are marks that no cluster would take; the marks are
then exchanged for Helm's expressions. So neither kind of file can say anything that the other does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml

from jobrelay import __version__
from jobrelay.operate.management import IMAGE, NAME, Installation, manifests
from jobrelay.operate.manifests import Manifest

__all__ = ["as_yaml", "files"]

_MARKED: Final = Installation("THE-NAMESPACE", "THE-IMAGE", 424242, ("THE-ARGUMENT",))
_EXCHANGED: Final = {
    "THE-NAMESPACE": "{{ .Release.Namespace }}",
    "image: THE-IMAGE": "image: {{ .Values.image | quote }}",
    "replicas: 424242": "replicas: {{ .Values.replicas }}",
}
_ARGUMENT: Final = "- THE-ARGUMENT"
_LOOP: Final = "{{- range .Values.arguments }}\n{indent}- {{ . | quote }}\n{indent}{{- end }}"
_OWN_FILES: Final = ("CustomResourceDefinition",)


def as_yaml(manifests: Iterable[Mapping[str, Any]]) -> str:
    """One document for each."""
    text: str = yaml.safe_dump_all(list(manifests), sort_keys=False, allow_unicode=True, width=1000)
    return text


def files() -> dict[str, str]:
    """Everything under `deploy/`, by path."""
    made = manifests(Installation())
    definitions = [each for each in made if each["kind"] in _OWN_FILES]
    rest = [each for each in made if each["kind"] not in _OWN_FILES]
    return {
        "kustomize/kustomization.yaml": as_yaml([_kustomization()]),
        "kustomize/crds.yaml": as_yaml(definitions),
        "kustomize/relay.yaml": as_yaml(rest),
        "helm/Chart.yaml": as_yaml([_chart()]),
        "helm/values.yaml": _values(),
        "helm/crds/crds.yaml": as_yaml(definitions),
        "helm/templates/relay.yaml": _template(manifests(_MARKED)),
    }


def _kustomization() -> Manifest:
    name, _, tag = IMAGE.partition(":")
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": Installation().namespace,
        "resources": ["crds.yaml", "relay.yaml"],
        "images": [{"name": name, "newTag": tag}],
    }


def _chart() -> Manifest:
    return {
        "apiVersion": "v2",
        "name": NAME,
        "description": "Runs Kubernetes Jobs of one cluster on many",
        "type": "application",
        "version": __version__,
        "appVersion": __version__,
        "kubeVersion": ">=1.32.0-0",
    }


def _values() -> str:
    chosen = Installation()
    return (
        "# The relay's image.\n"
        f"image: {chosen.image}\n"
        "# How many relays run; one leads, the others stand by.\n"
        f"replicas: {chosen.replicas}\n"
        "# More options of `jobrelay relay run`, such as --fencing.\n"
        "arguments: []\n"
    )


def _template(marked: Iterable[Manifest]) -> str:
    """The namespace itself is Helm's to create."""
    own = [each for each in marked if each["kind"] not in (*_OWN_FILES, "Namespace")]
    text = as_yaml(own)
    for mark, expression in _EXCHANGED.items():
        text = text.replace(mark, expression)
    lines = [_line(line) for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def _line(line: str) -> str:
    if line.strip() != _ARGUMENT:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return indent + _LOOP.replace("{indent}", indent)
