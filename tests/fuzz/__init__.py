"""Fuzzing of everything that reads bytes from outside.

A target (`targets/`) is a function of bytes that may raise only the errors that its parser documents; anything else, a
broken round trip, or too much work for the size of the input is a finding. Inputs come from `corpus/<target>/`: seeds
that reach the parser's branches, and every input that ever was a finding, under a name that says what it was.

The mutator is our own and small (`mutation.py`), guided by the branches that an input takes (`tracing.py`). hypothesis,
which the other tests use, draws values from a description of what is valid; it finds no way by itself into a format
that it is not told about, and it keeps no corpus of bytes in the repository. atheris needs a compiler, and knows
nothing of our bounds. The same tracer counts executed lines, a measure of work that is the same on every machine.

    python -m tests.fuzz                                # all targets, a few seconds each
    python -m tests.fuzz yaml --seconds 600 --seed 7    # one target for long
    python -m tests.fuzz yaml --replay FILE             # one input
"""
