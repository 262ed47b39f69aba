from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery import names
from jobrelay.apimachinery.field import Path
from jobrelay.apimachinery.ips import cidr_warnings, ip_warnings, is_valid_cidr, is_valid_interface_address, is_valid_ip

LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"  # fmt: skip


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("a-1", []),
        ("a.b", ["must not contain dots"]),
        ("A", [LABEL]),
        ("-" * 64, ["must be no more than 63 characters", LABEL]),
    ],
)
def test_dns_label(value: str, texts: list[str]) -> None:
    assert names.is_dns1123_label(value) == texts


def test_a_label_key_may_have_one_prefix() -> None:
    assert names.is_qualified_name("example.com/Name_1") == []
    assert names.is_qualified_name("a/b/c")[0].startswith("a valid label key must consist of")
    assert names.is_qualified_name("/x") == ["prefix part must be non-empty"]
    assert names.is_qualified_name("x/")[0] == "name part must be non-empty"
    assert names.is_qualified_name("x/" + "a" * 64) == ["name part must be no more than 63 bytes"]


def test_lengths_count_bytes() -> None:
    assert "must be no more than 63 bytes" in names.is_valid_label_value("é" * 32)
    assert "must be no more than 63 bytes" not in names.is_valid_label_value("é" * 31)


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?", fullmatch=True))
def test_every_label_is_a_subdomain_and_a_label_value(value: str) -> None:
    assert names.is_dns1123_label(value) == []
    assert names.is_dns1123_subdomain(value) == []
    assert names.is_valid_label_value(value) == []


@given(st.text(max_size=80))
def test_checks_take_any_text(value: str) -> None:
    for check in (names.is_qualified_name, names.is_config_map_key, names.is_env_var_name, names.is_valid_port_name):
        assert all(isinstance(text, str) for text in check(value))


@pytest.mark.parametrize(
    ("value", "count"), [("http", 0), ("a--b", 1), ("-", 2), ("123", 1), ("UPPER", 2), ("a" * 16, 1)]
)
def test_port_names(value: str, count: int) -> None:
    assert len(names.is_valid_port_name(value)) == count


@pytest.mark.parametrize(("value", "good"), [("A_B", True), ("1 x!", True), ("a=b", False), ("", False), ("é", False)])
def test_relaxed_variable_names(value: str, good: bool) -> None:
    assert (names.is_relaxed_env_var_name(value) == []) is good


def test_a_generated_name_may_end_in_a_dash() -> None:
    assert names.name_is_dns_label("job-", True) == []
    assert names.name_is_dns_label("job-", False) != []


def test_path_segments() -> None:
    assert names.name_is_path_segment("..", False) == ["may not be '..'"]
    assert names.name_is_path_segment("a/b%", False) == ["may not contain '/'", "may not contain '%'"]


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ("10.0.0.1", ""),
        ("010.0.0.1", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ("FE80::1", 'must be in canonical form ("fe80::1")'),
        ("fe80::1%eth0", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    ],
)
def test_addresses(value: str, detail: str) -> None:
    assert [error.detail for error in is_valid_ip(Path("ip"), value)] == ([detail] if detail else [])


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ("10.0.0.0/8", ""),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
    ],
)
def test_cidrs(value: str, detail: str) -> None:
    assert [error.detail for error in is_valid_cidr(Path("c"), value)] == ([detail] if detail else [])


def test_old_fields_warn_about_odd_addresses() -> None:
    assert ip_warnings(Path("ip"), "1.2.3.4") == []
    assert "non-standard IP address" in ip_warnings(Path("ip"), "01.2.3.4")[0]
    assert 'use "1.2.3.4"' in ip_warnings(Path("ip"), "::ffff:1.2.3.4")[0]
    assert "is ambiguous in this context" in cidr_warnings(Path("c"), "10.0.0.1/8")[0]
    assert is_valid_interface_address(Path("c"), "10.0.0.1/8") == []
