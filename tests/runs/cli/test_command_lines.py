"""The list of commands, which is printed without loading them."""

from __future__ import annotations

import subprocess
import sys

from adjudge.plugins import OURS
from adjudge.runs.cli.main import HELP


def test_every_command_has_a_line_in_the_order_of_the_table() -> None:
    assert list(HELP) == list(OURS["commands"])


def test_no_command_is_loaded_to_be_listed() -> None:
    code = (
        "import sys\nfrom adjudge.runs.cli.main import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "print(*(name for name in sys.modules if name.startswith('adjudge.')), file=sys.stderr)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stderr.split()
    commands = {target.partition(":")[0] for target in OURS["commands"].values()}
    assert not commands & set(loaded)
