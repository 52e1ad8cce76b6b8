"""`python -m pacbound_cli` is the `pacbound` command."""

from pacbound_cli import main

main()
