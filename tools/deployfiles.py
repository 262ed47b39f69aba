"""Generates the files below `deploy/` from the manifests that `jobrelay install` prints: `make deploy-files`.

They are a kustomize folder and a Helm chart. The chart is rendered from manifests whose namespace, image and number of
replicas are placeholders, which are then replaced with Helm expressions. So the chart and the kustomize files cannot
differ.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from typing import Final

from jobrelay import __version__
from jobrelay.operate.management import IMAGE, NAME, Installation, management_manifests
from jobrelay.operate.manifests import Manifest, as_yaml

DEPLOY = pathlib.Path(__file__).resolve().parents[1] / "deploy"
_PLACEHOLDERS: Final = Installation("THE-NAMESPACE", "THE-IMAGE", 424242, ("THE-ARGUMENT",))
_EXPRESSIONS: Final = {
    "THE-NAMESPACE": "{{ .Release.Namespace }}",
    "image: THE-IMAGE": "image: {{ .Values.image | quote }}",
    "replicas: 424242": "replicas: {{ .Values.replicas }}",
}
_ARGUMENT: Final = "- THE-ARGUMENT"
_LOOP: Final = "{{- range .Values.arguments }}\n{indent}- {{ . | quote }}\n{indent}{{- end }}"
_DEFINITION: Final = "CustomResourceDefinition"


def deploy_files() -> dict[str, str]:
    """The generated files below `deploy/`, by path."""
    made = management_manifests(Installation())
    definitions = [each for each in made if each["kind"] == _DEFINITION]
    rest = [each for each in made if each["kind"] != _DEFINITION]
    return {
        "kustomize/kustomization.yaml": as_yaml([_kustomization()]),
        "kustomize/crds.yaml": as_yaml(definitions),
        "kustomize/relay.yaml": as_yaml(rest),
        "helm/Chart.yaml": as_yaml([_chart()]),
        "helm/values.yaml": _values(),
        "helm/crds/crds.yaml": as_yaml(definitions),
        "helm/templates/relay.yaml": _template(management_manifests(_PLACEHOLDERS)),
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
        "# The number of relays; one leads, the others stand by.\n"
        f"replicas: {chosen.replicas}\n"
        "# Additional options of `jobrelay relay run`, such as --fencing.\n"
        "arguments: []\n"
    )


def _template(manifests: Iterable[Manifest]) -> str:
    """The chart's template; Helm itself creates the namespace."""
    own = [each for each in manifests if each["kind"] not in (_DEFINITION, "Namespace")]
    text = as_yaml(own)
    for placeholder, expression in _EXPRESSIONS.items():
        text = text.replace(placeholder, expression)
    lines = [_line(line) for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def _line(line: str) -> str:
    if line.strip() != _ARGUMENT:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return indent + _LOOP.replace("{indent}", indent)


def main() -> None:
    for path, text in deploy_files().items():
        target = DEPLOY / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    main()
