"""The Common Expression Language as Kubernetes has it: parse, check types, estimate cost, evaluate.

The well-kept engine for Python (cel-expr-python, Google's C++ one) treats Kubernetes' objects as untyped, knows none of
Kubernetes' functions, and words its errors differently from the Go engine, whose texts reach users when they create a
CustomResourceDefinition and when a rule fails. Hence an engine of our own: `syntax` (text to tree), `checker` (types,
with `types` and `functions`), `cost` (the estimate that rules are refused by), `program` (tree to closures over plain
Python values, with `steps`, `attributes`, `calls` and `loops`), `runtimecost` (what calls cost then).
"""
