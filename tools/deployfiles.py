"""Generates the files below `deploy/` from the manifests that `jobrelay install` prints: `make deploy-files`.

They are a kustomize folder and a Helm chart. The chart is rendered from manifests whose namespace, image and number of
replicas are placeholders, which are then replaced with Helm expressions. So the chart and the kustomize files cannot
differ. What a chart's values add, rights for further kinds and for copies, is in templates of its own, which a test
compares with what `jobrelay install --kind-file` and `--copy` print.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from typing import Final

from jobrelay import __version__
from jobrelay.operate.management import IMAGE, NAME, Installation, management_manifests
from jobrelay.operate.manifests import Manifest, as_yaml
from jobrelay.relay.copy_rules import COPYABLE

DEPLOY = pathlib.Path(__file__).resolve().parents[1] / "deploy"
_PLACEHOLDERS: Final = Installation("THE-NAMESPACE", "THE-IMAGE", 424242, ("THE-ARGUMENT",))
_EXPRESSIONS: Final = {
    "THE-NAMESPACE": "{{ .Release.Namespace }}",
    "image: THE-IMAGE": "image: {{ .Values.image | quote }}",
    "replicas: 424242": "replicas: {{ .Values.replicas }}",
}
_ARGUMENT: Final = "- THE-ARGUMENT"
_LOOP: Final = (
    "{{- range .Values.arguments }}\n{indent}- {{ . | quote }}\n{indent}{{- end }}\n"
    '{indent}{{- range .Values.copies }}\n{indent}- {{ printf "--copy=%s" . | quote }}\n{indent}{{- end }}'
)
_DEFINITION: Final = "CustomResourceDefinition"
_KINDS: Final = """\
{{- if .Values.kinds }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: jobrelay-kinds
  namespace: {{ .Release.Namespace }}
  labels:
    app.kubernetes.io/managed-by: jobrelay
    jobrelay.dev/kind-file: "true"
data:
  {{- range .Values.kinds }}
  {{ .resource.plural }}.{{ .resource.group }}.yaml: {{ toYaml . | quote }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: jobrelay-kinds
  labels:
    app.kubernetes.io/managed-by: jobrelay
rules:
{{- range .Values.kinds }}
- apiGroups: [{{ .resource.group | quote }}]
  resources: [{{ .resource.plural | quote }}]
  verbs: [get, list, watch, patch]
- apiGroups: [{{ .resource.group | quote }}]
  resources: [{{ printf "%s/status" .resource.plural | quote }}]
  verbs: [patch]
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: jobrelay-kinds
  labels:
    app.kubernetes.io/managed-by: jobrelay
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: jobrelay-kinds
subjects:
- kind: ServiceAccount
  namespace: {{ .Release.Namespace }}
  name: jobrelay
{{- end }}
"""
_COPIES: Final = """\
{{- $resources := dict THE-RESOURCES }}
{{- $rules := dict }}
{{- range .Values.copies }}
{{- $parts := splitList ":" . }}
{{- $kind := first $parts }}
{{- $resource := get $resources $kind }}
{{- if not $resource }}{{ fail (printf "copies: %s cannot be copied; these can: %s" $kind "THE-KINDS") }}{{ end }}
{{- if and (eq $kind "Secret") (eq (len $parts) 1) }}
{{- fail "copies: Secrets are copied only from namespaces that are named: Secret:NAMESPACE,..." }}
{{- end }}
{{- range (eq (len $parts) 1 | ternary (list "") (splitList "," (last $parts))) }}
{{- $rule := dict "apiGroups" (list (index $resource 0)) "resources" (list (index $resource 1)) "verbs" (list "get") }}
{{- $_ := set $rules . (append (get $rules . | default (list)) $rule) }}
{{- end }}
{{- end }}
{{- range $namespace, $found := $rules }}
{{- range $kind := list "Role" "RoleBinding" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if not $namespace }}Cluster{{ end }}{{ $kind }}
metadata:
  name: jobrelay-copies
  {{- if $namespace }}
  namespace: {{ $namespace }}
  {{- end }}
  labels:
    app.kubernetes.io/managed-by: jobrelay
{{- if eq $kind "Role" }}
rules:
{{ toYaml $found }}
{{- else }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ if not $namespace }}Cluster{{ end }}Role
  name: jobrelay-copies
subjects:
- kind: ServiceAccount
  namespace: {{ $.Release.Namespace }}
  name: jobrelay
{{- end }}
{{- end }}
{{- end }}
"""


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
        "helm/templates/copies.yaml": _copies(),
        "helm/templates/kinds.yaml": _KINDS,
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
        "# Descriptions of further workload kinds, as for `jobrelay relay run --kind-file`.\n"
        "# The relay gets a ConfigMap with them, and the rights to their objects.\n"
        "kinds: []\n"
        "# What is copied to workers, as for `jobrelay relay run --copy`, such as ConfigMap or\n"
        "# Secret:team-a,team-b. The relay gets the rights to read that, and nothing else.\n"
        "copies: []\n"
    )


def _copies() -> str:
    """The template with roles for what is copied."""
    known = {kind: str(resource).partition(".") for kind, resource in COPYABLE.items()}
    resources = " ".join(f'"{kind}" (list "{group}" "{plural}")' for kind, (plural, _, group) in known.items())
    return _COPIES.replace("THE-RESOURCES", resources).replace("THE-KINDS", ", ".join(known))


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
