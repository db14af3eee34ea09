"""`python -m onward`."""

from onward.cli import main

main()
