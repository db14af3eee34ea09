"""`python -m onward.cli`."""

from onward.cli import main

main()
