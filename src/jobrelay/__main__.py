"""`python -m jobrelay` is the `jobrelay` command."""

from jobrelay.cli import main

main()
