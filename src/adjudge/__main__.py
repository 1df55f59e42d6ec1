"""``python -m adjudge``."""

from adjudge.cli.main import main

main()
