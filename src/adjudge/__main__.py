"""Lets ``python -m adjudge`` run the command line."""

from adjudge.cli.main import main

main()
