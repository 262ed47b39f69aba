"""Structs as error texts show them."""

from __future__ import annotations

from jobrelay.apimachinery.field import Path, invalid
from jobrelay.apimachinery.gostruct import LABEL_SELECTOR, json_value, struct_value

UNCOUNTED = "io.k8s.api.batch.v1.UncountedTerminatedPods"


def shown(value: object) -> str:
    return invalid(Path("f"), value, "").text().removeprefix("f: Invalid value: ")


def test_internal_structs_have_go_names_and_all_fields() -> None:
    assert shown(struct_value({"failed": ["u"]}, UNCOUNTED)) == '{"Succeeded":null,"Failed":["u"]}'


def test_selectors_have_api_names_in_declared_order() -> None:
    selector = {"matchExpressions": [{"key": "k", "operator": "Exists"}], "matchLabels": {"b": "1", "a": "2"}}
    wanted = '{"matchLabels":{"a":"2","b":"1"},"matchExpressions":[{"key":"k","operator":"Exists"}]}'
    assert shown(struct_value(selector, LABEL_SELECTOR)) == wanted


def test_absent_is_null() -> None:
    assert shown(struct_value(None, UNCOUNTED)) == "null"


def test_texts_behind_pointers_are_json() -> None:
    assert shown(json_value("a<\u0007")) == '"a\\u003c\\u0007"'


def test_host_settings_are_in_the_security_context() -> None:
    spec = {"containers": [], "securityContext": {"runAsUser": 1}, "hostNetwork": True}
    text = shown(struct_value(spec, "io.k8s.api.core.v1.PodSpec"))
    assert '"SecurityContext":{"HostNetwork":true,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,' in text
    assert '"RunAsUser":1' in text
