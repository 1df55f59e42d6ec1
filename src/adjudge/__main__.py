"""Lets ``python -m adjudge`` run the command line."""

from adjudge.runs.cli.main import main

main()
