"""The API's own texts about its fields."""

from __future__ import annotations

from jobrelay.kinds.fieldtexts import FieldTexts

CORE = "io.k8s.api.core.v1."
SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


def test_a_text_is_one_line() -> None:
    texts = FieldTexts()
    assert texts.of_type(CORE + "PodSpec") == "PodSpec is a description of a pod."
    assert "\n" not in texts.of_field(CORE + "PodSpec", "activeDeadlineSeconds")


def test_line_breaks_are_those_of_the_published_text() -> None:
    text = FieldTexts().of_field(CORE + "PodSpec", "hostUsers")
    assert FieldTexts().of_fields(CORE + "PodSpec")["hostUsers"] == text
    mode = FieldTexts().of_field("io.k8s.api.batch.v1.JobSpec", "completionMode")
    assert mode.count("\n\n") == 3


def test_fields_whose_names_are_no_python_names() -> None:
    text = FieldTexts().of_field(SCHEMA, "x-kubernetes-embedded-resource")
    assert text.startswith("x-kubernetes-embedded-resource defines")
    assert FieldTexts().of_field("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta", "continue")


def test_what_has_no_text() -> None:
    texts = FieldTexts()
    assert texts.of_type("io.k8s.apimachinery.pkg.util.intstr.IntOrString") == ""
    assert texts.of_field(CORE + "PodSpec", "nothing") == ""
    assert texts.of_field("io.k8s.api.core.v1.Nothing", "nothing") == ""
