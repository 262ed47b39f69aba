"""Texts that parsers stumble over."""

from __future__ import annotations

YAML_TEXTS = [
    "&a [*a]", "a: &x {b: *x}", "*x", "? {a: b}\n: c", "? [a]\n: c", "!!python/object/apply:os.system [x]",
    "a: !!binary x", "a: !!binary eA==",
    "a: !!timestamp 2001-01-01", "a: !!timestamp x", "2001-01-01: x", "a: 2001-01-01", "a: 1e400", "a: .inf",
    "a: -.INF", "a: .nan",
    "<<: *x", "<<: [1]", "<<: {a: b}", "a: &b {c: d}\n<<: *b", "--- a\n--- b", "---\n...\n", "%YAML 9.9\n---\na: b",
    "%TAG ! x\n---\n!y z",
    "\t", "a:\n\t- b", "a: 'open", 'a: "\\x"', 'a: "\\ud800"', "{", "[", "}", "a: b: c", "- a: b\n c", "\0", "\ufeff{}",
    "a: 0o17", "a: 0b11",
    "a: 1_000", "a: 12:30:45", "null: null", "true: x", "1: x", "1.5: x", "[]: x", "{}: x", "~: x", "? ", "? a",
    "a: |\n x", "a: >9\n x", "=: x",
    "a: !!int x", "a: !!int 5", "a: !!float abc", "a: !!bool x", "a: !!set {b}", "a: !!omap [b: c]", "a: !!null x",
    "a: !!str 5", "a: !!map [x]",
    "a: !!seq {x: y}", "a: !x y", "a: !<tag:x> y", "- - - - -", "a: 0x", "a: 0xfffffffffffffffffffff", "a: +.5",
    "a: 1.", "a: -", "a: --", "# x", "",
    "a: &a ['x','x','x']\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nd: [*c,*c,*c]", "a: " + "9" * 5000, "a: " + "[" * 2000,
    "a: {" * 300, "é: \x85",
    "a: \ud7ff", "a: 'x\n\n y'", "a: *é", "a: &é x", "metadata: {name: yes}", "metadata: {name: ~}",
    "metadata: !!str x", "spec: !!float 1",
]  # fmt: skip
JSON_TEXTS = [
    "1e999", "-1e999", "-", "[1,]", '{"a":1,}', '"\\ud800"', '{"\\ud800":1}', '{"metadata":{"name":"\\udc00"}}',
    '"\\u12"', "01", "+1", "nul", "nullx",
    '{"a":\x01}', '{"a":"\x01"}', "[" * 5000, '{"a":' * 5000, "9" * 5000, '{"a":' + "9" * 5000 + "}",
    '{"a":1' + "0" * 400 + "}", "-0", "1e-400", "1.", ".5",
    "\ufeff{}", '{"a":1}{"b":2}', "{} x", '{"a" 1}', "{a:1}", "{'a':1}", '{"a":tru}', '{"":""}', '{"metadata":{"":""}}',
    '{"a":NaN}', '{"a":Infinity}',
    '{"kind":null}', '{"kind":"","apiVersion":""}', '{"apiVersion":"a/b/c"}', '{"apiVersion":"/"}', '{"metadata":null}',
    '{"metadata":[]}', '{"metadata":"x"}',
    '{"metadata":{"name":"a","name":"b"}}', '{"metadata":{"name":"a"},"metadata":{}}',
    '{"metadata":{"managedFields":[{}]}}', '{"metadata":{"managedFields":[null]}}',
    '{"metadata":{"managedFields":[{"manager":"x","operation":"Update","apiVersion":"x","fieldsType":"FieldsV1",'
    '"fieldsV1":{"f:a":1}}]}}',
    '{"metadata":{"managedFields":[{"manager":"x","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",'
    '"fieldsV1":{"k:{":{}}}]}}',
    '{"metadata":{"managedFields":[{"manager":"x","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",'
    '"fieldsV1":{"i:x":{},"v:":{}}}]}}',
    '{"metadata":{"creationTimestamp":5}}', '{"metadata":{"labels":{"a":null}}}', '{"metadata":{"labels":{"a":1}}}',
    '{"metadata":{"ownerReferences":[null,{}]}}',
    '{"metadata":{"generation":1e5}}', '{"metadata":{"generation":1.5}}',
    '{"metadata":{"deletionGracePeriodSeconds":9999999999999999999}}',
]  # fmt: skip
PROTOBUF_BYTES = [
    b"", b"k8s", b"k8s\0", b"k8s\0\x00", b"k8s\0\x08\x01", b"k8s\0\x0a\x00", b"k8s\0\x0a\x05", b"k8s\0\x12\x01\x0b",
    b"k8s\0\x12\x02\x0a\x01",
    b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"k8s\0\x12\xff\xff\xff\xff\x0f",
    b"k8s\0\x12\x04\x0a\x02\x0a\xff", b"k8s\0\x13\x14",
    b"k8s\0\x12\x08\x0a\x06\x0a\x04\xff\xfe\xfd\xfc", b"k8s\0" + b"\x12\x7f" * 60, b"k8s\0\x1a\x03abc\x22\x01x",
    b"k8s\x01{}",
]  # fmt: skip
